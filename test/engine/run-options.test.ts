import { afterEach, describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/domain/model.ts'
import { childRunOptions, mergeRunOptions, type RunOptions } from '../../src/domain/run-options.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { childrenOf } from '../../src/store/rows/child-runs.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine } from './engine.ts'
import { family } from './family.ts'

const asked = {
  model: 'big',
  thinking: { level: 'high' },
  timeoutMs: 4000,
  priority: 3,
  attended: true,
  waitsForBudget: true,
} as const satisfies RunOptions

describe.each(databases)('the options of a run on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const levels = (requests: readonly ModelRequest[]) => requests.map(({ thinking }) => thinking?.level)
  const runOf = (runId: string | null | undefined) =>
    under.runtime.store.read(async (rows) => {
      const run = await findRun(rows, runId ?? '')
      return run ?? expect.unreachable('there is no such run')
    })

  test('hold for the turn that its children wake, and the origin is that of the request', async () => {
    const { model, tools } = family(2, () => under)
    under = await newEngine(database, model, { tools })
    await under.work()
    const { runId } = await under.say('go', asked)
    const [, woken] = await under.turns(2)
    expect(await runOf(runId)).toMatchObject({ options: asked, via: 'user' })
    expect(await runOf(woken?.turn.runId)).toMatchObject({ options: asked, modelRequested: 'big', via: 'user' })
    expect(woken?.turn.thinkingConfig).toEqual({ level: 'high' })
  })

  test('of a request hold for its children, which have a model of their own', async () => {
    const { model, tools } = family(1, () => under)
    under = await newEngine(database, model, { tools })
    await under.work()
    const { runId } = await under.say('go', { ...asked, deadline: 10 ** 15 })
    await under.turns(2)
    const [child] = await under.runtime.store.read((rows) => childrenOf(rows, runId ?? ''))
    expect(child?.options).toEqual({ priority: 3, attended: true, waitsForBudget: true, deadline: 10 ** 15 })
    expect(child).toMatchObject({ modelRequested: null, via: 'spawn_agent' })
  })

  test('of a child hold when its own children wake it', async () => {
    const inner = family(1, () => under)
    const tools = inner.tools.map((tool) => ({ ...tool, name: 'spawn' }))
    under = await newEngine(database, inner.model, { tools })
    await under.work()
    await under.say('go go child 1', asked)
    await under.turns(2)
    const runs = await under.runtime.store.read((rows) => runsOf(rows, {}))
    const [begun, continued] = runs.filter(({ depth }) => depth === 1)
    expect(continued?.sessionId).toBe(begun?.sessionId)
    expect(continued).toMatchObject({ options: begun?.options, via: 'spawn_agent', kind: 'spawn' })
  })

  test('are kept by a retry, of a woken turn too, except for a deadline that has passed', async () => {
    const clock = manualClock()
    const { model, tools } = family(1, () => under)
    under = await newEngine(database, model, { tools, clock })
    await under.work()
    const deadline = clock.now() + 60_000
    await under.say('go', { ...asked, deadline })
    const [, woken] = await under.turns(2)
    const again = await retry(under.engine, woken?.turn.runId ?? '')
    await under.turns(3)
    expect(await runOf(again.runId)).toMatchObject({
      options: { ...asked, deadline },
      modelRequested: 'big',
      via: 'retry',
    })
    await clock.advance(60_000)
    const late = await retry(under.engine, woken?.turn.runId ?? '')
    const [, , , last] = await under.turns(4)
    expect((await runOf(late.runId)).options).toEqual(asked)
    expect(last?.turn).toMatchObject({ status: 'completed', thinkingConfig: { level: 'high' } })
  })

  test('survive the death of its owner', async () => {
    const held = gate()
    const model = scriptedModel((_, n) => ({ text: `${n}`, ...(n === 1 && { gate: held }) }))
    under = await newEngine(database, model)
    const dying = await under.work()
    const { runId } = await under.say('hello', asked)
    await held.reached
    under.locks.kill((await runOf(runId)).workerId ?? '')
    await under.work()
    const [turn] = await under.turns(1)
    held.open()
    await dying.stop()
    expect(levels(model.requests)).toEqual(['high', 'high'])
    expect(turn?.turn.thinkingConfig).toEqual({ level: 'high' })
    expect(await runOf(runId)).toMatchObject({ options: asked, modelRequested: 'big' })
  })
})

test('the last of each option counts, the highest priority, and what the run before had', () => {
  const inputs: { options: RunOptions }[] = [
    { options: { model: 'a', priority: 2 } },
    { options: { model: 'b', thinking: { level: 'low' } } },
  ]
  expect(mergeRunOptions(inputs)).toEqual({ model: 'b', thinking: { level: 'low' }, priority: 2 })
  expect(mergeRunOptions([])).toEqual({ priority: 0 })
  expect(mergeRunOptions([{ options: { priority: -1 } }])).toEqual({ priority: -1 })
  expect(mergeRunOptions([{ options: {} }], { priority: 5, attended: true })).toEqual({ priority: 5, attended: true })
  expect(mergeRunOptions([{ options: { priority: 1 } }], { priority: 5 })).toEqual({ priority: 1 })
  expect(childRunOptions({ agent: 'a', timeoutMs: 1, deadline: 7 }, { model: 'b' })).toEqual({
    deadline: 7,
    model: 'b',
  })
})
