import { afterEach, describe, expect, test } from 'vitest'
import type { Model } from '../../src/domain/model.ts'
import { listRuns } from '../../src/engine/views/runs.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { readEvents } from '../../src/store/rows/events.ts'
import { insertOwner, removeOwner } from '../../src/store/rows/owners.ts'
import { parkRun } from '../../src/store/rows/released-runs.ts'
import { assignRun, findRun, runsOf } from '../../src/store/rows/runs.ts'
import { manualClock } from '../../src/testing.ts'
import { isLong } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'
import { claimNext } from './claim-next.ts'
import { newEngine, type TestEngine } from './engine.ts'

const patience = { timeout: 600_000 }

describe.each(databases)('a storm on %s', patience, (database) => {
  const test = testOn(database)
  // On a server each of them takes five times as long.
  const many = isLong ? 1000 : { sqlite: 300, postgres: 60 }[database]
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** A few at a time: who waits for a connection is sent away after some seconds, and a busy machine needs them. */
  const sayTo = async (count: number) => {
    const said: Awaited<ReturnType<TestEngine['say']>>[] = []
    while (said.length < count) {
      const some = Array.from({ length: Math.min(50, count - said.length) }, (_, n) => said.length + n)
      said.push(...(await Promise.all(some.map((n) => under.say('hello', { label: `s${n}` })))))
    }
    return said
  }

  const runs = (filter = {}) => under.runtime.store.read((rows) => runsOf(rows, filter))

  const left = (count: number) => leftIn(under, count)

  test(`F11 a boot with ${many.toLocaleString('en')} runs asks no more at once than it may, oldest first, and answers people meanwhile`, async () => {
    const { model, most, reached } = counting(many / 2)
    under = await newEngine(database, model, { limits: { maxRunning: 3 } })
    const accepted = await sayTo(many)
    await under.work()
    await reached
    const asked = process.cpuUsage()
    const { runId } = await under.say('is anybody there?', { label: 'people', priority: 1 })
    await under.runtime.store.read((rows) => listRuns(rows, under.engine.clock.now()))
    // Processor time, which others cannot spend.
    const { user, system } = process.cpuUsage(asked)
    await left(0)
    expect((user + system) / 1000).toBeLessThan(1000)
    expect(most()).toBeLessThanOrEqual(3)
    expect((await runs()).filter(({ state }) => state === 'completed')).toHaveLength(many + 1)
    const begun = await started(many + 1)
    expect(begun.filter((id) => id !== runId)).toEqual(accepted.map((each) => each.runId))
    // Whoever comes in the middle of it with a higher priority does not wait for the rest.
    expect(begun.indexOf(runId ?? '')).toBeLessThan(many)
  })

  const abandoned = isLong ? 200 : { sqlite: 100, postgres: 20 }[database]
  test(`River #1258: ${abandoned} runs that an owner without a trace left running are freed, and each is done once`, async () => {
    const { model, most } = counting(abandoned)
    under = await newEngine(database, model, { limits: { maxRunning: abandoned } })
    await sayTo(abandoned)
    const owner = {
      id: under.engine.newId(),
      pid: 1,
      startedAt: under.engine.clock.now(),
      beatAt: under.engine.clock.monotonic(),
    }
    await under.runtime.store.write('owner', (tx) => insertOwner(tx, owner))
    for (let n = 0; n < abandoned; n++) await claimNext(under.engine, { workerId: owner.id })
    await under.runtime.store.write('owner', (tx) => removeOwner(tx, owner.id))
    expect(await runs({ state: 'running' })).toHaveLength(abandoned)
    under.engine.limits.maxRunning = 3
    const { recovered } = await under.work()
    expect(recovered.resumed).toHaveLength(abandoned)
    await left(0)
    expect((await runs()).filter(({ state, epoch }) => state === 'completed' && epoch === 2)).toHaveLength(abandoned)
    // Each of them may be the one that took their owner down: they go one at a time.
    expect(most()).toBe(1)
  })

  /** In the order in which they began. Events are shown when nothing older can come any more, which may take a while. */
  const started = async (count: number) => {
    let begun: string[] = []
    await untilSo(async () => {
      const events = await under.runtime.store.read((rows) => readEvents(rows, undefined, 10 * many))
      begun = events.filter(({ kind }) => kind === 'run.started').map(({ subject }) => subject.replace('run:', ''))
      return begun.length >= count
    })
    return begun
  }
})

// One disk that all wait for: elsewhere commits do not queue behind each other.
test('F11 a hundred runs that are due at once on a slow disk cost no other run its owner', async () => {
  const clock = manualClock()
  const held = gate()
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.content === 'mind me' ? { gate: held, text: 'undisturbed' } : { text: 'yes' },
  )
  const under = await newEngine('sqlite', model, { clock, limits: { timeoutMs: 10 ** 9 } })
  await Promise.all(Array.from({ length: 100 }, (_, n) => under.say('hello', { label: `s${n}` })))
  await under.runtime.store.write('park', async (tx) => {
    for (const run of await runsOf(tx, { live: true })) {
      await assignRun(tx, run, 'a process that is gone')
      await parkRun(tx, run.id, { waitingFor: 'retry', wakeAt: clock.now() + 5000, tries: 1 })
    }
  })
  // Each commit takes a tenth of a second, however many share it.
  const { store } = under.runtime
  let committing: Promise<void> | undefined
  let beat = Promise.withResolvers<void>()
  const write: typeof store.write = async (area, body) => {
    const written = await store.write(area, body)
    committing ??= clock.advance(100).finally(() => {
      committing = undefined
    })
    await committing
    if (area === 'owner') beat.resolve()
    return written
  }
  under.engine.store = { ...store, write }
  const { runId } = await under.say('mind me')
  await under.work()
  await held.reached
  await clock.advance(5000)
  await leftIn(under, 1)
  beat = Promise.withResolvers()
  await clock.advance(1000)
  await beat.promise
  held.open()
  await leftIn(under, 0)
  const run = await store.read((rows) => findRun(rows, runId ?? ''))
  await under.remove()
  expect(run).toMatchObject({ state: 'completed', epoch: 1 })
})

/** Resolves when no more than so many runs are left; asks for no more rows than it needs. */
const leftIn = (of: TestEngine, count: number) =>
  of.until(async (rows) => {
    const live = rows.build
      .selectFrom('runs')
      .select('id')
      .where('finished_at', 'is', null)
      .limit(count + 1)
    return (await rows.all(live)).length <= count
  })

/** A model that knows how many asked it at once, and tells when so many have asked. */
function counting(count: number): { model: Model; most(): number; reached: Promise<void> } {
  const inner = scriptedModel(() => ({ text: 'yes' }))
  const arrival = Promise.withResolvers<void>()
  let [now, most, asked] = [0, 0, 0]
  return {
    most: () => most,
    reached: arrival.promise,
    model: {
      ...inner,
      async reply(request, onDelta) {
        most = Math.max(most, ++now)
        if (++asked === count) arrival.resolve()
        await new Promise(setImmediate)
        now--
        return inner.reply(request, onDelta)
      },
    },
  }
}
