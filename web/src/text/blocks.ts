/** Longer texts are cut: parsing and laying out more of it makes the page stop. */
export const maxTextLength = 64 * 1024

/**
 * Cuts markdown into blocks that can be parsed alone: at blank lines outside of fences and before the next paragraph. All
 * but the last are finished, so while a text grows only its last block is parsed again.
 */
export function splitBlocks(text: string): string[] {
  const blocks: string[] = []
  let lines: string[] = []
  let fence: string | undefined
  let wasBlank = false
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    // A list goes on over blank lines and so does what is indented below it.
    const goesOn = /^(\s|[-*+] |\d+[.)] )/.test(line)
    if (wasBlank && fence === undefined && !goesOn && line.trim() !== '' && lines.length > 0) {
      blocks.push(lines.join('\n'))
      lines = []
    }
    lines.push(line)
    if (mark !== undefined) {
      if (fence === undefined) fence = mark
      else if (mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) fence = undefined
    }
    wasBlank = line.trim() === ''
  }
  blocks.push(lines.join('\n'))
  return blocks
}
