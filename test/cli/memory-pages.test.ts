import { expect, test } from 'vitest'
import type { MemoryLine, MemoryView } from '../../src/api/views/memory.ts'
import { foundTable, memoryPage, memoryTable, remindersLines } from '../../src/cli/pages/memory-page.ts'
import { width } from '../../src/cli/terminal/screen.ts'

const screen = { columns: 80, rows: 24, isTerminal: true, color: false }
const line: MemoryLine = {
  id: 12,
  content: 'The port is 9090',
  tags: ['net'],
  keywords: [],
  score: 3,
  source: 'user',
  trusted: true,
  rank: 3,
  createdAt: '2026-01-01T00:00:00.000Z',
}
const view: MemoryView = {
  ...line,
  kind: 'memory',
  label: { integrity: 'trusted', sources: [] },
  recalledAt: '2026-01-02T00:00:00.000Z',
  older: [],
  near: [],
  narratives: [],
  runs: [],
}
const now = Date.parse('2026-01-01T01:00:00.000Z')
const hostile = {
  content: `\u001b]0;owned\u0007\u001b[2J発売日は五月です🙂\u202e\n${'long '.repeat(5000)}`,
  tags: ['\u001b[31mred', 'a'.repeat(100)],
}

const strangeFile = {
  path: `memory/\u001b[2J${'日記'.repeat(40)}\u202e.md`,
  line: 12,
  heading: '\u0007bell',
  text: hostile.content,
  rank: 1,
  words: ['port'],
}

test('a list is a line for each, with what is not trusted marked', () => {
  const lines = memoryTable(screen, [line, { ...line, id: 3, tags: [], trusted: false }], now).split('\n')
  expect(lines).toEqual([
    'memory:12  The port is 9090  #net             1h ago',
    'memory:3   The port is 9090        untrusted  1h ago',
  ])
})

test.each([
  ['a list', memoryTable(screen, [{ ...line, ...hostile, trusted: false }, line], now)],
  ['a search', foundTable(screen, [{ ...line, ...hostile, words: Array(24).fill('port\u0007') }])],
  ['reminders', remindersLines(screen, [{ id: 1, rank: 1, words: Array(24).fill('port\u0007'), ...hostile }])],
  ['a search in files', foundTable(screen, [], [{ ...strangeFile, words: Array(24).fill('port\u0007') }])],
  [
    'reminders of files',
    remindersLines(
      screen,
      [],
      [
        { ...strangeFile, words: ['port'] },
        { ...strangeFile, text: '' },
      ],
    ),
  ],
])('%s fits 80 columns, and nothing in it is obeyed by a terminal', (_, text) => {
  expect(text.split('\n').filter((each) => width(each) > 80)).toEqual([])
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
})

test('a page shows all of its words, and nothing in it is obeyed by a terminal', () => {
  const older = [{ id: 4, content: hostile.content }]
  const page = memoryPage(screen, {
    ...view,
    ...hostile,
    keywords: ['\u0007'],
    older,
    replacedBy: { ...view, ...hostile, id: 13 },
  })
  expect(page).toContain('long '.repeat(5000).trimEnd())
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(page).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
})

test('a page tells where a memory came from, what it replaced and who was shown it', () => {
  const page = memoryPage(screen, {
    ...view,
    source: 'agent',
    label: { integrity: 'untrusted', sources: ['url:https://a.example'] },
    runId: '06b0000000000000007k',
    taskId: 5,
    resultId: 6,
    narrativeId: 2,
    older: [{ id: 4, content: 'The port is 8080' }],
    narratives: [2],
    runs: Array.from({ length: 7 }, (_, at) => `06c0000000000000000${at}`),
  })
  expect(page.split('\n')).toEqual([
    'memory:12',
    'tags      net',
    'score     3, rank 3',
    'said by   an agent in run:00007k',
    'trust     untrusted: url:https://a.example',
    'from      task:5, result:6, narrative:2',
    'at        2026-01-01T00:00:00.000Z',
    'used      2026-01-02T00:00:00.000Z',
    'shown to  run:000000, run:000001, run:000002, run:000003, run:000004 and 2 more',
    'told in   narrative:2',
    'next      heddle memory edit 12, heddle memory forget 12',
    '',
    'The port is 9090',
    '',
    'replaces',
    '  memory:4  The port is 8080',
  ])
})

test.each<[Partial<MemoryView>, string[]]>([
  [
    { replacedBy: { id: 13, content: 'The port is 7070', createdAt: '2026-02-01T00:00:00.000Z' } },
    ['now       memory:13 replaced it on 2026-02-01: The port is 7070', 'next      heddle show memory:13'],
  ],
  [
    { content: '', forgottenAt: '2026-02-01T00:00:00.000Z' },
    ['state     forgotten 2026-02-01T00:00:00.000Z, its text is gone', 'now       nothing replaced it'],
  ],
  [
    { content: '', forgottenAt: '2026-02-01T00:00:00.000Z', replacedBy: { ...view, id: 13, content: '' } },
    ['now       memory:13 replaced it and was forgotten'],
  ],
])('one that no longer counts says what took its place', (more, expected) => {
  const lines = memoryPage(screen, { ...view, ...more }).split('\n')
  expect(lines).toEqual(expect.arrayContaining(expected))
  expect(lines.join('\n')).not.toContain('memory edit')
})
