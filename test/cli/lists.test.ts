import { afterEach, beforeEach, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

const count = 33

let heddle: TestHeddle
beforeEach(async () => {
  heddle = newHeddle()
  for (let number = 1; number <= count; number++)
    await heddle.json('append', '-s', `s${number}`, '--user', 'hello', '--assistant', 'hi')
})
afterEach(() => heddle.remove())

test('sessions shows thirty and how to see more; JSON has all, and goes on from a cursor', async () => {
  const { out } = await heddle.run('sessions')
  expect(out.trim().split('\n')).toHaveLength(31)
  expect(out).toMatch(/… 3 more {4}heddle sessions --limit 0\n$/)
  expect((await heddle.run('sessions', '--limit', '0')).out.trim().split('\n')).toHaveLength(count)

  const all = (await heddle.json('sessions')) as Listed
  expect(all).toEqual({ sessions: expect.any(Array) })
  expect(all.sessions.map(({ label }) => label)).toEqual(Array.from({ length: count }, (_, at) => `s${count - at}`))
  const first = (await heddle.json('sessions', '--limit', '20')) as Listed
  expect(first).toEqual({ sessions: all.sessions.slice(0, 20), next: expect.any(String) })
  const rest = (await heddle.json('sessions', '--limit', '20', '--after', first.next ?? '')) as Listed
  expect(rest).toEqual({ sessions: all.sessions.slice(20) })
})

test('a limit that is no number and a cursor that is none are refused with what to do', async () => {
  for (const list of [['sessions'], ['ps', '--all'], ['usage']]) {
    const { code, err } = await heddle.run(...list, '--limit', 'x')
    expect([code, err]).toEqual([2, expect.stringContaining('0 means all')])
  }
  expect((await heddle.run('sessions', '--after', 'x')).err).toContain('use the next of an earlier page')
})

test('ps and usage list what is there with the same options', async () => {
  await heddle.json('ask', 'hello', '-s', 'main')
  await heddle.json('ask', 'hello', '-s', 'main')
  const { runs } = await heddle.json<{ runs: { id: string }[] }>('ps', '--all')
  expect(runs.length).toBeGreaterThan(1)
  const last = await heddle.json('ps', '--all', '--limit', '1')
  expect(last).toMatchObject({ runs: [expect.objectContaining({ id: runs.at(-1)?.id })], next: runs.at(-1)?.id })
  expect((await heddle.run('ps', '--all', '--limit', '1')).out).toMatch(/^… more {4}heddle ps --all --limit 0\n/)
  const byRun = await heddle.json<{ rows: unknown[] }>('usage', '--by', 'run')
  expect(byRun.rows.length).toBeGreaterThan(1)
  const newest = await heddle.json('usage', '--by', 'run', '--limit', '1')
  expect(newest).toMatchObject({ rows: byRun.rows.slice(-1), next: expect.any(String) })
})

interface Listed {
  sessions: { label: string }[]
  next?: string
}
