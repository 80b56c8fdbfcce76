import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import { newHeddle } from './heddle.ts'

interface Usage {
  rows: { key: string; calls: number }[]
}

/** A folder about which an answer has more than a few words. */
function newShop() {
  const heddle = newHeddle()
  onTestFinished(() => heddle.remove())
  for (const part of ['orders', 'customers', 'harbour', 'invoices']) {
    mkdirSync(join(heddle.folder, part))
    writeFileSync(join(heddle.folder, part, `${part}.ts`), `export const ${part} = 1 // TODO ${part}\n`)
  }
  return heddle
}

const begunWith = async (heddle: ReturnType<typeof newHeddle>, session: string) => {
  const { turnId } = await heddle.json<RequestAnswer>('ask', '-s', session, 'count files')
  return (await heddle.json<TurnView>('show', `turn:${turnId}`)).beganWith
}

test('the next session begins with where the last one stood, and usage has a row for who noted it', async () => {
  const heddle = newShop()
  const { code, out } = await heddle.run('ask', 'survey this folder')
  expect([code, out]).toEqual([0, expect.stringContaining('4 files')])
  expect(await begunWith(heddle, 'next')).toMatchObject({
    id: 1,
    summary: expect.stringContaining('In the session "main" the user asked: "survey this folder"'),
  })
  const { rows } = await heddle.json<Usage>('usage', '--by', 'agent')
  expect(rows.find(({ key }) => key === 'narrator')?.calls).toBeGreaterThan(0)
  const listed = await heddle.json<{ sessions: { label: string }[] }>('sessions')
  expect(listed.sessions.map(({ label }) => label)).toEqual(['next', 'main'])
  expect((await heddle.run('show', 'next')).out).not.toContain('narrator')
  const page = await heddle.run('status')
  expect(page.out).not.toContain('narrator')
})

test('switched off nobody notes anything, and a name that is no model is refused', async () => {
  const heddle = newShop()
  await heddle.run('init')
  await heddle.run('config', 'set', 'memory.narratives', 'false')
  await heddle.run('ask', 'survey this folder')
  expect(await begunWith(heddle, 'next')).toBeNull()
  expect((await heddle.json<Usage>('usage', '--by', 'agent')).rows.map(({ key }) => key)).not.toContain('narrator')
  const { code, err } = await heddle.run('config', 'set', 'memory.narrator', 'nobody')
  expect([code, err]).toEqual([expect.any(Number), expect.stringContaining('names the model')])
  expect(code).not.toBe(0)
})

test.each(['submit.after_commit#2', 'settle.before_commit#2', 'settle.after_commit#2'])(
  'killed at %s, after the answer, it is noted once by whoever works there next',
  async (point) => {
    const heddle = newShop()
    const killed = await heddle.runWith({ env: { HEDDLE_CRASH_AT: point } }, 'ask', 'survey this folder')
    expect(killed.signal).toBe('SIGKILL')
    if (point.startsWith('settle')) expect(killed.out).toContain('4 files')
    await heddle.run('ask', '-s', 'between', 'count files')
    expect(await begunWith(heddle, 'next')).toMatchObject({ id: 1 })
    expect(await begunWith(heddle, 'last')).toMatchObject({ id: 1 })
  },
)
