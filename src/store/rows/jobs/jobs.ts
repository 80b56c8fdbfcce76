import { type Selectable, sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import type { Job } from '../../../domain/jobs/job.ts'
import type { Schedule } from '../../../domain/jobs/schedule.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import type { Tables } from '../../tables.ts'

type JobRow = Omit<Selectable<Tables['cron_jobs']>, 'id' | 'removed_at'>

/** Inserts a job and returns it with its id. */
export async function insertJob(tx: Tx, job: Omit<Job, 'id'>): Promise<Job> {
  const row = await tx.first(tx.build.insertInto('cron_jobs').values(jobRow(job)).returning('id'))
  tx.hint('due')
  return { ...job, id: Number(row?.id) }
}

/** The job, unless it was removed. */
export async function findJob(rows: Reading, id: number): Promise<Job | undefined> {
  const query = rows.build.selectFrom('cron_jobs').selectAll().where('id', '=', id).where('removed_at', 'is', null)
  const row = await rows.first(query)
  return row && jobFrom(row)
}

/** Locks a job's row, the last in the order of locks; removed ones are not found. */
export async function lockJob(tx: Tx, id: number): Promise<Job | undefined> {
  tx.locking('jobs')
  const row = await tx.first(locked({ id }))
  return row && jobFrom(row)
}

/** Jobs that were not removed: those with the next time first. */
export async function listJobs(
  rows: Reading,
  filter: { principal?: string; event?: string; nextOnly?: boolean; limit?: number } = {},
): Promise<Job[]> {
  let query = rows.build
    .selectFrom('cron_jobs')
    .selectAll()
    .where('removed_at', 'is', null)
    .orderBy(sql`CASE WHEN next_at IS NULL THEN 1 ELSE 0 END`)
    .orderBy('next_at')
    .orderBy('id')
  if (filter.principal !== undefined) query = query.where('principal', '=', filter.principal)
  if (filter.nextOnly) query = query.where('next_at', 'is not', null)
  if (filter.event !== undefined)
    query = query
      .where('kind', '=', sql.lit('event'))
      .where('enabled', '=', sql.lit(1))
      .where('spec', '=', filter.event)
  if (filter.limit !== undefined) query = query.limit(filter.limit)
  return (await rows.all(query)).map(jobFrom)
}

/** The first moment at which a job is due. */
export async function nextJobTime(rows: Reading): Promise<Millis | undefined> {
  const at = (await rows.first(earliest({})))?.at
  return at === null || at === undefined ? undefined : Number(at)
}

/** Jobs that are due, the earliest first. */
export async function dueJobs(rows: Reading, now: Millis, limit: number): Promise<Job[]> {
  return (await rows.all(due({ now, limit }))).map(jobFrom)
}

/** Jobs that wait for a time and whose start or last time is later than a moment. */
export async function jobsAheadOf(rows: Reading, moment: Millis): Promise<Job[]> {
  const query = rows.build
    .selectFrom('cron_jobs')
    .selectAll()
    .where('next_at', 'is not', null)
    .where(({ or, eb }) => or([eb('last_at', '>', moment), eb('starts_at', '>', moment)]))
  return (await rows.all(query)).map(jobFrom)
}

/** Number of jobs that were not removed; `stoppedOnly`: of those that were disabled by themselves. */
export async function countJobs(
  rows: Reading,
  { principal, stoppedOnly }: { principal?: string; stoppedOnly?: boolean } = {},
): Promise<number> {
  let query = rows.build
    .selectFrom('cron_jobs')
    .select(sql<number>`count(*)`.as('count'))
    .where('removed_at', 'is', null)
  if (stoppedOnly) query = query.where('disabled_reason', 'is not', null)
  if (principal !== undefined) query = query.where('principal', '=', principal)
  return Number((await rows.first(query))?.count ?? 0)
}

/** Replaces all of a job that can change. Its row must be locked. */
export async function updateJob(tx: Tx, job: Job): Promise<void> {
  await tx.run(tx.build.updateTable('cron_jobs').set(jobRow(job)).where('id', '=', job.id))
  tx.hint('due')
}

/** Removes a job from all lists; its row stays, since fires, runs and sessions name it. */
export async function removeJob(tx: Tx, job: Job, at: Millis): Promise<void> {
  await updateJob(tx, { ...job, isEnabled: false, nextAt: null, version: job.version + 1, updatedAt: at })
  await tx.run(tx.build.updateTable('cron_jobs').set({ removed_at: at }).where('id', '=', job.id))
}

const locked = statement((db, arg: { id: number }, { lockRows }) =>
  db.selectFrom('cron_jobs').selectAll().where('id', '=', arg.id).where('removed_at', 'is', null).modifyEnd(lockRows),
)

const earliest = statement((db, _arg: object) =>
  db.selectFrom('cron_jobs').select(sql<number | null>`min(next_at)`.as('at')).where('next_at', 'is not', null),
)

const due = statement((db, arg: { now: number; limit: number }) =>
  db
    .selectFrom('cron_jobs')
    .selectAll()
    .where('next_at', 'is not', null)
    .where('next_at', '<=', arg.now)
    .orderBy('next_at')
    .orderBy('id')
    .limit(arg.limit),
)

function jobRow(job: Omit<Job, 'id'>): JobRow {
  return {
    name: job.name,
    ...scheduleColumns(job.schedule),
    starts_at: job.startsAt,
    active_json: job.activeHours ? JSON.stringify(job.activeHours) : null,
    folder: job.folder,
    session_json: JSON.stringify(job.session),
    payload: job.payload,
    content: job.content,
    options_json: JSON.stringify(job.options),
    deliver_json: JSON.stringify(job.deliver),
    missed: job.missed,
    cleanup: job.cleanup,
    max_failures: job.maxFailures,
    failures: job.failures,
    enabled: job.isEnabled ? 1 : 0,
    disabled_reason: job.disabledReason,
    next_at: job.nextAt,
    last_at: job.lastAt,
    last_status: job.lastStatus,
    principal: job.principal,
    integrity: job.label.integrity,
    sources_json: JSON.stringify(job.label.sources),
    version: job.version,
    created_at: job.createdAt,
    updated_at: job.updatedAt,
  }
}

function jobFrom(row: JobRow & { id: number }): Job {
  return {
    id: row.id,
    name: row.name,
    schedule: scheduleFrom(row),
    startsAt: row.starts_at,
    ...(row.active_json !== null && { activeHours: JSON.parse(row.active_json) }),
    folder: row.folder,
    session: JSON.parse(row.session_json),
    payload: row.payload,
    content: row.content,
    options: JSON.parse(row.options_json),
    deliver: JSON.parse(row.deliver_json),
    missed: row.missed,
    cleanup: row.cleanup,
    maxFailures: row.max_failures,
    failures: row.failures,
    isEnabled: row.enabled === 1,
    disabledReason: row.disabled_reason,
    nextAt: row.next_at,
    lastAt: row.last_at,
    lastStatus: row.last_status,
    principal: row.principal,
    label: { integrity: row.integrity, sources: JSON.parse(row.sources_json) },
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function scheduleColumns(schedule: Schedule): Pick<JobRow, 'kind' | 'spec' | 'timezone'> {
  const { kind } = schedule
  if (kind === 'at') return { kind, spec: new Date(schedule.at).toISOString(), timezone: null }
  if (kind === 'every') return { kind, spec: String(schedule.every), timezone: null }
  if (kind === 'event') return { kind, spec: schedule.name, timezone: null }
  return { kind, spec: schedule.expression, timezone: schedule.timezone }
}

function scheduleFrom({ kind, spec, timezone }: Pick<JobRow, 'kind' | 'spec' | 'timezone'>): Schedule {
  if (kind === 'at') return { kind, at: Date.parse(spec) }
  if (kind === 'every') return { kind, every: Number(spec) }
  if (kind === 'event') return { kind, name: spec }
  return { kind, expression: spec, timezone: timezone ?? 'UTC' }
}
