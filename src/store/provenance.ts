import { sql } from 'kysely'
import type { Event, EventKind } from '../domain/event.ts'
import type { Run } from '../domain/run.ts'
import { changeFrom, type KeptChange } from './file-changes.ts'
import { raw } from './raw.ts'
import { runFrom } from './run-rows.ts'
import { statement } from './statement.ts'
import type { Reading } from './store.ts'
import type { Tables } from './tables.ts'

/** The newest changes of a file under all its names, oldest first. */
export async function changesOfFile(
  rows: Reading,
  names: readonly { folder: string; path: string }[],
  limit: number,
): Promise<KeptChange[]> {
  const found: KeptChange[] = []
  for (const name of names) found.push(...(await rows.all(ofFile({ ...name, limit }))).map(changeFrom))
  return found.sort((a, b) => a.id - b.id).slice(-limit)
}

/** Every run that was begun for a task, oldest first. */
export async function runsOfTask(rows: Reading, taskId: number): Promise<Run[]> {
  return (await rows.all(ofTask({ taskId }))).map(runFrom)
}

/** Tasks that need this one. */
export async function tasksAfter(rows: Reading, taskId: number): Promise<number[]> {
  return (await rows.all(after({ taskId }))).map(({ task_id }) => task_id)
}

/** What is told of a subject among the newest events, oldest first. */
export async function newestEventsOf(
  rows: Reading,
  subject: string,
  among: number,
): Promise<Pick<Event, 'kind' | 'at' | 'payload'>[]> {
  const found = await rows.all(amongNewest({ subject, among }))
  return found.reverse().map(({ kind, at, payload_json }) => ({ kind, at, payload: JSON.parse(payload_json) }))
}

/** The calls that a run began, without what they answered: that is most of a journal. */
export async function callsBegun(rows: Reading, runId: string): Promise<unknown[]> {
  return (await rows.all(begunBy({ runId }))).map(({ payload_json }) => JSON.parse(payload_json))
}

/** How many model calls of a run were paid for and lost. */
export async function lostCalls(rows: Reading, runId: string): Promise<number> {
  return Number((await rows.first(lost({ runId })))?.count ?? 0)
}

const ofFile = statement((db, arg: { folder: string; path: string; limit: number }) =>
  db
    .selectFrom('file_changes')
    .selectAll()
    .where('folder', '=', arg.folder)
    .where('path', '=', arg.path)
    .orderBy('id', 'desc')
    .limit(arg.limit),
)

const ofTask = statement((db, arg: { taskId: number }) =>
  db.selectFrom('runs').selectAll().where('task_id', '=', arg.taskId).orderBy('created_at').orderBy('id'),
)

const after = statement((db, arg: { taskId: number }) =>
  db.selectFrom('task_edges').select('task_id').where('needs_id', '=', arg.taskId).orderBy('task_id'),
)

const begunBy = statement((db, arg: { runId: string }) =>
  db
    .selectFrom('steps')
    .select('payload_json')
    .where('run_id', '=', arg.runId)
    .where('kind', '=', sql.lit('begun'))
    .orderBy('seq'),
)

const lost = statement((db, arg: { runId: string }) =>
  db
    .selectFrom('usage')
    .select(sql<number>`count(*)`.as('count'))
    .where('run_id', '=', arg.runId)
    .where('state', '=', sql.lit('lost')),
)

type ToldRow = Pick<Tables['events'], 'at' | 'payload_json'> & { kind: EventKind }

// Events are found by their order alone: so many are read, and no more.
const amongNewest = statement((db, arg: { subject: string; among: number }, { events }) =>
  raw<ToldRow>(
    db,
    sql`SELECT kind, at, payload_json
        FROM (SELECT kind, at, payload_json, subject FROM events ORDER BY ${events.newestFirst} LIMIT ${arg.among}) AS newest
        WHERE subject = ${arg.subject}`,
  ),
)
