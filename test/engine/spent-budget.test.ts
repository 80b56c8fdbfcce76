import { afterEach, describe, expect, test } from 'vitest'
import type { Approval } from '../../src/domain/approval.ts'
import { decide } from '../../src/engine/approve.ts'
import { wakeDue } from '../../src/engine/recover.ts'
import { whenQuietOrStuck } from '../../src/engine/request.ts'
import type { Limits } from '../../src/engine/world.ts'
import { type ScriptedReply, scriptedModel } from '../../src/models/scripted.ts'
import { openApprovals } from '../../src/store/approvals.ts'
import { findRun, runsOf } from '../../src/store/runs.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'
import { spawnTool } from './family.ts'

const usage = { inputTokens: 900, outputTokens: 900 }
const never = new AbortController().signal

describe.each(databases)('a run whose budget is spent on %s', (database) => {
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const clock = () => manualClock(Date.UTC(2026, 10, 7, 12))

  /** Looks twice and then answers: the second call is one too many. */
  async function looking(limits: Partial<Limits>, answers?: (n: number) => ScriptedReply) {
    const time = clock()
    const look = testTool('look', 'pure', () => 'nothing')
    const usual = (n: number): ScriptedReply =>
      n < 3 ? { text: `step ${n}`, calls: [{ name: 'look', input: { n } }], usage } : { text: 'found it', usage }
    const model = scriptedModel((_, n) => (answers ?? usual)(n), { price: { input: 1, output: 1 } })
    under = await newEngine(database, model, { tools: [look, spawnTool(() => under)], limits, clock: time })
    await under.work()
    return { model, time }
  }

  const asked = (): Promise<Approval[]> =>
    under.until(async (rows) => {
      const live = await runsOf(rows, { live: true })
      const isStuck = live.length > 0 && live.every(({ waitingFor }) => waitingFor === 'budget')
      return isStuck && (await openApprovals(rows))
    })

  test.each([
    ['steps', { maxSteps: 1 }, 'perRequest.steps', 2],
    ['tokens', { perRequest: { usd: 5, tokens: 2500 } }, 'perRequest.tokens', 5000],
    ['money', { perRequest: { usd: 0.0025, tokens: 10 ** 6 } }, 'perRequest.usd', expect.any(Number)],
    ['money of the day', { perDayUsd: 0.0025 }, 'perDay.usd', expect.any(Number)],
  ])(
    'waits where somebody is there, asks whether to raise the %s, and goes on after a yes',
    async (_, limits, key, to) => {
      const { model } = await looking(limits)
      const { itemId, runId } = await under.say('look', { waitsForBudget: true })
      const [question] = await asked()
      expect(await under.world.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
        ...{ state: 'waiting', waitingFor: 'budget', ownerId: null },
      })
      expect(question).toMatchObject({ tool: 'budget', runId, input: { key, to } })
      expect(await whenQuietOrStuck(under.engine, itemId, never)).toMatchObject({
        approvals: [{ id: question?.id, tool: 'budget', reason: expect.stringMatching(/budget/) }],
      })
      expect(model.requests).toHaveLength(1)
      let next: Approval | undefined = question
      // Each yes is worth as much again.
      while (next) {
        await decide(under.engine, next.id, { answer: 'once' })
        const turns = under.turns(1).then(() => undefined)
        next = await Promise.race([turns, asked().then(([first]) => first)])
      }
      const [placed] = await under.turns(1)
      expect(placed?.turn).toMatchObject({ status: 'completed', responseMessage: { content: 'found it' } })
      expect(model.requests).toHaveLength(3)
    },
  )

  test('stops with that reason after a no, and what was done is kept', async () => {
    const { model } = await looking({ maxSteps: 1 })
    const { runId } = await under.say('look', { waitsForBudget: true })
    const [question] = await asked()
    await decide(under.engine, question?.id ?? 0, { answer: 'no' })
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({ status: 'failed' })
    expect(placed?.turn.responseMessage.content).toMatch(/^step 1\n\n.*look.*\n\nFailed: the request has made 1 model/)
    expect(await under.world.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
      error: { code: 'too_many_steps' },
    })
    expect(model.requests).toHaveLength(1)
  })

  test('goes on tomorrow where the money of a day is spent and somebody says so', async () => {
    const { model, time } = await looking({ perDayUsd: 0.0025 }, () => ({ text: 'hello', usage }))
    await under.say('one')
    await under.turns(1)
    const { runId } = await under.say('two', { waitsForBudget: true })
    const [question] = await asked()
    await decide(under.engine, question?.id ?? 0, { answer: 'tomorrow' })
    expect(await under.world.store.read((rows) => openApprovals(rows))).toEqual([])
    expect(await under.world.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
      ...{ state: 'waiting', waitingFor: 'budget', wakeAt: Date.UTC(2026, 10, 8) },
    })
    expect(model.requests).toHaveLength(1)
    await time.advance(12 * 3_600_000)
    await wakeDue(under.engine)
    expect((await under.turns(2))[1]?.turn.status).toBe('completed')
  })

  test('is not left until tomorrow where it is the budget of a request', async () => {
    await looking({ maxSteps: 1 })
    await under.say('look', { waitsForBudget: true })
    const [question] = await asked()
    await expect(decide(under.engine, question?.id ?? 0, { answer: 'tomorrow' })).rejects.toMatchObject({
      code: 'not_tomorrow',
    })
  })

  test('fails with that reason where nobody is there', async () => {
    await looking({ maxSteps: 1 })
    const { runId } = await under.say('look')
    await under.turns(1)
    expect(await under.world.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
      ...{
        state: 'failed',
        error: { code: 'too_many_steps', remedy: expect.stringContaining('budgets.perRequest.steps') },
      },
    })
  })

  test('asks once for all runs of a request, and one answer is for all of them', async () => {
    const { model } = await looking({ maxSteps: 1 }, (n) =>
      n === 1
        ? { calls: [1, 2, 3].map((child) => ({ name: 'spawn', input: `child ${child}` })), usage }
        : { text: 'done', usage },
    )
    await under.say('begin', { waitsForBudget: true })
    // The parent's next step and its three children wait for the same budget.
    const open = await asked()
    expect(open).toHaveLength(1)
    await decide(under.engine, open[0]?.id ?? 0, { answer: 'no' })
    const runs = await under.until(async (rows) => {
      const all = await runsOf(rows, {})
      return all.length === 5 && all.every(({ finishedAt }) => finishedAt !== null) && all
    })
    // The one that their results woke fails without another question.
    expect(runs.map(({ error }) => error?.code)).toEqual(Array(5).fill('too_many_steps'))
    expect(model.requests).toHaveLength(1)
  })
})
