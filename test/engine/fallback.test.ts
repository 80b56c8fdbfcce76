import { afterEach, describe, expect } from 'vitest'
import { type Model, ModelFailure } from '../../src/domain/model.ts'
import { Stop } from '../../src/engine/run/active-run.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { visibleEvents } from '../setup/visible-events.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

const down = (more: { retry?: 'never' | 'later'; retryAfter?: number; code?: string } = {}) =>
  new ModelFailure(more.code ?? 'provider_failed', 'Model is down.', 'wait', {
    retry: more.retry ?? 'later',
    ...(more.retryAfter !== undefined && { retryAfter: more.retryAfter }),
  })

const failing = (name: string, failure = down()) => scriptedModel(() => ({ fail: failure }), { name })
const answering = (name: string) => scriptedModel(() => ({ text: `${name} answers` }), { name })

describe.each(databases)('a chain of models on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine | undefined
  afterEach(async () => {
    expect(under?.troubles ?? []).toEqual([])
    await under?.remove()
    under = undefined
  })

  async function chainOf(models: Model[], options: Parameters<typeof newEngine>[2] = {}): Promise<TestEngine> {
    const made = await newEngine(database, models[0] as Model, options)
    made.engine.model = (name) => models.find((model) => model.name === (name ?? models[0]?.name)) ?? missing(name)
    made.engine.fallbacks = models.slice(1).map(({ name }) => name)
    under = made
    return made
  }

  test('asks the next after two attempts, within the same run, and says who answered', async () => {
    const clock = manualClock()
    const models = [failing('main'), answering('local')]
    const chain = await chainOf(models, { clock })
    await chain.work()
    const { runId } = await chain.say('hello')
    await chain.pass(clock, runId, 1)
    const [placed] = await chain.turns(1)
    expect(placed?.turn).toMatchObject({
      status: 'completed',
      responseMessage: { content: 'local answers' },
      model: { requested: null, actual: 'local' },
    })
    expect(models.map(({ requests }) => requests.length)).toEqual([2, 1])
    expect(await callsOf(chain, runId)).toEqual([
      { call: 1, model: 'main', state: 'free' },
      { call: 2, model: 'main', state: 'free' },
      { call: 3, model: 'local', state: 'spent' },
    ])
    const events = await visibleEvents(chain.runtime.store)
    expect(events.find(({ kind }) => kind === 'run.fallback')?.payload).toMatchObject({
      from: 'main',
      to: 'local',
      error: 'provider_failed',
    })
  })

  test('passes over at once a model that asks for a long wait', async () => {
    const models = [failing('main', down({ retryAfter: 30_000, code: 'provider_busy' })), answering('local')]
    const chain = await chainOf(models)
    await chain.work()
    await chain.say('hello')
    await chain.turns(1)
    expect(models.map(({ requests }) => requests.length)).toEqual([1, 1])
  })

  test('ends with the error of a wrong key and its remedy, and asks nobody else', async () => {
    const refused = down({ retry: 'never', code: 'provider_refused_key' })
    const models = [failing('main', refused), answering('local')]
    const chain = await chainOf(models)
    await chain.work()
    const { runId } = await chain.say('hello')
    const [placed] = await chain.turns(1)
    expect(placed?.turn.status).toBe('failed')
    expect(models.map(({ requests }) => requests.length)).toEqual([1, 0])
    const run = await chain.runtime.store.read((rows) => findRun(rows, runId ?? ''))
    expect(run?.error).toMatchObject({ code: 'provider_refused_key', remedy: 'wait' })
  })

  test('never answers for a model that was asked for by name', async () => {
    const clock = manualClock()
    const models = [failing('main'), answering('local')]
    const chain = await chainOf(models, { clock, limits: { maxTries: 2 } })
    await chain.work()
    const { runId } = await chain.say('hello', { model: 'main' })
    await chain.pass(clock, runId, 1)
    const [placed] = await chain.turns(1)
    expect(placed?.turn.status).toBe('failed')
    expect(models[1]?.requests).toEqual([])
  })

  test('gives up when the last has had all its attempts, with its error', async () => {
    const clock = manualClock()
    const models = [failing('main'), failing('second'), failing('third', down({ code: 'provider_unreachable' }))]
    const chain = await chainOf(models, { clock })
    await chain.work()
    const { runId } = await chain.say('hello')
    for (const tries of [1, 3, 5, 6]) await chain.pass(clock, runId, tries)
    const [placed] = await chain.turns(1)
    expect(placed?.turn.status).toBe('failed')
    expect(models.map(({ requests }) => requests.length)).toEqual([2, 2, 3])
    const run = await chain.runtime.store.read((rows) => findRun(rows, runId ?? ''))
    expect(run?.error?.code).toBe('provider_unreachable')
  })

  test('a run stays with the model that answered it, and the next run begins with the first again', async () => {
    const long = down({ retryAfter: 30_000 })
    const main = scriptedModel((_, n) => (n === 1 ? { fail: long } : { text: 'main is back' }), { name: 'main' })
    const local = scriptedModel((_, n) => (n < 3 ? { calls: [{ name: 'look' }] } : { text: 'done' }), { name: 'local' })
    const chain = await chainOf([main, local], { tools: [testTool('look', 'pure', () => 'seen')] })
    await chain.work()
    const { runId } = await chain.say('work')
    await chain.turns(1)
    expect([main.requests.length, local.requests.length]).toEqual([1, 3])
    const steps = await chain.runtime.store.read((rows) => readSteps(rows, runId ?? ''))
    const replies = steps.filter(({ kind }) => kind === 'reply').map(({ payload }) => (payload as { by: string }).by)
    expect(replies).toEqual(['local', 'local'])
    await chain.say('again')
    const turns = await chain.turns(2)
    expect(turns.at(-1)?.turn.model.actual).toBe('main')
  })

  test('whoever takes over after a crash asks the model that was to be asked, not the first again', async () => {
    const main = failing('main', down({ retryAfter: 30_000 }))
    const local = answering('local')
    const chain = await chainOf([main, local])
    const crashed = Promise.withResolvers<void>()
    // As a process that dies when it is about to ask the second model: nothing of the run is written any more.
    chain.engine.crash = (point) => {
      if (point !== 'model.before_request' || main.requests.length === 0) return
      chain.engine.crash = () => undefined
      crashed.resolve()
      throw new Stop('fenced', 'died')
    }
    await chain.work()
    const { runId } = await chain.say('hello')
    await crashed.promise
    const run = await chain.runtime.store.read((rows) => findRun(rows, runId ?? ''))
    expect(run).toMatchObject({ state: 'running', tries: 2 })
    chain.locks.kill(run?.workerId ?? '')
    await chain.work()
    const [placed] = await chain.turns(1)
    expect(placed?.turn).toMatchObject({ status: 'completed', model: { actual: 'local' } })
    expect([main.requests.length, local.requests.length]).toEqual([1, 1])
  })

  test('makes room for a fallback that has less of it', async () => {
    const long = down({ retryAfter: 30_000 })
    const main = scriptedModel((_, n) => (n === 2 ? { fail: long } : { text: 'x'.repeat(4000) }), { name: 'main' })
    const small = scriptedModel(() => ({ text: 'short' }), { name: 'small', window: 2_500 })
    const chain = await chainOf([main, small], { limits: { maxOutputTokens: 100 } })
    await chain.work()
    await chain.say('y'.repeat(5000))
    await chain.turns(1)
    await chain.say('and now?')
    const turns = await chain.turns(3)
    expect(turns.map(({ turn }) => turn.type)).toEqual(['normal', 'compaction', 'normal'])
    expect(small.requests[0]?.system).toContain('This conversation is too long')
  })

  test("one provider's trouble does not slow another's runs", async () => {
    const clock = manualClock()
    const main = failing('main', down({ retryAfter: 60_000 }))
    const local = answering('local')
    const chain = await chainOf([main, local], { clock, limits: { maxRunning: 2 } })
    chain.engine.fallbacks = []
    await chain.work()
    const troubled = await Promise.all(
      Array.from({ length: 8 }, (_, n) => chain.say('hello', { label: `troubled-${n}`, model: 'main' })),
    )
    await chain.until(async (rows) => {
      const runs = await Promise.all(troubled.map(({ runId }) => findRun(rows, runId ?? '')))
      return runs.every((run) => run?.state === 'waiting')
    })
    // Eight wait for a provider that is down; two slots are free, and time stands still.
    for (let n = 0; n < 4; n++) await chain.say('hello', { label: `fine-${n}`, model: 'local' })
    for (let n = 0; n < 4; n++) expect(await chain.turns(1, `fine-${n}`)).toHaveLength(1)
  })
})

async function callsOf({ runtime }: TestEngine, runId: string | null) {
  const rows = await runtime.store.read((reading) =>
    reading.all(
      reading.build.selectFrom('usage').select(['call', 'model', 'state']).where('run_id', '=', runId).orderBy('call'),
    ),
  )
  return rows.map(({ call, model, state }) => ({ call, model, state }))
}

function missing(name: string | null): never {
  throw new Error(`no model ${name}`)
}
