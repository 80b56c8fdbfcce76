import { afterEach, describe, expect, test } from 'vitest'
import type { Clock } from '../../src/domain/clock.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun, runsOf } from '../../src/store/runs.ts'
import type { Store } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

describe.each(databases)('recovery on %s', (database) => {
  let under: TestEngine | undefined
  afterEach(async () => {
    expect(under?.troubles ?? []).toEqual([])
    await under?.remove()
    under = undefined
  })

  const onlyOwner = async () => {
    const [run] = await (under as TestEngine).world.store.read((rows) => runsOf(rows, { live: true }))
    return run?.ownerId ?? ''
  }

  test.each([
    ['pure', 2, 'ok'],
    ['idempotent', 2, 'ok'],
    ['unsafe', 1, 'unknown'],
  ] as const)(
    'F05 a %s call whose owner dies is made %i times in all; the zombie’s end is refused',
    async (effect, times, status) => {
      const first = gate()
      const tool = testTool('act', effect, (_, signal) => (tool.calls.length === 1 ? first.pass(signal) : 'done'))
      const script = (n: number) => (n === 1 ? { calls: [{ name: 'act' }] } : { text: 'finished' })
      // A script of the conversation, not of the requests: the second owner goes on where the first one was.
      const model = scriptedModel((request) => script(request.messages.some(({ role }) => role === 'tool') ? 2 : 1))
      under = await newEngine(database, model, { tools: [tool] })
      await under.work()
      const { runId } = await under.say('go')
      await first.reached
      under.locks.kill(await onlyOwner())
      const { recovered } = await under.work()
      expect(recovered).toEqual({
        resumed: [runId],
        quarantined: [],
        unknownCalls: status === 'unknown' ? 1 : 0,
        doubledCalls: 0,
      })
      const [placed] = await under.turns(1)
      first.open()
      expect(placed?.turn).toMatchObject({ status: 'completed', toolCalls: [{ name: 'act', status }] })
      expect(tool.calls).toHaveLength(times)
      expect(await under.world.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
        state: 'completed',
        epoch: 2,
      })
      expect(await under.turns(1)).toHaveLength(1)
    },
  )

  test('F10 a run that takes three owners down is quarantined, and its neighbours go on', async () => {
    const gates = [gate(), gate(), gate()]
    let poisoned = 0
    const model = scriptedModel((request) =>
      request.messages.at(-1)?.content === 'poison'
        ? { gate: gates[poisoned++] ?? gate(), text: '' }
        : { text: 'fine' },
    )
    under = await newEngine(database, model)
    const { runId } = await under.say('poison', { label: 'bad' })
    for (const held of gates) {
      await under.work()
      await held.reached
      under.locks.kill(await onlyOwner())
    }
    await under.work()
    const [placed] = await under.turns(1, 'bad')
    expect(placed?.turn).toMatchObject({ status: 'failed', runId })
    expect(placed?.turn.responseMessage.content).toContain('3 processes died with this run')
    await under.say('hello', { label: 'good' })
    expect((await under.turns(1, 'good'))[0]?.turn.responseMessage.content).toBe('fine')
  })

  test('F13 a worker that stops gives its run back, which counts as no crash, and the next one goes on', async () => {
    const held = gate()
    const slow = testTool('slow', 'pure', (_, signal) => held.pass(signal))
    const model = scriptedModel((request) =>
      request.messages.some(({ role }) => role === 'tool') ? { text: 'finished' } : { calls: [{ name: 'slow' }] },
    )
    under = await newEngine(database, model, { tools: [slow] })
    const worker = await under.work()
    const { runId } = await under.say('go')
    await held.reached
    await worker.stop()
    expect(await under.world.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
      state: 'queued',
      crashes: 0,
    })
    held.open()
    await under.work()
    expect((await under.turns(1))[0]?.turn.status).toBe('completed')
    expect(model.requests).toHaveLength(2)
  })

  test('F20 a process whose rows do not answer stops its tools before others may think it dead', async () => {
    const clock = manualClock()
    const started = gate()
    let stopped = false
    const act = testTool('act', 'unsafe', async (_, signal) => {
      signal.addEventListener('abort', () => {
        stopped = true
      })
      await started.pass(signal)
    })
    under = await newEngine(database, scriptedModel([{ calls: [{ name: 'act' }] }]), { tools: [act], clock })
    const answering = gate()
    const { store } = under.engine
    let hangs = false
    const write: Store['write'] = async (area, body) => {
      if (hangs) await answering.pass(new AbortController().signal)
      return store.write(area, body)
    }
    under.engine.store = { ...store, write }
    await under.work()
    await under.say('go')
    await started.reached
    hangs = true
    const from = clock.now()
    while (!stopped && clock.now() < from + 20_000) {
      await clock.advance(100)
      await new Promise(setImmediate)
    }
    expect(clock.now() - from).toBeGreaterThan(1000)
    expect(clock.now() - from).toBeLessThan(10_000)
    answering.open()
  })

  test('the shortest lease has several beats: its owner never has to doubt that it lives', async () => {
    const clock = manualClock()
    const sleeps: number[] = []
    const watched: Clock = {
      ...clock,
      sleep(duration, signal) {
        sleeps.push(duration)
        return clock.sleep(duration, signal)
      },
    }
    under = await newEngine(database, scriptedModel([]), { limits: { leaseMs: 1000 }, clock: watched })
    await under.work()
    while (!sleeps.includes(250)) await new Promise(setImmediate)
    expect(Math.max(...sleeps)).toBeLessThanOrEqual(800)
  })

  test('what was found of the dead is told', async () => {
    const held = gate()
    under = await newEngine(
      database,
      scriptedModel((_, n) => (n === 1 ? { gate: held, text: '' } : { text: 'again' })),
    )
    await under.work()
    const { runId } = await under.say('go')
    await held.reached
    under.locks.kill(await onlyOwner())
    const { recovered } = await under.work()
    expect(recovered).toEqual({ resumed: [runId], quarantined: [], unknownCalls: 0, doubledCalls: 0 })
    await under.turns(1)
  })
})
