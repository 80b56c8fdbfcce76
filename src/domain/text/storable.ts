/** Whether both databases store this text unchanged: PostgreSQL refuses NUL, and a lone surrogate comes back altered. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** Replaces characters that cannot be stored. */
export function toStorable(text: string): string {
  return isStorable(text) ? text : text.replaceAll('\0', '\ufffd').toWellFormed()
}
