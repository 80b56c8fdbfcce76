import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

test('a turn without any words is refused, one with either side is kept', async () => {
  expect(await heddle.run('append', '--user', '', '--assistant', ' ')).toMatchObject({
    code: 2,
    err: expect.stringContaining('the turn would be empty'),
  })
  expect(await heddle.run('append', '--user', 'which port?', '--assistant', '')).toMatchObject({ code: 0 })
  expect((await heddle.run('log')).out.trim().split('\n')).toHaveLength(1)
})

test('init does not call a home complete whose database is gone, and names the way back', async () => {
  await heddle.run('append', '--user', 'which port?', '--assistant', '8080')
  expect(await heddle.run('init')).toMatchObject({ code: 0, out: expect.stringContaining('is complete already') })
  for (const end of ['', '-wal', '-shm']) rmSync(join(heddle.home, `heddle.db${end}`), { force: true })
  const { code, out } = await heddle.run('init')
  expect(code).toBe(1)
  expect(out).not.toContain('complete already')
  expect(out).toContain('is missing\n  → put it back')
  expect(await heddle.json('init')).toMatchObject({ ok: false, error: { code: 'database_missing' } })
})
