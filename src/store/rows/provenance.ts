import { basename } from 'node:path'
import { sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Event } from '../../domain/event.ts'
import type { Run } from '../../domain/run.ts'
import type { Position } from '../dialect.ts'
import { statement } from '../statement.ts'
import type { Reading } from '../store.ts'
import { metaValue } from './meta.ts'
import { runFrom } from './run-rows.ts'

/** Runs of a task, oldest first. */
export async function runsOfTask(rows: Reading, taskId: number): Promise<Run[]> {
  return (await rows.all(runsByTask({ taskId }))).map(runFrom)
}

/** Tasks that need this one. */
export async function tasksAfter(rows: Reading, taskId: number): Promise<number[]> {
  return (await rows.all(dependentTasks({ taskId }))).map(({ task_id }) => task_id)
}

/** Events of a run's waits and model fallbacks, oldest first, as long as events are kept. */
export async function pausesOf(rows: Reading, runId: string): Promise<Pick<Event, 'kind' | 'at' | 'payload'>[]> {
  const found = await rows.all(pauses({ subject: `run:${runId}` }))
  return found.map(({ kind, at, payload_json }) => ({ kind, at, payload: JSON.parse(payload_json) }))
}

/** Whether all events since a time are still stored. */
export async function keepsEventsSince(rows: Reading, at: Millis): Promise<boolean> {
  if ((await metaValue(rows, 'events_floor')) === undefined) return true
  const oldest = await rows.first(oldestKept({ xid: '0', seq: 0 }))
  return oldest !== undefined && oldest.at <= at
}

/** Id of the oldest of the newest `count` runs from this id on; undefined if there are fewer. */
export async function nthNewestRunId(rows: Reading, from: string, count: number): Promise<string | undefined> {
  return (await rows.first(nthNewest({ from, skip: count - 1 })))?.id
}

/** Runs of a request that made model calls, at most `limit`. */
export async function runsOfRequest(rows: Reading, rootRunId: string, limit: number): Promise<string[]> {
  return (await rows.all(withModelCalls({ rootRunId, limit }))).map(({ run_id }) => run_id)
}

/** Runs within an id range that called `read_file` for a file of this name. */
export async function runsReadingFile(
  rows: Reading,
  { from, to = '~' }: { from: string; to?: string },
  path: string,
): Promise<string[]> {
  // The name as encoded in JSON; LIKE's special characters become wildcards.
  const name = JSON.stringify(basename(path))
    .slice(1, -1)
    .replace(/[\\%_]/g, '_')
  return (await rows.all(readFileCalls({ from, to, like: `%${name}%` }))).map(({ run_id }) => run_id)
}

/** Number of model calls of a run without a reply. */
export async function failedCalls(rows: Reading, runId: string): Promise<number> {
  return Number((await rows.first(failed({ runId })))?.count ?? 0)
}

const runsByTask = statement((db, arg: { taskId: number }) =>
  db.selectFrom('runs').selectAll().where('task_id', '=', arg.taskId).orderBy('created_at').orderBy('id'),
)

const dependentTasks = statement((db, arg: { taskId: number }) =>
  db.selectFrom('task_edges').select('task_id').where('needs_id', '=', arg.taskId).orderBy('task_id'),
)

const nthNewest = statement((db, arg: { from: string; skip: number }) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('id', '>=', arg.from)
    .orderBy('id', 'desc')
    .limit(sql.lit(1))
    .offset(arg.skip),
)

const withModelCalls = statement((db, arg: { rootRunId: string; limit: number }) =>
  db.selectFrom('usage').select('run_id').distinct().where('root_run_id', '=', arg.rootRunId).limit(arg.limit),
)

// Reads only inputs, which are small; outputs make up most of a journal.
const readFileCalls = statement((db, arg: { from: string; to: string; like: string }) =>
  db
    .selectFrom('steps')
    .select('run_id')
    .distinct()
    .where('run_id', '>=', arg.from)
    .where('run_id', '<=', arg.to)
    .where('kind', '=', sql.lit('begun'))
    .where('payload_json', 'like', sql.lit('%"name":"read_file"%'))
    .where('payload_json', 'like', arg.like),
)

const failed = statement((db, arg: { runId: string }) =>
  db
    .selectFrom('usage')
    .select(sql<number>`count(*)`.as('count'))
    .where('run_id', '=', arg.runId)
    .where(sql<boolean>`state IN ('lost', 'free')`),
)

const pauses = statement((db, arg: { subject: string }, { events }) =>
  db
    .selectFrom('events')
    .select(['kind', 'at', 'payload_json'])
    .where('subject', '=', arg.subject)
    // Spelled like the partial index that it must use.
    .where(sql<boolean>`kind IN ('run.waiting', 'run.fallback')`)
    .orderBy(events.order),
)

const oldestKept = statement((db, arg: Position, { events }) =>
  db.selectFrom('events').select('at').where(events.after(arg)).orderBy(events.order).limit(sql.lit(1)),
)
