import { dueJobs, nextJobTime } from '../../store/rows/jobs/jobs.ts'
import type { DueSource } from '../run/worker/due.ts'
import { batches } from '../run/worker/recover.ts'
import type { Engine } from '../runtime.ts'
import { fireJob, isHeld } from './fire.ts'

/** Max jobs of one look. */
const maxDue = 500

/** Jobs whose time has come. One sleep serves all of them. */
export function timedJobs(engine: Engine): DueSource {
  const { store } = engine
  return {
    async next(rows) {
      const first = await nextJobTime(rows)
      return first === undefined || (await isHeld(rows)) ? undefined : first
    },
    async handle(now) {
      const due = await store.read((rows) => dueJobs(rows, now, maxDue))
      for (const batch of batches(due)) await Promise.all(batch.map((job) => fireJob(engine, job, { kind: 'due' })))
    },
  }
}
