import { afterEach, describe, expect } from 'vitest'
import type { Approval } from '../../src/domain/approval.ts'
import { answer } from '../../src/engine/run/answer.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { whenEndedOrBlocked } from '../../src/engine/run/request.ts'
import type { Limits } from '../../src/engine/runtime.ts'
import { gate } from '../../src/models/gate.ts'
import { type ScriptedReply, scriptedModel } from '../../src/models/scripted.ts'
import { openApprovals } from '../../src/store/rows/approvals.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'
import { family, spawnTool } from './family.ts'

const usage = { inputTokens: 900, outputTokens: 900 }
const never = new AbortController().signal

describe.each(databases)('a run whose budget is spent on %s', (database) => {
  const test = testOn(database)
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
      expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
        ...{ state: 'waiting', waitingFor: 'budget', workerId: null },
      })
      expect(question).toMatchObject({ tool: 'budget', runId, input: { key, to } })
      expect(await whenEndedOrBlocked(under.engine, itemId, never)).toMatchObject({
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

  test.each(['session', 'agent'] as const)(
    'cannot be raised for a whole %s: that is refused, and nothing is decided',
    async (scope) => {
      await looking({ maxSteps: 1 })
      await under.say('look', { waitsForBudget: true })
      const [question] = await asked()
      await expect(decide(under.engine, question?.id ?? 0, { answer: scope })).rejects.toMatchObject({
        code: 'scope_not_offered',
        remedy: `leave out --scope ${scope}; it takes --scope once`,
      })
      expect(await asked()).toEqual([question])
    },
  )

  test('tells whoever asked what the request has cost so far', async () => {
    await looking({ maxSteps: 1 })
    const { itemId } = await under.say('look', { waitsForBudget: true })
    await asked()
    const { status, usage: spent } = await answer(under.engine, '/', itemId, never)
    expect({ status, spent }).toMatchObject({
      status: 'waiting',
      spent: { ...usage, costUsd: 0.0018, estimatedUsd: 0, lostUsd: 0, reservedUsd: 0 },
    })
  })

  test('stops with that reason after a no, and what was done is kept', async () => {
    const { model } = await looking({ maxSteps: 1 })
    const { runId } = await under.say('look', { waitsForBudget: true })
    const [question] = await asked()
    await decide(under.engine, question?.id ?? 0, { answer: 'no' })
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({ status: 'failed' })
    expect(placed?.turn.responseMessage.content).toMatch(/^step 1\n\n.*look.*\n\nFailed: the request has made 1 model/)
    expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
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
    expect(await under.runtime.store.read((rows) => openApprovals(rows))).toEqual([])
    expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
      ...{ state: 'waiting', waitingFor: 'budget', wakeAt: Date.UTC(2026, 10, 8) },
    })
    expect(model.requests).toHaveLength(1)
    // Who asks meanwhile hears at once when it goes on.
    const later = await under.say('three')
    expect(await whenEndedOrBlocked(under.engine, later.itemId, never)).toMatchObject({
      ...{ approvals: [], until: Date.UTC(2026, 10, 8) },
    })
    await time.advance(12 * 3_600_000)
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
    expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
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

  test.each([
    ['the request', { perRequest: { usd: 5, tokens: 25_000 } }],
    ['the day', { perDayUsd: 0.025 }],
  ])('waits while calls under way have set the rest of the budget of %s aside', async (_, limits) => {
    const held = gate()
    const children = family(5, () => under, {
      hold: () => held,
      answer: (task) => ({ text: `done: ${task}`, usage: { inputTokens: 100, outputTokens: 100 } }),
    })
    const model = { ...children.model, price: { input: 1, output: 1 } }
    under = await newEngine(database, model, { tools: children.tools, limits: { ...limits, maxOutputTokens: 10_000 } })
    await under.work()
    const { itemId } = await under.say('go')
    await under.until(async (rows) => {
      const tasks = (await runsOf(rows, { live: true })).filter(({ parentRunId }) => parentRunId !== null)
      return tasks.length === 5 && tasks.filter(({ waitingFor }) => waitingFor === 'retry').length >= 3
    })
    held.open()
    await whenEndedOrBlocked(under.engine, itemId, never)
    const ended = await under.runtime.store.read((rows) => runsOf(rows, {}))
    expect(ended.filter(({ state }) => state !== 'completed')).toEqual([])
    expect(ended.length).toBeGreaterThan(5)
  })

  test('fails where the call could not be paid for alone, although others have set something aside', async () => {
    const held = gate()
    const children = family(2, () => under, {
      hold: (task) => (task === 'child 1' ? held : undefined),
      answer: (task) =>
        task === 'child 1' ? { text: 'done' } : { calls: [{ name: 'look' }], usage: { outputTokens: 30_000 } },
    })
    under = await newEngine(database, children.model, {
      tools: [...children.tools, testTool('look', 'pure', () => 'nothing')],
      limits: { maxOutputTokens: 10_000, perRequest: { usd: 5, tokens: 32_000 } },
    })
    await under.work()
    await under.say('go')
    const failed = await under.until(async (rows) => (await runsOf(rows, { state: 'failed' }))[0])
    expect(failed).toMatchObject({ error: { code: 'budget_spent' } })
    held.open()
  })
})
