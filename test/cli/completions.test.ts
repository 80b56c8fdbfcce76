import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { completionsIn } from '../../src/cli/chat/completions.ts'

const folder = mkdtempSync(join(tmpdir(), 'heddle-completions-'))
mkdirSync(join(folder, 'src'))
for (const file of ['src/cart.ts', 'src/case.ts', 'notes.md', '.env']) writeFileSync(join(folder, file), '')
afterAll(() => rmSync(folder, { recursive: true }))

test.each<[string, string[], string]>([
  ['look at @no', ['notary ', 'notes.md '], 'no'],
  ['@wri', ['writer '], 'wri'],
  ['look at @s', ['src/'], 's'],
  ['@src/ca', ['src/cart.ts ', 'src/case.ts '], 'src/ca'],
  ['see @', ['notary ', 'notes.md ', 'src/', 'writer '], ''],
  ['see @.', ['.env '], '.'],
  ['ada@no', [], 'ada@no'],
  ['@nowhere/x', [], 'nowhere/x'],
  ['/sw', ['/switch '], '/sw'],
  ['/st', ['/steer ', '/stop ', '/status '], '/st'],
  ['/agents p', ['/agents pin ', '/agents pins '], '/agents p'],
  ['/agents pin @no', ['notary '], 'no'],
  ['/agents show @', ['notary ', 'writer '], ''],
  ['plain words', [], 'plain words'],
])('%s', (line, hits, end) => {
  const [found, stands] = completionsIn(folder, () => ['writer', 'notary'])(line)
  expect([found.toSorted(), stands]).toEqual([hits.toSorted(), end])
})
