// Controls, bidi marks, zero-width characters, and tag characters that spell hidden words.
const invisible = /(?![\t\n])[\p{Cc}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu

/** Removes and counts characters that are invisible to people but readable for a model. */
export function visibleText(text: string): { text: string; removed: number } {
  let removed = 0
  const lines = text.replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
  const visible = lines.replace(invisible, () => {
    removed++
    return ''
  })
  return { text: visible, removed }
}
