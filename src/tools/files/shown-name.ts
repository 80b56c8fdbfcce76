// Control characters, line separators, and bidi marks.
const misleading = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Escapes control characters in a file name, so that a line break cannot make it look like two. */
export function shownName(name: string): string {
  return name.replace(misleading, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
