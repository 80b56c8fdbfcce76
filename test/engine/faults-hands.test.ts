import { afterEach, describe, expect } from 'vitest'
import type { WriteArea } from '../../src/domain/crash-points.ts'
import { StorageFailure } from '../../src/domain/errors.ts'
import { ModelFailure } from '../../src/domain/model.ts'
import { startWorker } from '../../src/engine/run/worker/worker.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import type { Store } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing.ts'
import { hurriedClock } from '../setup/hurried-clock.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'

const never = new AbortController().signal
const lost = new StorageFailure('commit_unknown', 'the connection was lost', 'look again', { retry: 'later' })
// What a process forgot it finds when it sweeps: that shall not take a second here.
const hurried = hurriedClock(10_000)

describe.each(databases)('what a process has in hand on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(() => under.remove())

  const echo = () => scriptedModel((_, n) => ({ text: `${n}` }))
  const allEnded = () => under.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)

  /** Meddles with the n-th write of an area; all others go their way. */
  const meddle = (area: WriteArea, n: number, write: (work: () => Promise<unknown>) => Promise<unknown>): Store => {
    const { store } = under.runtime
    let seen = 0
    const meddled: Store['write'] = (each, body) => {
      const work = () => store.write(each, body)
      return each === area && ++seen === n ? (write(work) as ReturnType<typeof work>) : work()
    }
    return { ...store, write: meddled }
  }

  test('F19 a claim that fails beside others keeps none of them from being begun', async () => {
    under = await newEngine(database, echo(), { clock: hurried })
    for (const label of ['a', 'b', 'c', 'd']) await under.say('hello', { label })
    under.engine.store = meddle('claim', 3, () => Promise.reject(lost))
    await under.work()
    await allEnded()
    expect(await under.runtime.store.read((rows) => runsOf(rows, {}))).toMatchObject(
      ['a', 'b', 'c', 'd'].map(() => ({ state: 'completed' })),
    )
  })

  test.each(['claim', 'submit', 'settle'] as const)(
    'F19 a run that a %s gave it is done, although nobody heard of that commit',
    async (area) => {
      const held = gate()
      const model = scriptedModel((_, n) => ({ text: `${n}`, ...(n === 1 && area === 'settle' && { gate: held }) }))
      under = await newEngine(database, model, { clock: hurried })
      under.engine.store = meddle(area, 1, (work) => work().then(() => Promise.reject(lost)))
      if (area === 'claim') await under.say('one')
      await under.work()
      if (area === 'submit') await expect(under.say('one')).rejects.toThrow(lost.message)
      if (area === 'settle') {
        await under.say('one')
        await held.reached
        await under.say('two')
        held.open()
      }
      await under.turns(area === 'settle' ? 2 : 1)
      await allEnded()
    },
  )

  test('F05 is not taken from its next claim by giving it back again, when nobody heard that it was given back', async () => {
    const thinking = gate()
    const model = scriptedModel((_, n) => ({ text: `${n}`, ...(n === 2 && { gate: thinking }) }))
    under = await newEngine(database, model, { clock: hurried })
    const releasedAgain = Promise.withResolvers<void>()
    const { store } = under.runtime
    let releases = 0
    let settles = 0
    const write: Store['write'] = async (area, body) => {
      if (area === 'settle' && ++settles === 1) throw lost
      const written = await store.write(area, body)
      if (area !== 'recover') return written
      if (++releases === 1) throw lost
      releasedAgain.resolve()
      return written
    }
    under.engine.store = { ...store, write }
    await under.work()
    const { runId } = await under.say('one')
    await thinking.reached
    await releasedAgain.promise
    thinking.open()
    await allEnded()
    expect(await store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({ state: 'completed', epoch: 2 })
    expect(model.requests).toHaveLength(2)
  })

  test('F05 is not begun any more when it was taken over before the process heard that it had it', async () => {
    const clock = manualClock()
    const model = echo()
    under = await newEngine(database, model, { clock, limits: { leaseMs: 100_000, timeoutMs: 10 ** 9 } })
    const held = gate()
    const store = meddle('submit', 1, async (work) => {
      const written = await work()
      await held.pass(never)
      return written
    })
    const { locks, troubles } = under
    const onError = (error: unknown) => void troubles.push(error)
    const slow = await startWorker({ ...under.engine, store }, { locks, pid: 1, onError })
    const submitted = slow.submit({ folder, label: 'main', content: 'hello' })
    await held.reached
    await under.work()
    // Silent for so long that it gives up its name, and with it what it had.
    await clock.advance(90_000)
    while ((await under.runtime.store.read((rows) => runsOf(rows, { live: true }))).length > 0) {
      await clock.advance(1000)
      for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate)
    }
    held.open()
    await submitted
    // More looks at the rows than it would take to begin it.
    for (let look = 0; look < 50; look++) await under.runtime.store.read((rows) => runsOf(rows, {}))
    await slow.stop()
    expect(model.requests).toHaveLength(1)
    expect(troubles).toEqual([])
  })

  test('F13 is given back when it stops, also what it gave back before and took again', async () => {
    const clock = manualClock()
    const [parked, thinking] = [gate(), gate()]
    const busy = new ModelFailure('provider_busy', 'busy', 'wait', { retry: 'later', retryAfter: 0 })
    const model = scriptedModel((_, n) => (n === 1 ? { fail: busy } : { gate: thinking, text: 'too late' }))
    under = await newEngine(database, model, { clock, limits: { leaseMs: 10 ** 9, timeoutMs: 10 ** 9 } })
    under.engine.store = meddle('park', 1, async (work) => {
      const written = await work()
      await parked.pass(never)
      return written
    })
    const worker = await under.work()
    const { runId } = await under.say('hello')
    await parked.reached
    let isThinking = false
    void thinking.reached.then(() => {
      isThinking = true
    })
    while (!isThinking) {
      await clock.advance(1000)
      await new Promise(setImmediate)
    }
    parked.open()
    await new Promise(setImmediate)
    await worker.stop()
    expect(await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))).toMatchObject({
      state: 'queued',
      workerId: null,
    })
    expect(under.troubles).toEqual([])
  })
})
