/** Whether both databases keep this text as it is: PostgreSQL refuses NUL, and half a character comes back as another. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** The text with a replacement character for whatever could not be stored. */
export function storable(text: string): string {
  return isStorable(text) ? text : text.replaceAll('\0', '\ufffd').toWellFormed()
}
