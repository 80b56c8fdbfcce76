// Controls, marks that turn the direction of text around, characters of no width or of no ink, and tags.
const invisible = /(?![\t\n])[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu

/** Text in which nothing is hidden: for whoever decides by what they see. */
export function visible(text: string): string {
  return text.replace(invisible, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
