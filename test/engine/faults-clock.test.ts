import { afterEach, describe, expect, test } from 'vitest'
import { idSource } from '../../src/domain/id.ts'
import { ModelFailure } from '../../src/domain/model.ts'
import { whenEnded } from '../../src/engine/run/request.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { timedRuns } from '../../src/engine/run/worker/timed-runs.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { systemRandom } from '../../src/system.ts'
import { type ManualClock, manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { claimNext } from './claim-next.ts'
import { folder, newEngine, type TestEngine, testTool } from './engine.ts'
import { family } from './family.ts'
import { startMortal } from './killable-engine.ts'

const second = 1000
const hour = 3600 * second
const jumps = [
  ['an hour ahead', hour],
  ['an hour back', -hour],
  ['a day ahead', 24 * hour],
  ['a day back', -24 * hour],
] as const

/** A manual clock that somebody sets: what it shows jumps, what it has counted does not. */
interface SettableClock extends ManualClock {
  set(by: number): void
  /** How often somebody has begun to sleep for a second: whoever sweeps has come round. */
  rounds: number
}

function settableClock(): SettableClock {
  const clock = manualClock()
  let off = 0
  const settable: SettableClock = {
    ...clock,
    rounds: 0,
    now: () => clock.now() + off,
    set(by) {
      off += by
    },
    sleep(duration, signal) {
      if (duration === second) settable.rounds++
      return clock.sleep(duration, signal)
    },
  }
  return settable
}

describe.each(databases)('F21 a clock that is set on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const run = async (runId: string | null) => under.runtime.store.read((rows) => findRun(rows, runId ?? ''))

  test.each(jumps)('%s lets nobody that lives expire', async (_, by) => {
    const clock = settableClock()
    const held = gate()
    under = await newEngine(database, scriptedModel([{ gate: held, text: 'unharmed' }]), { clock })
    await under.work()
    const { runId } = await under.say('hello')
    await held.reached
    clock.set(by)
    const other = await under.work()
    expect(other.recovered).toMatchObject({ resumed: [], quarantined: [] })
    held.open()
    const [placed] = await under.turns(1)
    expect(placed?.turn.responseMessage.content).toBe('unharmed')
    expect(await run(runId)).toMatchObject({ state: 'completed', epoch: 1, crashes: 0 })
  })

  test.each(jumps)('%s does not hide the dead', async (_, by) => {
    const clock = settableClock()
    const held = gate()
    under = await newEngine(
      database,
      scriptedModel((_, n) => (n === 1 ? { gate: held, text: '' } : { text: 'taken over' })),
      { clock },
    )
    const mortal = startMortal(under)
    const { runId } = await under.say('hello')
    await held.reached
    clock.set(by)
    mortal.kill()
    const other = await under.work()
    expect(other.recovered).toMatchObject({ resumed: [runId], quarantined: [] })
    expect((await under.turns(1))[0]?.turn.responseMessage.content).toBe('taken over')
  })

  test.each(jumps)('%s makes no pause before a retry longer than the longest', async (_, by) => {
    const clock = settableClock()
    const busy = new ModelFailure('provider_busy', 'busy', 'wait', { retry: 'later' })
    under = await newEngine(database, scriptedModel([{ fail: busy }, { text: 'at last' }]), {
      clock,
      limits: { leaseMs: 10 ** 9 },
    })
    await under.work()
    const { runId } = await under.say('hello')
    await under.until(async (rows) => (await findRun(rows, runId ?? ''))?.state === 'waiting')
    clock.set(by)
    expect(await within(clock, 61, async () => (await run(runId))?.state === 'completed')).toBe(true)
  })

  test.each(jumps)('%s does not count as running time', async (_, by) => {
    const clock = settableClock()
    const held = [gate(), gate()]
    const wait = testTool('wait', 'pure', (_, signal) => held[wait.calls.length - 1]?.pass(signal))
    const model = scriptedModel((_, n) => (n === 2 ? { text: 'in time' } : { calls: [{ name: 'wait' }] }))
    under = await newEngine(database, model, { clock, tools: [wait] })
    await under.work()
    await under.say('one', { timeoutMs: 5000 })
    await held[0]?.reached
    clock.set(by)
    await clock.advance(4999)
    held[0]?.open()
    expect((await under.turns(1))[0]?.turn).toMatchObject({ status: 'completed' })
    await under.say('two', { timeoutMs: 5000 })
    await held[1]?.reached
    clock.set(by)
    await clock.advance(5000)
    expect((await under.turns(2))[1]?.turn).toMatchObject({ status: 'timeout' })
  })

  test('past a deadline ends what nobody has taken; back before it does not', async () => {
    const clock = settableClock()
    under = await newEngine(database, scriptedModel([]), { clock, limits: { maxRunning: 0 } })
    const deadline = clock.now() + hour
    const { runId } = await under.say('hello', { deadline })
    clock.set(-hour)
    await clock.advance(hour)
    for (const source of timedRuns(under.engine)) await source.handle(clock.now())
    expect(await run(runId)).toMatchObject({ state: 'queued' })
    clock.set(24 * hour)
    for (const source of timedRuns(under.engine)) await source.handle(clock.now())
    expect(await run(runId)).toMatchObject({ state: 'timeout' })
  })

  test('back between two inputs does not turn them round, though another process takes the second', async () => {
    const clock = settableClock()
    under = await newEngine(database, scriptedModel([{ text: 'yes' }]), { clock })
    await under.say('one')
    clock.set(-hour)
    const restarted = { ...under.engine, newId: idSource(clock, systemRandom) }
    await submit(restarted, { folder, label: 'main', content: 'two' })
    await under.work()
    const [placed] = await under.turns(1)
    expect(placed?.turn.queryMessages.map(({ content }) => content)).toEqual(['one', 'two'])
  })

  test('back while children run: whoever waits for the answer still gets the last turn', async () => {
    const clock = settableClock()
    const held = gate()
    const { model, tools } = family(1, () => under, { hold: () => held })
    under = await newEngine(database, model, { clock, tools })
    const first = startMortal(under)
    const { itemId } = await under.say('go')
    await held.reached
    await under.turns(1)
    first.kill()
    clock.set(-hour)
    under.engine.newId = idSource(clock, systemRandom)
    await under.work()
    held.open()
    const request = await whenEnded(under.engine, itemId, new AbortController().signal)
    const turns = await under.turns(2)
    expect(request?.turnIds).toEqual(turns.map(({ turn }) => turn.id))
    expect(await under.runtime.store.read((rows) => runsOf(rows, { live: true }))).toEqual([])
  })
})

