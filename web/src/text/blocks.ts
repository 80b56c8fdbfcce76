/** Longer texts are cut: parsing and laying out more of it makes the page stop. */
export const maxTextLength = 64 * 1024

/** Longer lists and tables are cut between their rows: parsing one block is work that cannot be interrupted. */
const maxBlockLength = 4 * 1024

/**
 * Cuts markdown into blocks that can be parsed alone: at blank lines outside of fences and before the next paragraph, and
 * between the rows of long lists and tables. All but the last are finished, so while a text grows only its last block is
 * parsed again.
 */
export function splitBlocks(text: string): string[] {
  const blocks: string[] = []
  let lines: string[] = []
  let length = 0
  let fence: string | undefined
  let wasBlank = false
  const finishBlock = () => {
    blocks.push(lines.join('\n'))
    lines = []
    length = 0
  }
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    const isOutside = fence === undefined && lines.length > 0 && line.trim() !== ''
    // A list goes on over blank lines and so does what is indented below it.
    const goesOn = /^(\s|[-*+] |\d+[.)] )/.test(line)
    if (isOutside && wasBlank && !goesOn) finishBlock()
    else if (isOutside && length > maxBlockLength) {
      if (/^([-*+]|\d+[.)]) /.test(line)) finishBlock()
      else if (isTableRow(line) && isTable(lines)) {
        const head = lines.slice(0, 2)
        finishBlock()
        lines.push(...head)
      }
    }
    lines.push(line)
    length += line.length + 1
    if (mark !== undefined) {
      if (fence === undefined) fence = mark
      else if (mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) fence = undefined
    }
    wasBlank = line.trim() === ''
  }
  finishBlock()
  return blocks
}

/** Whether a block is one paragraph, quotation or line that is too long to be parsed; code costs little. */
export function isTooLong(block: string): boolean {
  return block.length > 2 * maxBlockLength && !/^ {0,3}(`{3,}|~{3,})/.test(block)
}

function isTable([head = '', rule = '']: readonly string[]): boolean {
  return isTableRow(head) && /^[\s|:-]+$/.test(rule) && isTableRow(rule)
}

function isTableRow(line: string): boolean {
  return line.includes('|')
}
