const label = 'REHEARSAL: '

/** Adds the rehearsal label, unless the text has it. */
export function addLabel(text: string): string {
  return text.startsWith(label) ? text : `${label}${text}`
}

/** Removes the rehearsal label, for quoting inside another text. */
export function stripLabel(text: string): string {
  return text.startsWith(label) ? text.slice(label.length) : text
}
