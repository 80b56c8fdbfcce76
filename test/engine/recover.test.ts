import { afterEach, describe, expect, test } from 'vitest'
import type { Clock } from '../../src/domain/clock.ts'
import type { Run } from '../../src/domain/run.ts'
import { recoverDead } from '../../src/engine/run/worker/recover.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
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
    const [run] = await (under as TestEngine).runtime.store.read((rows) => runsOf(rows, { live: true }))
    return run?.workerId ?? ''
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
        lost: 0,
        unknownCalls: status === 'unknown' ? 1 : 0,
        doubledCalls: 0,
      })
      const [placed] = await under.turns(1)
      first.open()
      expect(placed?.turn).toMatchObject({ status: 'completed', toolCalls: [{ name: 'act', status }] })
      expect(tool.calls).toHaveLength(times)
      expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
        state: 'completed',
        epoch: 2,
      })
      expect(await under.turns(1)).toHaveLength(1)
    },
  )

  /** A tool that keeps its owner busy until that is killed: as often as there are gates. */
  function deadly(times: number) {
    const gates = Array.from({ length: times }, gate)
    const tool = testTool('poison', 'pure', (_, signal) => gates[tool.calls.length - 1]?.pass(signal) ?? 'survived')
    const model = scriptedModel((request) => {
      if (request.messages.some(({ role }) => role === 'tool')) return { text: 'survived' }
      const isPoison = request.messages.at(-1)?.content === 'poison'
      return isPoison ? { calls: [{ name: 'poison' }] } : { text: 'fine' }
    })
    return { gates, tool, model }
  }

  test('F10 a run that takes three owners down is quarantined, and its neighbours go on', async () => {
    const { gates, tool, model } = deadly(3)
    under = await newEngine(database, model, { tools: [tool] })
    const { runId } = await under.say('poison', { label: 'bad' })
    for (const held of gates) {
      await under.work()
      await held.reached
      under.locks.kill(await onlyOwner())
    }
    await under.work()
    const [placed] = await under.turns(1, 'bad')
    expect(placed?.turn).toMatchObject({ status: 'failed', runId })
    expect(placed?.turn.responseMessage.content).toContain('3 processes in a row crashed on this run')
    await under.say('hello', { label: 'good' })
    expect((await under.turns(1, 'good'))[0]?.turn.responseMessage.content).toBe('fine')
  })

  test('deaths while it waits for its model do not count against a run, however many there are', async () => {
    const gates = Array.from({ length: 5 }, gate)
    const model = scriptedModel((_, n) => ({ text: 'at last', ...(gates[n - 1] && { gate: gates[n - 1] }) }))
    // No heartbeat: one that finds its owner removed would give its run back, since its process lives.
    under = await newEngine(database, model, { limits: { leaseMs: 10 ** 9 } })
    const { runId } = await under.say('think long')
    for (const held of gates) {
      await under.work()
      await held.reached
      under.locks.kill(await onlyOwner())
    }
    await under.work()
    expect((await under.turns(1))[0]?.turn.responseMessage.content).toBe('at last')
    expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
      ...{ state: 'completed', crashes: 5, crashesAlone: 0 },
    })
  })

  test('a reply that kills whoever reads it is told from waiting for one: the run is quarantined', async () => {
    const model = scriptedModel(() => ({ text: 'poison' }))
    under = await newEngine(database, model)
    const { store } = under.engine
    // Each process dies in the commit that would end the run: nothing of it is ever written.
    const settling = Array.from({ length: 4 }, gate)
    const commits = settling.values()
    const write: Store['write'] = async (area, body) => {
      if (area === 'settle') await commits.next().value?.pass(new AbortController().signal)
      return store.write(area, body)
    }
    under.engine.store = { ...store, write }
    const { runId } = await under.say('read this')
    // The first one may have waited for the model, for all that anybody knows.
    for (const { reached } of settling) {
      await under.work()
      await reached
      under.locks.kill(await onlyOwner())
    }
    const { recovered } = await under.work()
    expect(recovered.quarantined).toEqual([runId])
    for (const each of settling) each.open()
    expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
      ...{ state: 'failed', error: { code: 'quarantined' } },
    })
  })

  test('a death beside others makes a run suspect and does not count against it', async () => {
    const { gates, tool, model } = deadly(4)
    under = await newEngine(database, model, { tools: [tool] })
    const bad = await under.say('poison', { label: 'one' })
    await under.say('poison', { label: 'two' })
    await under.work()
    await Promise.all(gates.slice(0, 2).map(({ reached }) => reached))
    under.locks.kill(await onlyOwner())
    const read = () => (under as TestEngine).runtime.store.read((rows) => findRun(rows, bad.runId ?? ''))
    for (const alone of [0, 1]) {
      await under.work()
      await gates[alone + 2]?.reached
      expect(await read()).toMatchObject({ crashes: alone + 1, crashesAlone: alone })
      under.locks.kill(await onlyOwner())
    }
    await under.work()
    for (const label of ['one', 'two'])
      expect((await under.turns(1, label))[0]?.turn.responseMessage.content).toBe('survived')
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
    expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
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

  test('a process that loses its lease to a slow database and lives on counts as no crash of its runs', async () => {
    const clock = manualClock()
    const started = gate()
    let aborts = 0
    const look = testTool('look', 'pure', async (_, signal) => {
      signal.addEventListener('abort', () => aborts++)
      await started.pass(signal)
    })
    const model = scriptedModel((request) =>
      request.messages.some(({ role }) => role === 'tool') ? { text: 'finished' } : { calls: [{ name: 'look' }] },
    )
    under = await newEngine(database, model, { tools: [look], clock })
    const answering = gate()
    const { store } = under.engine
    let hangs = false
    const write: Store['write'] = async (area, body) => {
      if (hangs) await answering.pass(new AbortController().signal)
      return store.write(area, body)
    }
    under.engine.store = { ...store, write }
    await under.work()
    const { runId } = await under.say('go')
    await started.reached
    hangs = true
    while (aborts === 0) {
      await clock.advance(100)
      await new Promise(setImmediate)
    }
    hangs = false
    answering.open()
    const { runtime } = under
    const now = () => runtime.store.read((rows) => findRun(rows, runId ?? ''))
    const passUntil = async (isSo: (run: Run | undefined) => boolean) => {
      while (!isSo(await now())) {
        await clock.advance(100)
        await new Promise(setImmediate)
      }
    }
    await passUntil((run) => (run?.epoch ?? 0) > 1)
    expect(await now()).toMatchObject({ crashes: 0, crashesAlone: 0 })
    started.open()
    await passUntil((run) => run?.finishedAt !== null)
    expect(await now()).toMatchObject({ state: 'completed' })
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
    // The look for what is due has its own pace: ten seconds, as long as nothing waits.
    expect(Math.max(...sleeps.filter((duration) => duration !== 10_000))).toBeLessThanOrEqual(800)
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
    expect(recovered).toEqual({ resumed: [runId], quarantined: [], lost: 0, unknownCalls: 0, doubledCalls: 0 })
    await under.turns(1)
  })

  test('a run that still has its dead owner after the recovery is counted as lost, and found by the next one', async () => {
    const held = gate()
    const model = scriptedModel((_, n) => (n === 1 ? { gate: held, text: '' } : { text: 'again' }))
    under = await newEngine(database, model)
    await under.work()
    const { runId } = await under.say('go')
    await held.reached
    under.locks.kill(await onlyOwner())
    const { store } = under.runtime
    const write: Store['write'] = (area, body) =>
      area === 'recover' ? (Promise.resolve('nothing') as ReturnType<typeof body>) : store.write(area, body)
    under.engine.store = { ...store, write }
    const none = { resumed: [], quarantined: [], lost: 0, unknownCalls: 0, doubledCalls: 0 }
    expect(await recoverDead(under.engine, 'other', under.locks)).toEqual({ ...none, lost: 1 })
    under.engine.store = store
    expect(await recoverDead(under.engine, 'other', under.locks)).toEqual({ ...none, resumed: [runId] })
  })
})
