import { describe, expect, test } from 'vitest'
import { isTooLong, splitBlocks } from '../../web/src/text/blocks.ts'

const line = 'words that fill a line of some length, again and again'

describe('blocks of a text', () => {
  test('are cut at blank lines, but not within code, lists and what is indented below them', () => {
    expect(splitBlocks('# A\n\none\ntwo\n\n```\na\n\nb\n```\n\nso:\n\n- x\n\n  y\n\n- z\n\nend')).toEqual([
      '# A\n',
      'one\ntwo\n',
      '```\na\n\nb\n```\n',
      'so:\n\n- x\n\n  y\n\n- z\n',
      'end',
    ])
  })

  test('of a long list end between its items, each list goes on with its number, and nothing is lost', () => {
    const list = Array.from({ length: 400 }, (_, at) => `${at + 1}. ${line}\n   ${line}`).join('\n')
    const blocks = splitBlocks(list)
    expect(blocks.length).toBeGreaterThan(8)
    expect(blocks.join('\n')).toBe(list)
    for (const block of blocks) {
      expect(block).toMatch(/^\d+\. /)
      expect(isTooLong(block)).toBe(false)
    }
  })

  test('of a long table repeat its head', () => {
    const rows = Array.from({ length: 400 }, (_, at) => `| ${at} | ${line} |`)
    const blocks = splitBlocks(['| a | b |', '|---|:-:|', ...rows].join('\n'))
    expect(blocks.length).toBeGreaterThan(4)
    for (const block of blocks) expect(block.startsWith('| a | b |\n|---|:-:|\n| ')).toBe(true)
    expect(blocks.flatMap((block) => block.split('\n').slice(2))).toEqual(rows)
  })

  test('of long code are not cut, and those that can be cut nowhere are not parsed', () => {
    const code = `\`\`\`\n${Array.from({ length: 400 }, () => `- ${line}`).join('\n')}\n\`\`\``
    expect(splitBlocks(code)).toEqual([code])
    expect(isTooLong(code)).toBe(false)
    expect(isTooLong(`${line} `.repeat(400))).toBe(true)
  })

  test('stay the same while a text grows, but for the last', () => {
    const whole = `# A\n\n${Array.from({ length: 300 }, () => `- ${line}`).join('\n')}\n\nwords\n\n| a |\n|---|\n| ${line} |\n`
    for (let length = 1; length < whole.length; length += 97) {
      const finished = splitBlocks(whole.slice(0, length)).slice(0, -1)
      expect(splitBlocks(whole).slice(0, finished.length)).toEqual(finished)
    }
  })
})
