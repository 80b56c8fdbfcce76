import type { Millis } from '../../domain/clock.ts'
import type { Job } from '../../domain/jobs/job.ts'
import { timeGrace, timeToAwait } from '../../domain/jobs/schedule.ts'
import { dueJobs, jobsAheadOf, lockJob, nextJobTime, updateJob } from '../../store/rows/jobs/jobs.ts'
import type { DueSource } from '../run/worker/due.ts'
import { batches } from '../run/worker/recover.ts'
import type { Engine } from '../runtime.ts'
import { areJobsHeld, fireJob } from './fire.ts'

/** Max jobs of one look. */
const maxDue = 500

/** Pause between two looks for jobs that are ahead of the clock, unless it shows an earlier time than at the last one. */
const clockCheckEvery: Millis = 10_000

/** Jobs whose time has come. One sleep serves all of them. */
export function timedJobs(engine: Engine): DueSource {
  const { store } = engine
  let checkedAt = Number.NEGATIVE_INFINITY
  return {
    async next(rows, now) {
      const first = await nextJobTime(rows)
      if (first === undefined || (await areJobsHeld(rows))) return undefined
      if (now >= checkedAt && now - checkedAt < clockCheckEvery) return first
      checkedAt = now
      return (await jobsAheadOf(rows, now + timeGrace)).some((job) => isTooFar(job, now)) ? now : first
    },
    async handle(now) {
      const ahead = await store.read((rows) => jobsAheadOf(rows, now + timeGrace))
      for (const job of ahead) if (isTooFar(job, now)) await rearm(engine, job.id, now)
      const due = await store.read((rows) => dueJobs(rows, now, maxDue))
      for (const batch of batches(due)) await Promise.all(batch.map((job) => fireJob(engine, job, { kind: 'due' })))
    },
  }
}

/** Whether a job waits for a later time than it would by the clock as it shows now: the clock was ahead and was set back. */
function isTooFar(job: Job, now: Millis): boolean {
  const { nextAt } = job
  return nextAt !== null && nextAt > now && (timeToAwait(startedBy(job, now), job.lastAt, now) ?? nextAt) < nextAt
}

function rearm(engine: Engine, id: number, now: Millis): Promise<void> {
  return engine.store.write('fire', async (tx) => {
    const job = await lockJob(tx, id)
    if (!job || !isTooFar(job, now)) return
    const started = startedBy(job, now)
    await updateJob(tx, { ...started, nextAt: timeToAwait(started, job.lastAt, now) ?? null, updatedAt: now })
  })
}

/** An interval that began while the clock was ahead begins now. */
function startedBy(job: Job, now: Millis): Job {
  return job.startsAt - now > timeGrace ? { ...job, startsAt: now } : job
}
