import { beforeEach, expect, test } from 'vitest'
import { StreamedLines } from '../../src/cli/live/streamed-lines.ts'

const screen = { columns: 40, rows: 24, isTerminal: true, color: false }
let printed: string[]
let spoken: StreamedLines
const text = (call: number, text: string) => spoken.apply({ kind: 'text', runId: 'r', call, text })
const void_ = '(connection lost; retrying)'

beforeEach(() => {
  printed = []
  spoken = new StreamedLines(screen, (line) => printed.push(line))
})

test('whole lines are printed as they come, the rest moves, and the end prints only what is left', () => {
  text(1, '\n\nfirst li')
  expect([printed, spoken.moving]).toEqual([[], 'first li'])
  text(1, 'ne\n\nsecond')
  expect([printed, spoken.moving]).toEqual([['first line', ''], 'second'])
  spoken.finish('first line\n\nsecond line\n')
  expect([printed, spoken.moving]).toEqual([['first line', '', 'second line'], ''])
})

test('what a call said before its tools stays, and the next call is told below it', () => {
  text(1, 'I look first')
  spoken.finish()
  text(2, 'it is 8080')
  spoken.finish('it is 8080')
  expect(printed).toEqual(['I look first', 'it is 8080'])
})

test('words that end a turn together with its calls are its answer, and are not printed again', () => {
  text(1, 'the researcher looks')
  spoken.finish()
  spoken.finish('the researcher looks')
  expect(printed).toEqual(['the researcher looks'])
  spoken.finish('the researcher looks')
  expect(printed).toEqual(['the researcher looks', 'the researcher looks'])
})

test('words that are taken back are told as void, and the answer is printed whole', () => {
  text(1, 'one\ntw')
  spoken.apply({ kind: 'reset', runId: 'r', call: 1 })
  text(2, 'other\n')
  spoken.finish('other\nanswer')
  expect(printed).toEqual(['one', void_, 'other', 'answer'])
})

test('who comes late gets all that was said so far, and nothing twice', () => {
  text(1, 'one\n')
  spoken.apply({ kind: 'whole', runId: 'r', call: 1, text: 'one\ntwo\nthr' })
  spoken.finish('one\ntwo\nthree')
  expect(printed).toEqual(['one', 'two', 'three'])
})

test('an answer of which nothing was heard is printed whole', () => {
  spoken.finish('all\nof it')
  expect(printed).toEqual(['all', 'of it'])
})

test('thoughts move above the answer and are never printed', () => {
  spoken.apply({ kind: 'thinking', runId: 'r', call: 1, text: 'let me \u001b[31msee' })
  expect(spoken.moving).toBe('let me \\u{1b}[31msee')
  text(1, 'seen')
  expect(spoken.moving).toBe('seen')
  spoken.finish('seen')
  expect(printed).toEqual(['seen'])
})
