import { describe, expect, onTestFinished, test } from 'vitest'
import type { FireOutcome } from '../../src/domain/jobs/job.ts'
import type { Label } from '../../src/domain/label.ts'
import type { Outcome } from '../../src/domain/run.ts'
import { addJob, enableJob, type JobDraft } from '../../src/engine/jobs/change-job.ts'
import { viewJobWeek } from '../../src/engine/jobs/job-week.ts'
import { endFire, insertFire, listFires } from '../../src/store/rows/jobs/fires.ts'
import { manualClock, scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { folder, newEngine } from './engine.ts'

const hour = 3_600_000
const trusted: Label = { integrity: 'trusted', sources: [] }

describe.each(databases)('seven days of jobs on %s', (database) => {
  test('tell by hour what became of each time, and which times come, for one principal or for all', async () => {
    const clock = manualClock()
    const under = await newEngine(database, scriptedModel([]), { clock })
    onTestFinished(() => under.remove())
    const { store } = under.engine
    const now = Math.ceil(clock.now() / hour) * hour + hour / 2
    const add = (schedule: JobDraft['schedule'], principal: string) =>
      store.write('job', (tx) =>
        addJob(
          tx,
          { name: 'tidy', schedule, folder, content: 'tidy up', payload: 'agentTurn' },
          { principal, label: trusted },
          now,
        ),
      )
    const often = await add({ kind: 'every', every: 20_000 }, 'owner')
    const daily = await add({ kind: 'cron', expression: '0 8 * * *', timezone: 'UTC' }, 'user:mia')
    const off = await add({ kind: 'every', every: hour }, 'owner')
    await store.write('job', (tx) => enableJob(tx, off.id, false, now))
    const happened = async (jobId: number, at: number, outcome: FireOutcome, status?: Outcome) => {
      await store.write('job', (tx) =>
        insertFire(tx, {
          jobId,
          scheduledAt: at,
          outcome,
          at: now,
          ...(outcome === 'fired' ? { itemId: `i${at}` } : { reason: 'why' }),
        }),
      )
      const [fire] = (await store.read((rows) => listFires(rows, { jobId, limit: 100 }))).filter(
        ({ scheduledAt }) => scheduledAt === at,
      )
      if (status && fire) await store.write('job', (tx) => endFire(tx, fire, { status }, now))
    }
    await happened(often.id, now - 2 * hour, 'fired', 'completed')
    await happened(often.id, now - 2 * hour + 1, 'fired', 'completed')
    await happened(often.id, now - 2 * hour + 2, 'fired', 'timeout')
    await happened(often.id, now - hour, 'missed')
    await happened(often.id, now - 1, 'fired')
    await happened(often.id, now - 80 * hour, 'fired', 'failed')
    await happened(daily.id, now - 3 * hour, 'skipped')
    const week = await store.read((rows) => viewJobWeek(rows, {}, now))
    const hours = (id: number) => week.jobs.find(({ jobId }) => jobId === id)?.hours ?? []
    const iso = (at: number) => new Date(Math.floor(at / hour) * hour).toISOString()
    const none = { completed: 0, failed: 0, missed: 0, skipped: 0, running: 0, isDue: false }
    expect([week.from, week.to]).toEqual([iso(now - 72 * hour), iso(now + 96 * hour)])
    expect(hours(often.id).slice(0, 4)).toEqual([
      { ...none, at: iso(now - 2 * hour), completed: 2, failed: 1 },
      { ...none, at: iso(now - hour), missed: 1 },
      { ...none, at: iso(now), running: 1, isDue: true },
      { ...none, at: iso(now + hour), isDue: true },
    ])
    expect(hours(often.id)).toHaveLength(2 + 96)
    expect(hours(daily.id)[0]).toMatchObject({ skipped: 1, isDue: false })
    expect(hours(daily.id).filter(({ isDue }) => isDue)).toHaveLength(4)
    expect(hours(daily.id).at(-1)?.at).toMatch(/T08:00:00/)
    expect(hours(off.id)).toEqual([])
    const own = await store.read((rows) => viewJobWeek(rows, { principal: 'user:mia' }, now))
    expect(own.jobs).toEqual([{ jobId: daily.id, hours: hours(daily.id) }])
  })
})
