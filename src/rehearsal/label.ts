const rehearsalPrefix = 'REHEARSAL: '

/** Adds the rehearsal label, unless the text has it. */
export function addLabel(text: string): string {
  return text.startsWith(rehearsalPrefix) ? text : `${rehearsalPrefix}${text}`
}

/** Removes the rehearsal label, for quoting inside another text. */
export function stripLabel(text: string): string {
  return text.startsWith(rehearsalPrefix) ? text.slice(rehearsalPrefix.length) : text
}
