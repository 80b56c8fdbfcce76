import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { terminalPane } from '../../src/cli/pane.ts'

const screen = { columns: 20, rows: 8, isTerminal: true, color: false }

/** What a terminal would show of it: the few things that the pane asks of one. */
function shown(written: string): string[] {
  const lines: string[] = ['']
  let row = 0
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
  for (const [part, up] of written.matchAll(/\u001b\[(\d+)A|\u001b\[J|\r|\n|[^\u001b\r\n]+/g)) {
    if (up !== undefined) row -= Number(up)
    else if (part === '\u001b[J') lines.splice(row, lines.length, '')
    else if (part === '\n') lines[++row] ??= ''
    else if (part !== '\r') lines[row] += part
  }
  return lines
}

function newPane() {
  let written = ''
  const output = new PassThrough().setEncoding('utf8').on('data', (text) => {
    written += text
  })
  return { pane: terminalPane(screen, output), look: () => shown(written) }
}

test('what may change is drawn again in its place, below what stays', () => {
  const { pane, look } = newPane()
  pane.show('half an')
  pane.print('a step')
  pane.show('half an answer that is longer than the screen is wide')
  expect(look()).toEqual(['a step', 'half an answer that ', 'is longer than the s', 'creen is wide', ''])
  pane.show('taken back')
  expect(look()).toEqual(['a step', 'taken back', ''])
  pane.print('another step')
  pane.close()
  expect(look()).toEqual(['a step', 'another step', ''])
})

test('of a text that is higher than the screen the end is shown, so that all of it can be taken back', () => {
  const { pane, look } = newPane()
  pane.show(Array.from({ length: 30 }, (_, n) => `line ${n}`).join('\n'))
  expect(look()).toEqual(['line 25', 'line 26', 'line 27', 'line 28', 'line 29', ''])
  pane.show('')
  expect(look()).toEqual([''])
})
