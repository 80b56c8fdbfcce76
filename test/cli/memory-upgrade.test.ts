import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { newHeddle } from './heddle.ts'

test('memories that an earlier version had hidden are found again, which is told once', async () => {
  const heddle = newHeddle()
  onTestFinished(() => heddle.remove())
  for (const at of [1, 2]) await heddle.run('memory', 'add', `Server db${at} has ${at * 32} GB of memory`)
  const rows = new DatabaseSync(join(heddle.home, 'heddle.db'))
  rows.exec(`UPDATE memories SET superseded_by = 2 WHERE id = 1; DELETE FROM memory_words WHERE memory_id = 1;
             INSERT INTO meta (key, value) VALUES ('replaced_to_review', '{"upTo":2}')`)
  rows.close()
  const first = await heddle.run('memory', 'search', 'db1')
  expect(first.err).toContain('restored: memory:1')
  expect(first.out).toContain('Server db1 has 32 GB of memory')
  expect((await heddle.run('memory')).err).toBe('')
  expect((await heddle.run('events')).out).toMatch(/memory\.brought_back +memory:1/)
})
