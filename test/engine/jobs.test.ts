import { afterEach, describe, expect } from 'vitest'
import type { Fire, Job } from '../../src/domain/jobs/job.ts'
import type { Label } from '../../src/domain/label.ts'
import { ModelFailure } from '../../src/domain/model.ts'
import { addJob, deleteJob, enableJob, type JobDraft } from '../../src/engine/jobs/change-job.ts'
import { timedJobs } from '../../src/engine/jobs/due-jobs.ts'
import { fireJob } from '../../src/engine/jobs/fire.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { openStore } from '../../src/store/open.ts'
import { listFires } from '../../src/store/rows/jobs/fires.ts'
import { findJob } from '../../src/store/rows/jobs/jobs.ts'
import { listMessages } from '../../src/store/rows/jobs/outbox.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { type ManualClock, manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'
import { family } from './family.ts'

const minute = 60_000
const trusted: Label = { integrity: 'trusted', sources: [] }

describe.each(databases)('jobs on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  let clock: ManualClock
  let off = 0
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** An engine whose clock tests may set; `off` is by how much it was. */
  const start = async (model = scriptedModel(() => ({ text: 'done' })), tools = {}) => {
    clock = manualClock()
    off = 0
    const settable = { ...clock, now: () => clock.now() + off }
    under = await newEngine(database, model, { clock: settable, ...tools })
  }
  const now = () => clock.now() + off
  const write = <T>(body: Parameters<typeof under.engine.store.write<T>>[1]) => under.engine.store.write('job', body)
  const add = (draft: Partial<JobDraft> = {}) =>
    write((tx) =>
      addJob(
        tx,
        {
          ...{ name: 'tidy', schedule: { kind: 'every', every: 10 * minute } },
          ...{ folder, content: 'tidy up', payload: 'agentTurn', ...draft },
        },
        { principal: 'owner', label: trusted },
        now(),
      ),
    )
  const fires = async (jobId: number) =>
    (await under.engine.store.read((rows) => listFires(rows, { jobId, limit: 100 }))).reverse()
  const job = (id: number) => under.engine.store.read((rows) => findJob(rows, id)) as Promise<Job>
  const due = () => timedJobs(under.engine).handle(now())
  /** Waits until a job's last fire is over. */
  const over = (jobId: number, count = 1) =>
    under.until(async (rows) => {
      const all = await listFires(rows, { jobId, limit: 100 })
      return all.filter(({ status }) => status !== null).length >= count && all.reverse()
    })
  const running = (count: number) =>
    under.until(async (rows) => (await runsOf(rows, { state: 'running' })).length === count)
  const at = (list: Fire[], origin: number) => list.map((fire) => [fire.outcome, (fire.scheduledAt - origin) / minute])

  test('fire at their time, in a session of their own that begins anew each time', async () => {
    const model = scriptedModel((_, n) => ({ text: `answer ${n}` }))
    await start(model)
    const origin = now()
    const { id } = await add()
    await under.work({ dueSources: [timedJobs(under.engine)] })
    for (let fire = 1; fire <= 2; fire++) {
      for (let second = 0; second < 60; second++) await clock.advance(10_000)
      await over(id, fire)
    }
    expect(at(await fires(id), origin)).toEqual([
      ['fired', 10],
      ['fired', 20],
    ])
    expect(model.requests.map(({ messages }) => messages.map(({ content }) => content))).toEqual([
      ['tidy up'],
      ['tidy up'],
    ])
    const [session] = await under.engine.store.read((rows) => findSessions(rows, { label: `cron:${id}` }))
    expect(session).toMatchObject({ kind: 'cron', folder })
    const runs = await under.engine.store.read((rows) => runsOf(rows, {}))
    expect(runs.map(({ kind, via, lane, principal }) => [kind, via, lane, principal])).toEqual([
      ['cron', 'cron', 'cron', 'owner'],
      ['cron', 'cron', 'cron', 'owner'],
    ])
    const [turn] = await under.turns(1, `cron:${id}`)
    expect(turn?.turn.queryMessages).toMatchObject([{ content: 'tidy up', source: 'cron' }])
    expect(await job(id)).toMatchObject({ lastStatus: 'completed', failures: 0, nextAt: origin + 30 * minute })
  })

  test('fire once for each time, however many processes look at one database', async () => {
    await start()
    const { id } = await add()
    const other = {
      ...under.engine,
      store: await openStore(under.runtime.place, { ...context, clock: under.engine.clock }),
    }
    try {
      await under.work()
      for (let fire = 1; fire <= 4; fire++) {
        await clock.advance(10 * minute)
        const handle = (engine: typeof other) => timedJobs(engine).handle(now())
        await Promise.all([handle(under.engine), handle(other), handle(under.engine), handle(other)])
        // The hint of the other process does not reach this one: its sweep does.
        await clock.advance(1000)
        await over(id, fire)
      }
      expect((await fires(id)).map(({ outcome, status }) => [outcome, status])).toEqual(
        Array(4).fill(['fired', 'completed']),
      )
      expect(await under.engine.store.read((rows) => runsOf(rows, {}))).toHaveLength(4)
    } finally {
      await other.store.close()
    }
  })

  test.each([
    [
      'one catch-up, for the latest',
      'once',
      [
        ['missed', 10],
        ['fired', 40],
      ],
    ],
    [
      'nothing',
      'skip',
      [
        ['missed', 10],
        ['missed', 40],
      ],
    ],
  ] as const)('that missed their times make up for them by %s', async (_, missed, expected) => {
    await start()
    const origin = now()
    const { id } = await add({ missed })
    await under.work()
    await clock.advance(45 * minute)
    await due()
    if (missed === 'once') await over(id)
    expect(at(await fires(id), origin)).toEqual(expected)
    expect((await job(id)).nextAt).toBe(origin + 50 * minute)
  })

  test('fire for ever later times, whatever the clock is set to', async () => {
    await start()
    const origin = now()
    const { id } = await add()
    await under.work()
    await clock.advance(10 * minute)
    await due()
    await over(id, 1)
    // Set back by less than an interval: the time that was handled does not come again.
    off -= 8 * minute
    await due()
    expect((await job(id)).nextAt).toBe(origin + 20 * minute)
    off += 24 * 60 * minute
    await due()
    await over(id, 2)
    off -= 24 * 60 * minute
    const byHand = await fireJob(under.engine, await job(id), { kind: 'manual' })
    expect(byHand).toMatchObject({ outcome: 'fired', scheduledAt: origin + 24 * 60 * minute + 1 })
    const fired = (await fires(id)).filter(({ outcome }) => outcome === 'fired')
    const times = fired.map(({ scheduledAt }) => scheduledAt).sort((a, b) => a - b)
    expect(times).toEqual([origin + 10 * minute, origin + 24 * 60 * minute, origin + 24 * 60 * minute + 1])
  })

  test('go on at their interval when the clock was a year ahead and is set back', async () => {
    await start()
    const origin = now()
    const year = 365 * 24 * 60 * minute
    const { id } = await add()
    off += year
    const { id: madeAhead } = await add()
    await under.work()
    const source = timedJobs(under.engine)
    const look = async () => {
      const first = await under.engine.store.read((rows) => source.next(rows, now()))
      if (first !== undefined && first <= now()) await source.handle(now())
    }
    await look()
    await over(id, 1)
    off -= year
    await look()
    for (let fire = 1; fire <= 2; fire++) {
      await clock.advance(10 * minute)
      await look()
      await over(id, 1 + fire)
      await over(madeAhead, fire)
    }
    const all = (await fires(id)).sort((a, b) => a.scheduledAt - b.scheduledAt)
    const fired = all.filter(({ outcome }) => outcome === 'fired')
    expect(fired.map(({ at }) => Math.floor((at - origin) / minute)).slice(1)).toEqual([10, 20])
    expect((await job(id)).nextAt).toBe(origin + 30 * minute)
  })

  test('that are changed or enabled again while the clock shows an earlier time still fire for later times', async () => {
    await start()
    const { id } = await add()
    await under.work()
    await clock.advance(10 * minute)
    await due()
    await over(id, 1)
    off -= 20 * minute
    await write((tx) => enableJob(tx, id, false, now()))
    await write((tx) => enableJob(tx, id, true, now()))
    off += 20 * minute
    await due()
    const times = (await over(id, 2)).map(({ scheduledAt }) => scheduledAt).sort((a, b) => a - b)
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBe(1)
  })

  test('skip a time while the run of their last fire works', async () => {
    const open = gate()
    await start(scriptedModel(() => ({ text: 'done', gate: open })))
    const { id } = await add()
    await under.work()
    for (let fire = 1; fire <= 2; fire++) {
      await clock.advance(10 * minute)
      await due()
      // What is claimed at the end of a lease is given back by a sweep, for which no time passes here.
      await running(1)
    }
    open.open()
    await over(id)
    expect((await fires(id)).map(({ outcome, reason, status }) => [outcome, reason, status])).toEqual([
      ['fired', null, 'completed'],
      ['skipped', 'its last run has not finished', null],
    ])
  })

  test('skip a time while their last fire works, its children included; three children make one delivery', async () => {
    const open = gate()
    const { model, tools } = family(3, () => under, { hold: () => open })
    await start(model, { tools })
    const { id } = await add({ content: 'go', deliver: [{ kind: 'session', to: 'main' }] })
    await under.work()
    await clock.advance(10 * minute)
    await due()
    await running(3)
    await clock.advance(10 * minute)
    await due()
    expect((await fires(id)).map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['fired', null],
      ['skipped', 'its last run has not finished'],
    ])
    expect(await under.engine.store.read((rows) => listMessages(rows, { limit: 10 }))).toEqual([])
    open.open()
    await over(id)
    const sent = await under.engine.store.read((rows) => listMessages(rows, { limit: 10 }))
    expect(sent).toMatchObject([{ kind: 'session', to: 'main', title: '[Cron: tidy] Complete.', state: 'queued' }])
    expect(sent[0]?.content).toContain('heard: all started agents have ended')
    await clock.advance(10 * minute)
    await due()
    await over(id, 2)
    expect((await fires(id)).map(({ outcome }) => outcome)).toEqual(['fired', 'skipped', 'fired'])
  })

  test('go to a session that goes on: they wait for the run under way, with their source on the message', async () => {
    const open = gate()
    await start(scriptedModel((_, n) => (n === 1 ? { text: 'hello', gate: open } : { text: 'I see' })))
    const { id } = await add({ payload: 'systemEvent', content: 'the build is done' })
    await under.work()
    await under.say('hi')
    await clock.advance(10 * minute)
    await due()
    open.open()
    const turns = await under.turns(2)
    expect(turns[1]?.turn.queryMessages).toMatchObject([{ content: '[Cron: tidy] the build is done', source: 'cron' }])
    await over(id)
    expect((await fires(id))[0]).toMatchObject({ status: 'completed', rootRunId: turns[1]?.turn.runId })
  })

  test('that are one-shots are disabled or removed after they have completed, and kept when they failed', async () => {
    const broken = new ModelFailure('bad_request', 'no', 'change it', { retry: 'never' })
    await start(
      scriptedModel(({ messages }) => (messages.at(-1)?.content === 'fail' ? { fail: broken } : { text: 'done' })),
    )
    const schedule = { kind: 'at', at: now() + 5 * minute } as const
    const [kept, removed, failed] = await Promise.all([
      add({ schedule }),
      add({ schedule, cleanup: 'delete' }),
      add({ schedule, content: 'fail', cleanup: 'delete' }),
    ])
    await under.work()
    await clock.advance(5 * minute)
    await due()
    for (const { id } of [kept, removed, failed]) await over(id)
    expect(await job(kept.id)).toMatchObject({ isEnabled: false, nextAt: null, lastStatus: 'completed' })
    expect(await job(removed.id)).toBe(undefined)
    expect(await job(failed.id)).toMatchObject({ isEnabled: true, nextAt: null, lastStatus: 'failed', failures: 1 })
  })

  test('are disabled after so many failures in a row, with a notice', async () => {
    const broken = new ModelFailure('bad_request', 'no', 'change it', { retry: 'never' })
    await start(scriptedModel(() => ({ fail: broken })))
    const { id } = await add({ maxFailures: 2 })
    await under.work()
    for (let fire = 1; fire <= 2; fire++) {
      await clock.advance(10 * minute)
      await due()
      await over(id, fire)
    }
    expect(await job(id)).toMatchObject({
      isEnabled: false,
      nextAt: null,
      disabledReason: 'it failed 2 times in a row',
    })
    expect(await under.engine.store.read((rows) => listMessages(rows, { limit: 10 }))).toMatchObject([
      { kind: 'session', to: 'main', title: expect.stringContaining(`Job ${id} "tidy" was disabled`) },
    ])
    await clock.advance(10 * minute)
    await due()
    expect(await fires(id)).toHaveLength(2)
    expect(await write((tx) => enableJob(tx, id, true, now()))).toMatchObject({ failures: 0, disabledReason: null })
  })

  test('that were changed or removed since they were read do not fire', async () => {
    await start()
    const seen = await add()
    await clock.advance(10 * minute)
    await write((tx) => enableJob(tx, seen.id, false, now()))
    expect(await fireJob(under.engine, seen, { kind: 'due' })).toBe(undefined)
    await write((tx) => deleteJob(tx, seen.id, now()))
    expect(await fireJob(under.engine, seen, { kind: 'manual' })).toBe(undefined)
    expect(await fires(seen.id)).toEqual([])
  })

  test('of a principal that was removed fail, and say why', async () => {
    await start()
    const made = await write((tx) =>
      addJob(
        tx,
        {
          name: 'mia',
          schedule: { kind: 'every', every: minute },
          folder,
          content: 'x',
          payload: 'agentTurn',
          maxFailures: 1,
        },
        { principal: 'user:mia', label: trusted },
        now(),
      ),
    )
    await clock.advance(minute)
    await due()
    expect(await fires(made.id)).toMatchObject([
      { outcome: 'skipped', reason: 'user:mia is no longer allowed to have jobs' },
    ])
    expect(await job(made.id)).toMatchObject({ isEnabled: false, nextAt: null, failures: 1 })
  })

  test('are as little trusted as what led to them', async () => {
    await start()
    const label: Label = { integrity: 'untrusted', sources: ['url:http://example.com'] }
    const made = await write((tx) =>
      addJob(
        tx,
        { name: 'x', schedule: { kind: 'every', every: minute }, folder, content: 'look', payload: 'agentTurn' },
        { principal: 'owner', label },
        now(),
      ),
    )
    await under.work()
    await clock.advance(minute)
    await due()
    await over(made.id)
    const [turn] = await under.turns(1, `cron:${made.id}`)
    expect(turn?.turn.label).toEqual(label)
  })

  test('begin each fire at a turn, if they are told to', async () => {
    await start(scriptedModel((_, n) => ({ text: `answer ${n}` })))
    await under.work()
    await under.say('the thread')
    const [from] = await under.turns(1)
    const { id } = await add({ session: { kind: 'isolated', fromTurn: `turn:${from?.turn.id}` } })
    for (let fire = 1; fire <= 2; fire++) {
      await clock.advance(10 * minute)
      await due()
      await over(id, fire)
    }
    const path = await under.turns(2, `cron:${id}`)
    expect(path.map(({ turn }) => turn.responseMessage.content)).toEqual(['answer 1', 'answer 3'])
    expect(await under.turns(1)).toHaveLength(1)
  })
})
