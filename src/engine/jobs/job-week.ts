import type { JobHour, JobWeek } from '../../api/views/job.ts'
import type { Millis } from '../../domain/clock.ts'
import type { Job } from '../../domain/jobs/job.ts'
import { nextTime } from '../../domain/jobs/schedule.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { countFiresByHour, type FireCount } from '../../store/rows/jobs/fires.ts'
import { listJobs } from '../../store/rows/jobs/jobs.ts'
import type { Reading } from '../../store/store.ts'

const hour: Millis = 3_600_000
const hoursBefore = 72
const hoursAfter = 96

/** Seven days of all jobs, hour by hour: what became of their times in the last three, and which come in the next four. */
export async function viewJobWeek(rows: Reading, own: OwnedBy, now: Millis): Promise<JobWeek> {
  const thisHour = Math.floor(now / hour)
  const [from, to] = [(thisHour - hoursBefore) * hour, (thisHour + hoursAfter) * hour]
  const jobs = await listJobs(rows, own)
  const counts = Map.groupBy(await countFiresByHour(rows, { ...own, since: from }), ({ jobId }) => jobId)
  return {
    ...{ from: isoTime(from), to: isoTime(to), now: isoTime(now) },
    jobs: jobs.map((job) => ({ jobId: job.id, hours: hoursOf(job, counts.get(job.id) ?? [], to) })),
  }
}

/** The hours in which something happened or will. */
function hoursOf(job: Job, counts: readonly FireCount[], to: Millis): JobHour[] {
  const byHour = new Map<number, JobHour>()
  const hourAt = (number: number): JobHour => {
    const known = byHour.get(number) ?? { ...nothing, at: isoTime(number * hour) }
    byHour.set(number, known)
    return known
  }
  for (const { hour: number, outcome, status, count } of counts) {
    const at = hourAt(number)
    if (outcome !== 'fired') at[outcome] += count
    else if (status === null) at.running += count
    else at[status === 'completed' ? 'completed' : 'failed'] += count
  }
  for (const number of dueHours(job, to)) hourAt(number).isDue = true
  return [...byHour].sort(([a], [b]) => a - b).map(([, each]) => each)
}

const nothing = { completed: 0, failed: 0, missed: 0, skipped: 0, running: 0, isDue: false }

/** Hours that have a time of the job; one look for each, however often it fires. */
function* dueHours(job: Job, to: Millis): Iterable<number> {
  if (!job.isEnabled) return
  for (let time = job.nextAt ?? undefined; time !== undefined && time < to; ) {
    const number = Math.floor(time / hour)
    yield number
    time = nextTime(job, (number + 1) * hour - 1)
  }
}

function isoTime(at: Millis): string {
  return new Date(at).toISOString()
}
