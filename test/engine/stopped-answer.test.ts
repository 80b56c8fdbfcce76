import { afterEach, describe, expect } from 'vitest'
import { ModelFailure } from '../../src/domain/model.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { gate } from '../../src/models/gate.ts'
import { type ScriptedReply, scriptedModel } from '../../src/models/scripted.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { spendingBy } from '../../src/store/rows/usage.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine } from './engine.ts'

const price = { input: 15, output: 75 }
const spoken = 'The port is 8080, and the'

describe.each(databases)('an answer that was stopped in its middle on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** A model that says the half and then what the test lets it; answers plainly from the second question on. */
  async function speaking(rest: Partial<ScriptedReply> = {}) {
    const held = gate()
    const pieces = rest.fail ? [spoken] : [spoken, held, ' rest of it']
    const model = scriptedModel((_, n) => (n === 1 ? { pieces, ...rest } : { text: 'well' }), { price })
    const clock = manualClock()
    under = await newEngine(database, model, { clock })
    const signs: string[] = []
    under.engine.live = ({ kind }) => void signs.push(kind)
    const worker = await under.work()
    return { held, model, signs, clock, worker }
  }

  const costOf = (runId: string | null) => under.runtime.store.read((rows) => spendingBy(rows, { runId: runId ?? '' }))

  test('by a cancel stays in its turn, marked as stopped, and the next turn is told of it', async () => {
    const { held, model, signs } = await speaking()
    const { runId } = await under.say('which port?')
    await held.reached
    await cancel(under.engine, runId ?? '', 'stopped by Ctrl-C')
    const [placed] = await under.turns(1)
    const content = `${spoken}\n\nCancelled: stopped by Ctrl-C`
    expect(placed?.turn).toMatchObject({ status: 'cancelled', responseMessage: { content } })
    expect(signs).not.toContain('reset')
    await under.say('go on')
    await under.turns(2)
    expect(model.requests[1]?.messages).toContainEqual({ role: 'assistant', content, calls: [] })
  })

  test('by an interrupt stays in its turn', async () => {
    const { held } = await speaking()
    await under.say('which port?')
    await held.reached
    await under.say('never mind', { kind: 'interrupt' })
    const [placed] = await under.turns(2)
    expect(placed?.turn.responseMessage.content).toContain(spoken)
    expect(placed?.turn.status).toBe('cancelled')
  })

  test('by its time limit stays in its turn', async () => {
    const { held, clock } = await speaking()
    await under.say('which port?', { timeoutMs: 5000 })
    await held.reached
    await clock.advance(5000)
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({
      status: 'timeout',
      responseMessage: { content: expect.stringMatching(`^${spoken}\n\nTimed out: `) },
    })
  })

  test('by a failure that ends the run stays in its turn', async () => {
    const fail = new ModelFailure('stream_cut', 'it broke off', 'ask again', { retry: 'never', mayHaveCost: true })
    await speaking({ fail })
    await under.say('which port?')
    const [placed] = await under.turns(1)
    expect(placed?.turn.responseMessage.content).toBe(`${spoken}\n\nFailed: it broke off. Ask again`)
  })

  test('costs what was sent and seen, as an estimate, and nothing of what was set aside besides', async () => {
    const { held } = await speaking()
    const { runId } = await under.say('which port?')
    await held.reached
    expect(await costOf(runId)).toMatchObject({ calls: 0, costUsd: 0, estimatedUsd: 0, lostUsd: 0 })
    expect((await costOf(runId)).reservedUsd).toBeGreaterThan(0.075)
    await cancel(under.engine, runId ?? '', 'enough')
    const [placed] = await under.turns(1)
    const spent = await costOf(runId)
    const estimatedOutputTokens = Math.ceil(spoken.length / 4)
    expect(spent).toMatchObject({ calls: 1, inputTokens: 0, outputTokens: 0, costUsd: 0, lostUsd: 0, reservedUsd: 0 })
    expect(spent).toMatchObject({ estimatedOutputTokens })
    expect(spent.estimatedInputTokens).toBeGreaterThan(0)
    expect(spent.estimatedUsd).toBeCloseTo(
      (spent.estimatedInputTokens * price.input + estimatedOutputTokens * price.output) / 1_000_000,
    )
    expect(placed?.turn.usage).toMatchObject({ costUsd: 0, estimatedOutputTokens, estimatedUsd: spent.estimatedUsd })
  })

  test('by an orderly end of its process costs the same, and is begun anew by the next', async () => {
    const { held, worker, signs } = await speaking()
    const { runId } = await under.say('which port?')
    await held.reached
    await worker.stop()
    expect(await costOf(runId)).toMatchObject({
      ...{ calls: 1, costUsd: 0, lostUsd: 0, reservedUsd: 0 },
      estimatedOutputTokens: Math.ceil(spoken.length / 4),
    })
    expect(signs.at(-1)).toBe('reset')
    await under.work()
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({ status: 'completed', responseMessage: { content: 'well' } })
  })

  test('before anything was sent costs nothing', async () => {
    const held = gate()
    const model = scriptedModel([{ text: 'hello' }], { price })
    under = await newEngine(database, model)
    // It is claimed, with its first call paid for, and stopped before that is made.
    under.engine.prompt = async () => {
      await held.pass(new AbortController().signal)
      return 'You are brief.'
    }
    const worker = await under.work()
    const { runId } = await under.say('hello')
    await held.reached
    expect((await costOf(runId)).reservedUsd).toBeGreaterThan(0)
    const stopping = worker.stop()
    held.open()
    await stopping
    expect(model.requests).toEqual([])
    expect(await costOf(runId)).toMatchObject({ calls: 0, costUsd: 0, estimatedUsd: 0, lostUsd: 0, reservedUsd: 0 })
    expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({ state: 'queued' })
  })
})