describe('F21 a clock that is set where owners beat by it', () => {
  let under: TestEngine
  afterEach(() => under.remove())

  test.each(jumps)(
    '%s does not keep one alive that stands still, nor kill it before its lease has passed',
    async (_, by) => {
      const clock = settableClock()
      under = await newEngine('sqlite', scriptedModel([{ text: 'taken over' }]), { clock })
      const { runId } = await under.say('hello')
      const owner = { id: under.engine.newId(), pid: 1, startedAt: clock.now(), beatAt: clock.monotonic() }
      under.locks.hold(owner.id)
      await under.runtime.store.write('owner', (tx) => insertOwner(tx, owner))
      await claimNext(under.engine, { workerId: owner.id })
      clock.set(by)
      await under.work()
      const state = async () => (await under.runtime.store.read((rows) => findRun(rows, runId ?? '')))?.state
      const seconds = under.engine.limits.leaseMs / 1000
      expect(await within(clock, seconds - 1, async () => (await state()) !== 'running')).toBe(false)
      expect(await within(clock, 3, async () => (await state()) === 'completed')).toBe(true)
    },
  )
})

/** Lets time pass, a sweep after another, until it is so or that many seconds have passed. */
async function within(clock: SettableClock, seconds: number, isSo: () => Promise<boolean>): Promise<boolean> {
  for (let passed = 0; passed < seconds && !(await isSo()); passed++) {
    const { rounds } = clock
    await clock.advance(second)
    while (clock.rounds === rounds) await new Promise(setImmediate)
    for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate)
  }
  // No time passes any more: what was woken has still to be done, which takes a database with other work its time.
  for (let turn = 0; turn < 5000 && !(await isSo()); turn++) await new Promise(setImmediate)
  return isSo()
}
