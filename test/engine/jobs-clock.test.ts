import { afterEach, describe, expect } from 'vitest'
import type { Millis } from '../../src/domain/clock.ts'
import type { Job } from '../../src/domain/jobs/job.ts'
import type { OutboxState } from '../../src/domain/jobs/outbox.ts'
import type { Label } from '../../src/domain/label.ts'
import { addJob, type JobDraft } from '../../src/engine/jobs/change-job.ts'
import { timedJobs } from '../../src/engine/jobs/due-jobs.ts'
import { timedMessages } from '../../src/engine/jobs/send.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { listFires } from '../../src/store/rows/jobs/fires.ts'
import { insertMessage, listMessages } from '../../src/store/rows/jobs/outbox.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'

const minute = 60_000
const year = 365 * 24 * 60 * minute
/** Minutes between two looks for what is due. */
const look = 1 / 6
const trusted: Label = { integrity: 'trusted', sources: [] }

describe.each(databases)('jobs of a worker on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  let clock: ReturnType<typeof settableClock>
  let startedAt: Millis
  /** Whether the receiver of messages takes them. */
  let isUp: boolean
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** A worker with all of its loops. Its lease outlasts the test: nothing here is about a silent process. */
  const start = async (model = scriptedModel(() => ({ text: 'done' }))) => {
    clock = settableClock()
    startedAt = clock.now()
    isUp = false
    under = await newEngine(database, model, { clock, limits: { leaseMs: 24 * 60 * minute } })
    const send = async () => (isUp ? undefined : { error: 'it answered with status 500' })
    const senders = { notify: send, file: send, webhook: send }
    const onError = (error: unknown) => under.troubles.push(error)
    const messages = timedMessages(under.engine, { senders, onError })
    await under.work({ dueSources: [timedJobs(under.engine), messages] })
    await rest()
  }
  const add = (draft: Partial<JobDraft> = {}) =>
    under.engine.store.write('job', (tx) =>
      addJob(
        tx,
        {
          ...{ name: 'tidy', schedule: { kind: 'every', every: 3 * minute } },
          ...{ folder, content: 'tidy up', payload: 'agentTurn', ...draft },
        },
        { principal: 'owner', label: trusted },
        clock.now(),
      ),
    )
  /** Resolves when no run is left and all loops of the worker sleep. */
  const rest = async () => {
    await clock.sleeping(4)
    await under.until(async (rows) => (await runsOf(rows, {})).every(({ finishedAt }) => finishedAt !== null))
    await clock.sleeping(4)
  }
  /** Lets time pass as it does: the loop that looks for what is due wakes every ten seconds. */
  const pass = async (duration: Millis) => {
    for (let passed = 0; passed < duration; passed += 10_000) {
      await clock.advance(10_000)
      await rest()
    }
  }
  /** Minutes after the start at which a job fired, by the clock on the wall, in this order. */
  const firedAt = async ({ id }: Job) => {
    const all = await under.engine.store.read((rows) => listFires(rows, { jobId: id, limit: 100 }))
    const fired = all.filter(({ outcome }) => outcome === 'fired').sort((a, b) => a.scheduledAt - b.scheduledAt)
    return fired.map(({ at }) => Math.round((at - startedAt) / 10_000) / 6)
  }

  test('go on at their interval when the clock was a year ahead and is set back', async () => {
    await start()
    const before = await add()
    await pass(4 * minute)
    clock.set(year)
    const ahead = await add()
    await pass(4 * minute)
    const aheadAt = year / minute
    expect([await firedAt(before), await firedAt(ahead)]).toEqual([[3, aheadAt + 4 + look, aheadAt + 6], [aheadAt + 7]])
    clock.set(-year)
    await pass(7 * minute)
    expect([await firedAt(before), await firedAt(ahead)]).toEqual([
      [3, aheadAt + 4 + look, aheadAt + 6, 9, 12, 15],
      [aheadAt + 7, 11 + look, 14 + look],
    ])
  })

  test('go on by the clock on the wall when it was set back while a fire was under way', async () => {
    const open = gate()
    await start(scriptedModel((_, n) => (n === 1 ? { text: 'late', gate: open } : { text: 'done' })))
    const job = await add({ schedule: { kind: 'cron', expression: '*/5 * * * *', timezone: 'UTC' } })
    clock.set(year)
    await clock.advance(10_000)
    await under.until(async (rows) => (await runsOf(rows, { state: 'running' })).length === 1)
    clock.set(-year)
    open.open()
    await pass(11 * minute)
    expect(await firedAt(job)).toEqual([year / minute + look, 5, 10])
  })

  test('send a message that waits for a time of a clock that was ahead', async () => {
    await start()
    clock.set(year)
    await under.engine.store.write('settle', (tx) =>
      insertMessage(tx, {
        ...{ kind: 'webhook', to: 'ops', key: 'k', title: 'x', content: 'x', label: trusted, principal: 'owner' },
        ...{ folder, jobId: null, runId: null, createdAt: clock.now() },
      }),
    )
    const reaches = (state: OutboxState, attempts: number) =>
      under.until(async (rows) => {
        const [message] = await listMessages(rows, { limit: 1 })
        return message?.state === state && message.attempts === attempts
      })
    await reaches('queued', 1)
    await rest()
    isUp = true
    clock.set(-year)
    await clock.advance(10_000)
    await reaches('sent', 2)
  })
})

/** A manual clock that can be set like the one on the wall, and that knows how many sleep. */
function settableClock() {
  const manual = manualClock()
  let off = 0
  let asleep = 0
  let changed = Promise.withResolvers<void>()
  const count = (by: number) => {
    asleep += by
    changed.resolve()
    changed = Promise.withResolvers()
  }
  return {
    ...manual,
    now: () => manual.now() + off,
    set(by: Millis) {
      off += by
    },
    async sleep(duration: Millis, signal?: AbortSignal) {
      count(1)
      await manual.sleep(duration, signal)
      count(-1)
    },
    async sleeping(loops: number) {
      while (asleep < loops) await changed.promise
    },
  }
}
