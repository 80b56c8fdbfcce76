import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { plainPane, terminalPane } from '../../src/cli/terminal/pane.ts'
import type { Screen } from '../../src/cli/terminal/screen.ts'

const screen = { columns: 20, rows: 8, isTerminal: true, color: false }

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
const obeyed = /\u001b\[(\d*)([AJCH])|\u001b\[\?2004[hl]|\r|\n|[^\u001b\r\n]/gu

/** What a terminal would show of it, and where its cursor stands: the few things that the pane asks of one. */
function shown(written: string): { lines: string[]; cursor: [row: number, column: number] } {
  const lines: string[] = ['']
  let [row, column] = [0, 0]
  for (const [part, count, what] of written.matchAll(obeyed)) {
    if (what === 'A') row -= Number(count)
    else if (what === 'C') column += Number(count)
    else if (what === 'H') [row, column] = [0, 0]
    else if (what === 'J') lines.splice(row, lines.length, count === '2' ? '' : (lines[row] ?? '').slice(0, column))
    else if (part === '\r') column = 0
    else if (part === '\n') {
      row++
      column = 0
      lines[row] ??= ''
    } else if (!part.startsWith('\u001b')) {
      lines[row] = (lines[row] ?? '').slice(0, column).padEnd(column) + part + (lines[row] ?? '').slice(column + 1)
      column++
    }
  }
  return { lines, cursor: [row, column] }
}

function newPane(size: Screen = screen) {
  let written = ''
  const output = new PassThrough().setEncoding('utf8').on('data', (text) => {
    written += text
  })
  return { pane: terminalPane(size, output), look: () => shown(written).lines }
}

/** A pane with a keyboard. */
function newTyping(size: Screen = screen) {
  let written = ''
  const said: string[] = []
  const input = new PassThrough()
  const output = new PassThrough().setEncoding('utf8').on('data', (text) => {
    written += text
  })
  const pane = terminalPane(size, output, {
    input,
    prompt: () => 'me> ',
    onLine: (line) => said.push(line),
    onInterrupt: (typed) => said.push(`interrupted: ${typed}`),
    onEnd: () => said.push('ended'),
  })
  return {
    pane,
    said,
    type: async (keys: string) => {
      input.write(keys)
      await new Promise(setImmediate)
    },
    resize: () => output.emit('resize'),
    look: () => shown(written),
  }
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

test('what is typed stays below what moves and what is printed, wherever the cursor is', async () => {
  const { pane, type, look, said } = newTyping()
  await type('hello')
  pane.show('half an')
  pane.print('a step')
  expect(look()).toEqual({ lines: ['a step', 'half an', 'me> hello'], cursor: [2, 9] })
  await type('\u001b[D\u001b[D')
  pane.print('another')
  expect(look()).toEqual({ lines: ['a step', 'another', 'half an', 'me> hello'], cursor: [3, 7] })
  await type('\r')
  expect(said).toEqual(['hello'])
  expect(look()).toEqual({ lines: ['a step', 'another', 'half an', 'me> '], cursor: [3, 4] })
  pane.close()
  expect(look().lines).toEqual(['a step', 'another', ''])
})

test('a line that takes several rows is no hindrance, and a full row puts the cursor on the next', async () => {
  const { pane, type, look } = newTyping()
  await type('x'.repeat(16))
  expect(look()).toEqual({ lines: [`me> ${'x'.repeat(16)}`, ''], cursor: [1, 0] })
  await type('yy')
  pane.print('a step')
  pane.show('more')
  expect(look()).toEqual({ lines: ['a step', 'more', `me> ${'x'.repeat(16)}`, 'yy'], cursor: [3, 2] })
  pane.clearTyped()
  expect(look()).toEqual({ lines: ['a step', 'more', 'me> '], cursor: [2, 4] })
})

test('a window that becomes narrower is drawn anew from its first row', () => {
  const size = { ...screen, columns: 20 }
  let written = ''
  const output = new PassThrough().setEncoding('utf8').on('data', (text) => {
    written += text
  })
  const pane = terminalPane(size, output)
  pane.show('eighteen columns !')
  written = ''
  size.columns = 10
  output.emit('resize')
  // The terminal has broken the row in two by itself.
  expect(written).toBe('\r\u001b[2A\u001b[Jeighteen c\nolumns !\n')
  pane.close()
})

test('the keys of a shell: history, interruption, the end', async () => {
  const { type, said, look } = newTyping()
  await type('one\rtwo\r')
  await type('\u001b[A\u001b[A')
  expect(look().lines.at(-1)).toBe('me> one')
  await type('\u0003')
  await type('\u0015\u0004')
  expect(said).toEqual(['one', 'two', 'interrupted: one', 'ended'])
})

test('while another program has the terminal nothing is drawn or typed here, and then everything anew', async () => {
  const { pane, type, look, said } = newTyping()
  await type('half')
  pane.show('moving')
  const { promise: used, resolve: end } = Promise.withResolvers<string>()
  const lent = pane.lend(() => used)
  expect(look()).toEqual({ lines: [''], cursor: [0, 0] })
  pane.print('a step')
  pane.show('moved')
  await type('meant for the other\r')
  expect(look().lines).toEqual([''])
  expect(said).toEqual([])
  end('done')
  expect(await lent).toBe('done')
  expect(look().lines.slice(0, 2)).toEqual(['a step', 'moved'])
  pane.close()
})

test('Enter alone is heard only where it is an answer', async () => {
  let isAnswer = false
  const said: string[] = []
  const input = new PassThrough()
  const pane = terminalPane(screen, new PassThrough(), {
    input,
    prompt: () => '> ',
    takesEmpty: () => isAnswer,
    onLine: (line) => said.push(line),
    onInterrupt: () => undefined,
    onEnd: () => undefined,
  })
  input.write('\r')
  await new Promise(setImmediate)
  isAnswer = true
  input.write('\r')
  await new Promise(setImmediate)
  expect(said).toEqual([''])
  pane.close()
})

test('where nothing can be drawn again a prompt asks once, and what is printed begins on a line of its own', () => {
  let written = ''
  const pane = plainPane(
    (text) => {
      written += text
    },
    () => 'me> ',
  )
  pane.ask()
  pane.ask()
  pane.print('a step')
  pane.ask()
  pane.answered()
  pane.print('answer')
  pane.close()
  expect(written).toBe('me> \na step\nme> answer\n')
})
