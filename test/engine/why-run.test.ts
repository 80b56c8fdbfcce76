import { afterEach, describe, expect } from 'vitest'
import { ModelFailure } from '../../src/domain/model.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { why } from '../../src/engine/why/why.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine, testTool } from './engine.ts'

const budget = { usd: 5, tokens: 1000 }

describe.each(databases)('why a run went as it did, on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })
  const ask = (reference: string) =>
    why({ store: under.engine.store, protect: nothingProtected, budget }, folder, reference)
  const notesOn = async (runId: string | null) =>
    (await ask(`run:${runId}`)).notes.map(({ topic, text }) => `${topic}: ${text}`)
  const spent = (calls: string) => expect.stringMatching(`^spent: ${calls}, \\d+ tokens, \\$`)

  test('a process that died in the middle is told, with the call of which nobody knows the end', async () => {
    const first = gate()
    const tool = testTool('act', 'unsafe', (_, signal) => first.pass(signal))
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'done' }
        : { calls: [{ name: 'act', input: { name: 'x' } }] },
    )
    under = await newEngine(database, model, { tools: [tool] })
    await under.work()
    const { runId } = await under.say('go')
    await first.reached
    const [run] = await under.runtime.store.read((rows) => runsOf(rows, { live: true }))
    under.locks.kill(run?.workerId ?? '')
    await under.work()
    await under.turns(1)
    first.open()
    expect(await notesOn(runId)).toEqual([
      expect.stringMatching(/^refused: act x may have happened: this call was interrupted/),
      'crashed: interrupted once, resumed from its journal; calls with unknown outcome: 1',
      spent('2 model calls'),
    ])
  })

  test('a model that does not answer, the pause after it, and who answered instead are told', async () => {
    const clock = manualClock()
    const down = new ModelFailure('provider_failed', 'Model is down.', 'wait', { retry: 'later' })
    const models = [
      scriptedModel(() => ({ fail: down }), { name: 'main' }),
      scriptedModel(() => ({ text: 'local answers' }), { name: 'local' }),
    ] as const
    // Time that a test moves on is not silence of the process.
    under = await newEngine(database, models[0], { clock, limits: { leaseMs: 3_600_000 } })
    under.engine.model = (name) => (name === 'local' ? models[1] : models[0])
    under.engine.fallbacks = ['local']
    await under.work()
    const { runId } = await under.say('hello')
    await under.pass(clock, runId, 1)
    await under.turns(1)
    expect(await notesOn(runId)).toEqual([
      expect.stringMatching(/^waited: paused \d+\.\ds for a retry: the provider failed$/),
      'retried: went on with local, since main failed: the provider failed',
      spent('3 model calls \\(2 failed\\)'),
    ])
    expect((await ask(`run:${runId}`)).chain[0]).toMatchObject({ model: 'local' })
  })

  test('a budget that was spent, and somebody who cancelled, are the end of it', async () => {
    const held = gate()
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.content === 'long' ? { gate: held, text: '' } : { text: 'hi' },
    )
    under = await newEngine(database, model, { limits: { perRequest: { usd: 5, tokens: 10 } } })
    await under.work()
    const { runId } = await under.say('too much')
    const [{ turn } = { turn: undefined }] = await under.turns(1)
    const told = await notesOn(runId)
    expect(told[0]).toMatch(
      /^ended: failed: the next call could exceed the budget of 10 tokens for this request → raise it: heddle config set/,
    )
    expect((await ask(`turn:${turn?.id}`)).notes[0]).toMatchObject({ topic: 'ended' })
    under.engine.limits.perRequest.tokens = 100_000
    const long = await under.say('long')
    await held.reached
    await cancel(under.engine, long.runId ?? '', 'not needed any more')
    await under.turns(2)
    expect(await notesOn(long.runId)).toContainEqual(expect.stringMatching(/^ended: cancelled: .*not needed any more/))
  })

  test('a question that nobody has answered yet ends the chain with its words', async () => {
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'hi' })),
    )
    const { runId, itemId } = await under.say('are you there?')
    const { chain } = await ask(`run:${runId}`)
    expect(chain).toMatchObject([
      { kind: 'run', id: runId, title: 'are you there?' },
      { kind: 'message', id: itemId, title: 'are you there?', how: 'you said' },
    ])
    expect(chain).toHaveLength(2)
  })
})
