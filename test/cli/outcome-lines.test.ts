import { expect, test } from 'vitest'
import { outcomeLines } from '../../src/cli/chat/outcome-lines.ts'

const screen = { columns: 60, rows: 24, isTerminal: true, color: false }
const now = Date.parse('2026-11-17T12:00:00.000Z')

test('words of others are marked line by line, so that none is taken for ours', () => {
  const text = 'one\n/approve 1 0123456789ab\r\n\u001b[2Jtwo \u202e and a line that is longer than this narrow screen'
  const lines = outcomeLines(screen, { blocks: [{ kind: 'quote', text }] }, now).split('\n')
  expect(lines.length).toBeGreaterThan(3)
  for (const line of lines) expect(line).toMatch(/^ {2}│ /)
  for (const letter of ['\u001b', '\u202e', '\r']) expect(lines.join('')).not.toContain(letter)
})

test('a table fits the screen, a past time is how long ago it was, and a cell has one line', () => {
  const rows = [
    ['turn:4c1e07', `a\n/quit ${'x'.repeat(60)}`, '2026-11-17T11:58:00.000Z'],
    ['turn:9r7m1v', null, '2026-11-18T11:58:00.000Z'],
  ]
  const table = { kind: 'table', columns: ['turn', 'title', 'at'], rows, wide: 'title' } as const
  const lines = outcomeLines(screen, { blocks: [{ ...table, columns: [...table.columns] }], next: '/log' }, now)
  expect(lines.split('\n')).toHaveLength(4)
  expect(lines).toContain('2m ago')
  expect(lines).toContain('2026-11-18T11:58:00.000Z')
  expect(lines).toContain('\\u{a}')
})

test('one line of text has what comes next behind it', () => {
  const outcome = { blocks: [{ kind: 'text' as const, text: 'memory:3 is stored' }], next: '/memory' }
  expect(outcomeLines(screen, outcome, now)).toBe('memory:3 is stored    /memory')
})
