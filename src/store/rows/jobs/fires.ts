import { type Selectable, sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import type { Fire } from '../../../domain/jobs/job.ts'
import type { Outcome } from '../../../domain/run.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import type { Tables } from '../../tables.ts'

type FireRow = Selectable<Tables['cron_fires']>

/** Inserts what happened at a time of a job. The job's row must be locked; the time must be a new one. */
export async function insertFire(
  tx: Tx,
  fire: Pick<Fire, 'jobId' | 'scheduledAt' | 'outcome' | 'at'> & Partial<Pick<Fire, 'reason' | 'itemId' | 'rootRunId'>>,
): Promise<void> {
  await tx.run(
    tx.build.insertInto('cron_fires').values({
      job_id: fire.jobId,
      scheduled_at: fire.scheduledAt,
      outcome: fire.outcome,
      at: fire.at,
      reason: fire.reason ?? null,
      item_id: fire.itemId ?? null,
      root_run_id: fire.rootRunId ?? null,
      status: null,
      ended_at: null,
    }),
  )
}

/** The last fire of a job whose request is not over. */
export async function openFire(rows: Reading, jobId: number): Promise<Fire | undefined> {
  const row = await rows.first(open({ jobId }))
  return row && fireFrom(row)
}

/** Fires that a request answers and that are not over. */
export async function openFiresOf(rows: Reading, rootRunId: string): Promise<Fire[]> {
  return (await rows.all(ofRequest({ rootRunId }))).map(fireFrom)
}

/** Open fires of whose request no run is left, the oldest first: it may be at rest. */
export async function openFiresWithoutRun(rows: Reading): Promise<Fire[]> {
  return (await rows.all(withoutRun({}))).map(fireFrom)
}

/** Names the request that answers a fire. */
export async function setFireRequest(tx: Tx, itemIds: readonly string[], rootRunId: string): Promise<void> {
  if (itemIds.length === 0) return
  await tx.run(
    tx.build
      .updateTable('cron_fires')
      .set({ root_run_id: rootRunId })
      .where('item_id', 'in', itemIds)
      .where('root_run_id', 'is', null),
  )
}

/** Ends a fire; false if another transaction has. The job's row must be locked. */
export async function endFire(
  tx: Tx,
  fire: Fire,
  { status, error = null }: { status: Outcome; error?: string | null },
  at: Millis,
): Promise<boolean> {
  const ended = await tx.run(
    tx.build
      .updateTable('cron_fires')
      .set({ status, ended_at: at, reason: error })
      .where('job_id', '=', fire.jobId)
      .where('scheduled_at', '=', fire.scheduledAt)
      .where('status', 'is', null),
  )
  return ended === 1
}

/** Deletes fires before this time and returns how many; those whose request is not over stay. */
export function pruneFires(tx: Tx, before: Millis): Promise<number> {
  return tx.run(
    tx.build
      .deleteFrom('cron_fires')
      .where('at', '<', before)
      .where(({ or, eb }) => or([eb('outcome', '!=', 'fired'), eb('status', 'is not', null)])),
  )
}

/** Fires, newest first; of one job or of the jobs of one principal. */
export async function listFires(
  rows: Reading,
  filter: { jobId?: number; principal?: string; limit: number },
): Promise<Fire[]> {
  let query = rows.build
    .selectFrom('cron_fires')
    .selectAll()
    .orderBy('at', 'desc')
    .orderBy('scheduled_at', 'desc')
    .limit(filter.limit)
  if (filter.jobId !== undefined) query = query.where('job_id', '=', filter.jobId)
  if (filter.principal !== undefined) query = query.where('job_id', 'in', jobsOf(rows, filter.principal))
  return (await rows.all(query)).map(fireFrom)
}

/** How often something became of the times of a job within an hour; `hour` counts from the epoch. */
export interface FireCount extends Pick<Fire, 'jobId' | 'outcome' | 'status'> {
  hour: number
  count: number
}

/** Counts fires since a time by job, hour and outcome; of the jobs of one principal if it is given. */
export async function countFiresByHour(
  rows: Reading,
  { since, principal }: { since: Millis; principal?: string },
): Promise<FireCount[]> {
  const hour = sql<number>`cron_fires.scheduled_at / 3600000`
  let query = rows.build
    .selectFrom('cron_fires')
    .select(['job_id as jobId', 'outcome', 'status', hour.as('hour'), ({ fn }) => fn.countAll<number>().as('count')])
    .where('scheduled_at', '>=', since)
    .groupBy(['job_id', 'outcome', 'status', hour])
  if (principal !== undefined) query = query.where('job_id', 'in', jobsOf(rows, principal))
  return (await rows.all(query)).map((row) => ({ ...row, hour: Number(row.hour), count: Number(row.count) }))
}

function jobsOf({ build }: Reading, principal: string) {
  return build.selectFrom('cron_jobs').select('id').where('principal', '=', principal)
}

const open = statement((db, arg: { jobId: number }) =>
  db
    .selectFrom('cron_fires')
    .selectAll()
    .where('job_id', '=', arg.jobId)
    .where('outcome', '=', sql.lit('fired'))
    .where('status', 'is', null)
    .orderBy('scheduled_at', 'desc')
    .limit(sql.lit(1)),
)

const ofRequest = statement((db, arg: { rootRunId: string }) =>
  db.selectFrom('cron_fires').selectAll().where('root_run_id', '=', arg.rootRunId).where('status', 'is', null),
)

const withoutRun = statement((db, _arg: object) =>
  db
    .selectFrom('cron_fires')
    .selectAll()
    .where('status', 'is', null)
    .where('root_run_id', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('runs')
            .select('runs.id')
            .whereRef('runs.root_run_id', '=', 'cron_fires.root_run_id')
            .where('runs.finished_at', 'is', null),
        ),
      ),
    )
    .orderBy('at'),
)

function fireFrom(row: FireRow): Fire {
  return {
    jobId: row.job_id,
    scheduledAt: row.scheduled_at,
    outcome: row.outcome,
    at: row.at,
    reason: row.reason,
    itemId: row.item_id,
    rootRunId: row.root_run_id,
    status: row.status,
    endedAt: row.ended_at,
  }
}
