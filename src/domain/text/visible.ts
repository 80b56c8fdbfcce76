// Controls, bidi marks, zero-width characters, unusual spaces, and unassigned code points.
const invisible = /(?![\t\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Escapes invisible characters, so that the user approves what they see. Line breaks and tabs stay. */
export function escapeInvisible(text: string): string {
  return text.replace(invisible, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`)
}

// Usual path characters, with single spaces between them.
const plainPath = /^[\p{L}\p{M}\p{N}_./@+,=:~%#()-]+(?: [\p{L}\p{M}\p{N}_./@+,=:~%#()-]+)*$/u

/** A path for approval questions: quoted where it could be mistaken for other text. */
export function quotePath(path: string): string {
  const shown = escapeInvisible(path)
  return plainPath.test(shown) ? shown : JSON.stringify(shown)
}
