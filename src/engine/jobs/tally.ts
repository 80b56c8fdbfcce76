import type { Millis } from '../../domain/clock.ts'
import type { Job } from '../../domain/jobs/job.ts'
import type { Outcome } from '../../domain/run.ts'

/** New state of a job after a fire has ended. */
interface Tally {
  job: Job
  isRemoved: boolean
  /** Told to the job's owner when it is disabled by itself. */
  notice?: string
}

/**
 * Counts the outcome of a fire. A fire that completed may end the job (`cleanup`); a one-shot is then disabled at the
 * latest, but not by a fire before its time. Failures in a row disable it, so that nothing fails for ever unseen.
 */
export function tallyFire(job: Job, status: Outcome, now: Millis): Tally {
  const counted: Job = { ...job, lastStatus: status, updatedAt: now }
  if (status === 'completed') {
    const isOver = job.schedule.kind === 'at' ? job.nextAt === null : job.cleanup !== 'keep'
    const done = { ...counted, failures: 0, ...(isOver && { isEnabled: false, nextAt: null }) }
    return { job: done, isRemoved: isOver && job.cleanup === 'delete' }
  }
  // A user stopped it on purpose: that says nothing about the next time.
  if (status === 'cancelled') return { job: counted, isRemoved: false }
  const failures = job.failures + 1
  if (failures < job.maxFailures || !job.isEnabled) return { job: { ...counted, failures }, isRemoved: false }
  const disabledReason = failures === 1 ? 'it failed' : `it failed ${failures} times in a row`
  return {
    job: { ...counted, failures, isEnabled: false, nextAt: null, disabledReason },
    isRemoved: false,
    notice: `Job ${job.id} "${job.name}" was disabled: ${disabledReason}. Look: heddle cron history ${job.id}. Go on: heddle cron enable ${job.id}`,
  }
}
