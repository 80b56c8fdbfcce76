// Control characters, separators of lines, and marks that turn the direction of text around.
const misleading = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** A name from the disk as it may be shown: one that holds a line break cannot pass for two. */
export function shownName(name: string): string {
  return name.replace(misleading, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
