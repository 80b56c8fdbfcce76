const label = 'REHEARSAL: '

/** Words with the label of the stand-in; those that have it already keep the one they have. */
export function labelled(text: string): string {
  return text.startsWith(label) ? text : `${label}${text}`
}

/** Words of the stand-in that stand inside others of its own. */
export function unlabelled(text: string): string {
  return text.startsWith(label) ? text.slice(label.length) : text
}
