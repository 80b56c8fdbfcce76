import { afterEach, describe, expect } from 'vitest'
import type { Event } from '../../src/domain/event.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { childrenOf } from '../../src/store/rows/child-runs.ts'
import { followEvents } from '../../src/store/rows/events.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { spendingBy } from '../../src/store/rows/usage.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'
import { spawnTool } from './family.ts'

describe.each(databases)('what a model may ask of its tools on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const contents = (messages: readonly { content: string }[] | undefined) =>
    messages?.map(({ content }) => content) ?? []

  test('is not the same call for ever: it is told, and then the run ends and all that was spent is known', async () => {
    let made = 0
    const look = testTool('look', 'pure', () => {
      made++
      return 'nothing new'
    })
    const usage = { inputTokens: 10, outputTokens: 1 }
    const model = scriptedModel(() => ({ calls: [{ name: 'look', input: { at: 1 } }], usage }))
    under = await newEngine(database, model, { tools: [look], limits: { maxSteps: 1000 } })
    await under.work()
    const { runId } = await under.say('look')
    await under.turns(1)
    const run = await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))
    expect(run).toMatchObject({ state: 'failed', error: { code: 'looping' } })
    expect(made).toBe(5)
    expect(model.requests).toHaveLength(10)
    expect(contents(model.requests[6]?.messages).at(-1)).toContain('5 times in a row')
    const spent = await under.runtime.store.read((rows) => spendingBy(rows, { runId: runId ?? '' }))
    expect(spent).toMatchObject({ inputTokens: 100, outputTokens: 10 })
  })

  test.each([2, 3, 4])('is not a circle of %i calls for ever: it is told, and then the run ends', async (length) => {
    const look = testTool('look', 'pure', (input) => `still ${JSON.stringify(input)}`)
    const model = scriptedModel((_, n) => ({ calls: [{ name: 'look', input: { at: n % length } }] }))
    under = await newEngine(database, model, { tools: [look], limits: { maxSteps: 1000 } })
    await under.work()
    const { runId } = await under.say('look')
    await under.turns(1)
    const run = await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))
    expect(run).toMatchObject({ state: 'failed', error: { code: 'looping' } })
    expect(run?.error?.message).toContain(`the same cycle of ${length} calls`)
    expect(model.requests.length).toBeLessThanOrEqual(10 * length)
    expect(look.calls.length).toBeLessThanOrEqual(6 * length)
    expect(model.requests.flatMap(({ messages }) => contents(messages)).join()).toContain('in a row')
  })

  test('may be the same calls by turns as long as one of them changes something', async () => {
    let edits = 0
    const check = testTool('check', 'pure', () => '3 tests fail')
    const edit = testTool('edit', 'pure', () => `edit ${++edits}`)
    const model = scriptedModel((_, n) => {
      if (n > 30) return { text: 'enough' }
      return { calls: [n % 2 === 0 ? { name: 'check' } : { name: 'edit', input: { n } }] }
    })
    under = await newEngine(database, model, { tools: [check, edit], limits: { maxSteps: 1000 } })
    await under.work()
    await under.say('mend it')
    expect((await under.turns(1))[0]?.turn.status).toBe('completed')
    expect(check.calls).toHaveLength(15)
  })

  test('is so many agents in one turn and no more: it is told, whoever watches is, and then the run ends', async () => {
    const model = scriptedModel(({ messages }, n) =>
      messages[0]?.content.startsWith('child')
        ? { text: 'done' }
        : { calls: [1, 2].map((each) => ({ name: 'spawn', input: `child ${n} ${each}` })) },
    )
    const spawn = { ...spawnTool(() => under), startsAgent: true as const }
    under = await newEngine(database, model, { tools: [spawn], limits: { maxSteps: 1000, maxSpawnsPerTurn: 5 } })
    await under.work()
    const { runId } = await under.say('begin')
    const run = await under.until(async (rows) => {
      const found = await findRun(rows, runId ?? '')
      return found?.finishedAt !== null && found
    })
    expect(run).toMatchObject({ state: 'failed', error: { code: 'looping' } })
    expect(run.error?.message).toContain('more than 5 agents in one turn')
    const children = await under.runtime.store.read((rows) => childrenOf(rows, runId ?? ''))
    expect(children).toHaveLength(5)
    expect(model.requests.flatMap(({ messages }) => contents(messages)).join()).toContain('5 agents')
    const told: Event[] = []
    for await (const event of followEvents(under.runtime.store, under.runtime, {
      signal: new AbortController().signal,
    })) {
      if (event.kind === 'run.limited') told.push(event)
      if (event.kind === 'run.ended' && event.subject === `run:${runId}`) break
    }
    expect(told).toMatchObject([{ subject: `run:${runId}`, payload: { why: expect.stringContaining('5 agents') } }])
  })

  test('is not the same agent with the same task for ever, though each has another name', async () => {
    const model = scriptedModel(({ messages }) =>
      messages[0]?.content === 'child' ? { text: 'done' } : { calls: [{ name: 'spawn', input: 'child' }] },
    )
    under = await newEngine(database, model, { tools: [spawnTool(() => under)], limits: { maxSteps: 1000 } })
    await under.work()
    const { runId } = await under.say('begin')
    const run = await under.until(async (rows) => {
      const found = await findRun(rows, runId ?? '')
      return found?.finishedAt !== null && found
    })
    expect(run).toMatchObject({ state: 'failed', error: { code: 'looping' } })
    expect(await under.runtime.store.read((rows) => childrenOf(rows, runId ?? ''))).toHaveLength(5)
  })

  test('may be the same call as long as its answer changes', async () => {
    let made = 0
    const look = testTool('look', 'pure', () => `${++made}`)
    const model = scriptedModel((_, n) => (n < 15 ? { calls: [{ name: 'look' }] } : { text: 'enough' }))
    under = await newEngine(database, model, { tools: [look] })
    await under.work()
    await under.say('look')
    expect((await under.turns(1))[0]?.turn.status).toBe('completed')
    expect(made).toBe(14)
  })

  test('is at most 64 calls at once, of which eight are made at a time; the others are told', async () => {
    let [now, most, made] = [0, 0, 0]
    const look = testTool('look', 'pure', async (n) => {
      most = Math.max(most, ++now)
      await new Promise(setImmediate)
      now--
      made++
      return `${JSON.stringify(n)}`
    })
    const calls = Array.from({ length: 500 }, (_, n) => ({ name: 'look', input: { n } }))
    const model = scriptedModel([{ calls }, { text: 'done' }])
    under = await newEngine(database, model, { tools: [look] })
    await under.work()
    await under.say('look everywhere')
    const [placed] = await under.turns(1)
    expect(placed?.turn.status).toBe('completed')
    expect({ made, most }).toEqual({ made: 64, most: 8 })
    const answers = model.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? []
    expect(answers).toHaveLength(500)
    expect(answers.filter(({ content }) => content.includes('only 64 calls'))).toHaveLength(436)
  })

  test.each([
    ['pure', 'error'],
    ['unsafe', 'unknown'],
  ] as const)('ends when its time is up, though a %s tool never does: that is told as %s', async (effect, status) => {
    const clock = manualClock()
    const [begun, never] = [gate(), gate()]
    const signals: AbortSignal[] = []
    const deaf = testTool('deaf', effect, async (_, signal) => {
      signals.push(signal)
      begun.open()
      await never.pass(new AbortController().signal)
      return 'too late'
    })
    const model = scriptedModel([{ calls: [{ name: 'deaf' }] }, { text: 'on we go' }])
    const tools = [{ ...deaf, deadlineMs: 30_000 }]
    under = await newEngine(database, model, { tools, clock, limits: { timeoutMs: 10 ** 9, leaseMs: 10 ** 9 } })
    await under.work()
    await under.say('go')
    await begun.pass(new AbortController().signal)
    expect(signals[0]?.aborted).toBe(false)
    await clock.advance(30_000)
    const [placed] = await under.turns(1)
    never.open()
    expect(signals[0]?.aborted).toBe(true)
    expect(placed?.turn).toMatchObject({ status: 'completed', toolCalls: [{ name: 'deaf', status }] })
    expect(contents(model.requests[1]?.messages).at(-1)).toContain('took longer than 30 s')
  })
})
