// Controls, marks that turn the direction of text around, characters of no width, and tags that spell hidden words.
const invisible = /(?![\t\n])[\p{Cc}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu

/** Text as a person would see it: what nobody sees, and a model reads, is left out and counted. */
export function visibleText(text: string): { text: string; removed: number } {
  let removed = 0
  const lines = text.replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
  const visible = lines.replace(invisible, () => {
    removed++
    return ''
  })
  return { text: visible, removed }
}
