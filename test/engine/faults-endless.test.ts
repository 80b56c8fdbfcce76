import { afterEach, describe, expect } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { type ScriptedModel, type ScriptedReply, scriptedModel } from '../../src/models/scripted.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { spendingBy } from '../../src/store/rows/usage.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'
import { spawnTool } from './family.ts'

const tokens = 20_000
const usage = { inputTokens: 500, outputTokens: 500 }

describe.each(databases)('F29 a model that never comes to an end on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** Lets it go until nothing goes on; then every run has ended, at the latest when nobody pays for more. */
  const toTheEnd = async (model: ScriptedModel, limits = {}): Promise<Run[]> => {
    const look = testTool('look', 'pure', () => 'nothing new')
    under = await newEngine(database, model, {
      tools: [look, spawnTool(() => under)],
      limits: { perRequest: { usd: 5, tokens }, maxSteps: 1000, ...limits },
    })
    await under.work()
    await under.say('begin')
    const stuck = await under.until(async (rows) => {
      const live = await runsOf(rows, { live: true })
      return live.every(({ waitingFor }) => waitingFor === 'budget') && live
    })
    for (const { id } of stuck) await cancel(under.engine, id, 'nobody pays for more')
    return under.runtime.store.read((rows) => runsOf(rows, {}))
  }

  const spent = async ([root]: Run[]) => {
    const { inputTokens, outputTokens } = await under.runtime.store.read((rows) =>
      spendingBy(rows, { rootRunId: root?.id ?? '' }),
    )
    return inputTokens + outputTokens
  }

  /** What a run of it says when it ends: an answer, or why it got no further. */
  const ends = (runs: Run[]) => new Set(runs.map(({ state, error }) => error?.code ?? state))

  test('but makes the same call again and again is stopped by its limit of steps', async () => {
    const model = scriptedModel(() => ({ calls: [{ name: 'look' }], usage: { inputTokens: 1, outputTokens: 1 } }))
    const runs = await toTheEnd(model, { maxSteps: 7, perRequest: { usd: 5, tokens: 10 ** 6 } })
    expect(runs).toMatchObject([{ state: 'failed', error: { code: 'too_many_steps' } }])
    expect(model.requests).toHaveLength(7)
  })

  test('but makes the same call again and again is stopped by the tokens of its request', async () => {
    const model = scriptedModel(() => ({ calls: [{ name: 'look' }], usage }))
    const runs = await toTheEnd(model)
    expect(runs).toHaveLength(1)
    expect(await spent(runs)).toBeLessThanOrEqual(tokens)
    expect(model.requests.length).toBeLessThanOrEqual(tokens / 1000)
    expect(ends(runs)).not.toContain('completed')
  })

  test('but plays ping-pong with another is stopped: both draw from one purse, and the last turn says so', async () => {
    const model = scriptedModel((request) => {
      const asked = request.messages.findLast(({ role }) => role === 'user')?.content
      const isPlayed = request.messages.at(-1)?.role === 'tool'
      if (asked === 'pong') return { text: 'pong', usage }
      return isPlayed ? { text: 'ping', usage } : { calls: [{ name: 'spawn', input: 'pong' }], usage }
    })
    const runs = await toTheEnd(model)
    expect(new Set(runs.map(({ rootRunId }) => rootRunId)).size).toBe(1)
    expect(await spent(runs)).toBeLessThanOrEqual(tokens)
    expect(runs.every(({ finishedAt }) => finishedAt !== null)).toBe(true)
    const turns = await under.turns(1)
    expect(turns[0]?.turn.status).toBe('completed')
    expect(turns.at(-1)?.turn.status).not.toBe('completed')
  })

  test.each([
    ['one child that begins one', 1],
    ['three children that begin three', 3],
  ])('but begins %s is stopped, and everybody above hears of it', async (_, width) => {
    const chain = (isBegun: boolean): ScriptedReply =>
      isBegun
        ? { text: 'begun', usage }
        : { calls: Array.from({ length: width }, () => ({ name: 'spawn', input: 'go deeper' })), usage }
    const model = scriptedModel(({ messages }) => {
      const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
      if (asked.startsWith('all started agents')) return { text: 'heard', usage }
      return chain(messages.at(-1)?.role === 'tool')
    })
    const runs = await toTheEnd(model)
    expect(await spent(runs)).toBeLessThanOrEqual(tokens)
    expect(runs.every(({ finishedAt }) => finishedAt !== null)).toBe(true)
    expect(runs.length).toBeGreaterThan(5)
    // Of the first turn, and of the wake when all below had ended: one way or the other, the request has an end.
    const turns = await under.turns(2)
    expect(turns).toHaveLength(2)
    expect(turns[1]?.turn.queryMessages.at(-1)?.content).toContain('all started agents')
  })

  test('but begins another on every wake is stopped by the steps of its request, whoever makes them', async () => {
    const model = scriptedModel(({ messages }) => {
      const isBegun = messages.at(-1)?.role === 'tool'
      const isChild = messages[0]?.content === 'do this'
      const little = { inputTokens: 1, outputTokens: 1 }
      return isChild || isBegun
        ? { text: 'done', usage: little }
        : { calls: [{ name: 'spawn', input: 'do this' }], usage: little }
    })
    const runs = await toTheEnd(model, { maxSteps: 10, perRequest: { usd: 5, tokens: 10 ** 6 } })
    expect(model.requests.length).toBeLessThanOrEqual(10)
    expect(model.requests.length).toBeGreaterThan(5)
    expect(ends(runs)).toContain('too_many_steps')
    const [last] = runs.filter(({ error }) => error !== null)
    expect(last?.error?.message).toContain('10 model calls')
  })

  test('is not even asked when the tools that it would be shown cost more than is left', async () => {
    const wordy = { ...testTool('look', 'pure', () => 'nothing'), description: 'a word '.repeat(1000) }
    const model = scriptedModel([{ text: 'hello' }])
    under = await newEngine(database, model, { tools: [wordy], limits: { perRequest: { usd: 5, tokens: 2500 } } })
    await under.work()
    const { runId } = await under.say('begin')
    await under.until(async (rows) => {
      const run = await findRun(rows, runId ?? '')
      return run?.finishedAt !== null || run.waitingFor === 'budget'
    })
    expect(model.requests).toEqual([])
  })
})
