import { expect, test } from 'vitest'
import { HistorySearch } from '../../src/cli/terminal/history-search.ts'

const past = ['which port?', 'Another port', 'hello', 'the first port of all']
const searching = (...keys: string[]) => {
  const search = new HistorySearch(past)
  const outcome = keys.map((each) => search.take(each)).at(-1)
  return { search, outcome }
}

test('what is typed is looked for from the newest line on, in any case, and Ctrl-R looks further', () => {
  const { search } = searching('port')
  expect([search.prompt, search.line, search.cursor]).toEqual(["(reverse-i-search)`port': ", 'which port?', 6])
  search.take('\u0012')
  expect(search.line).toBe('Another port')
  search.take('\u0012')
  expect(search.line).toBe('the first port of all')
  search.take('\u0012')
  expect([search.prompt, search.line]).toEqual(["(failed reverse-i-search)`port': ", 'the first port of all'])
})

test('a letter more goes on from the line that is shown, a letter less begins anew', () => {
  const { search } = searching('port', '\u0012', ' ')
  expect(search.line).toBe('the first port of all')
  search.take('\u007f')
  expect([search.line, search.prompt]).toEqual(['which port?', "(reverse-i-search)`port': "])
  search.take('\u007f\u007f\u007f\u007f')
  expect([search.line, search.prompt]).toEqual(['', "(reverse-i-search)`': "])
})

test.each([
  ['Enter', 'hel\r', { take: 'hello', keys: '\r' }],
  ['an arrow', ['hel', '\u001b[D'], { take: 'hello', keys: '\u001b[D' }],
  ['Ctrl-A', 'hel\u0001', { take: 'hello', keys: '\u0001' }],
  ['Ctrl-G', 'hel\u0007', 'dropped'],
  ['Ctrl-C', 'hel\u0003', 'dropped'],
  ['Escape', ['hel', '\u001b'], 'dropped'],
])('%s ends the search', (_, keys, outcome) => {
  expect(searching(...[keys].flat()).outcome).toEqual(outcome)
})
