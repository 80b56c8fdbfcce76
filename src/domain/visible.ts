// Controls, marks that turn text around, letters without ink or width, blanks that are not one, and what no font knows.
const invisible = /(?![\t\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Text in which nothing is hidden: for whoever decides by what they see. Lines and tabs stay. */
export function visible(text: string): string {
  return text.replace(invisible, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`)
}

// Single blanks between characters that paths usually have.
const plainPath = /^[\p{L}\p{M}\p{N}_./@+,=:~%#()-]+(?: [\p{L}\p{M}\p{N}_./@+,=:~%#()-]+)*$/u

/** A path as a question tells it: quoted where it could be taken for more than a path. */
export function shownPath(path: string): string {
  const shown = visible(path)
  return plainPath.test(shown) ? shown : JSON.stringify(shown)
}
