import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { FileTimes } from '../../domain/tools/path-handle.ts'
import type { Builder } from '../dialect.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import { trackFile } from './search/written-files.ts'

/** A file change by a tool call or an undo. Hashes are of the whole content, null where there is no file. */
interface FileChange {
  /** Null for an undo. */
  runId: string | null
  callId: string | null
  /** Real path of the folder, and the file's path relative to it. */
  folder: string
  path: string
  before: string | null
  after: string | null
  /** File mode before the change; null if there was no file. */
  mode: number | null
  at: Millis
  /** Which lines are of the version before; null where there is none, or it is no text. */
  lineMap: string | null
}

interface NewFileChange extends FileChange {
  /** Of the lines that earlier records of the file do not have. */
  lineHashes: string
  /** Of the replaced file. */
  replaced?: FileTimes | undefined
}

export interface StoredFileChange extends FileChange {
  id: number
  /** Null in records from before these hashes. */
  lineHashes: string | null
  /** Of the replaced file, in whole milliseconds; absent if there was none, or they were not recorded. */
  replaced?: FileTimes
  undoneAt: Millis | null
}

/** Compressed old content of a file. */
export interface StoredContent {
  hash: string
  bytes: number
  packed: string
}

/** Records a change and the content it replaces, before the file is written. */
export async function recordFileChange(
  tx: Tx,
  change: NewFileChange,
  content: StoredContent | undefined,
): Promise<void> {
  if (content) await storeContent(tx, content)
  await tx.run(
    insert({
      run_id: change.runId,
      call_id: change.callId,
      folder: change.folder,
      path: change.path,
      before_hash: change.before,
      after_hash: change.after,
      mode: change.mode,
      at: change.at,
      undone_at: null,
      line_map: change.lineMap,
      line_hashes: change.lineHashes,
      ...replacedColumns(change.replaced),
    }),
  )
  await trackFile(tx, change)
}

/** Whole milliseconds: the time of change is not later than told, and that of modification not earlier. */
export function replacedColumns(times: FileTimes | undefined) {
  return {
    before_changed_at: times ? Math.ceil(times.changedAt) : null,
    before_modified_at: times ? Math.trunc(times.modifiedAt) : null,
    before_identity: times?.identity ?? null,
  }
}

/** Stores a content once, however many versions have it. */
export async function storeContent(tx: Tx, content: StoredContent): Promise<void> {
  await tx.run(insertContent(content))
}

/** Recorded change of a call to a file, undefined if the call did not get that far; and the newest change of that file by any call. */
export async function changesAtCall(
  rows: Reading,
  call: { runId: string; callId: string; folder: string; path: string },
): Promise<{ own: StoredFileChange | undefined; newest: StoredFileChange | undefined }> {
  const found = (await rows.all(ofCallAndNewest(call))).map(changeFrom)
  const own = found.find(({ runId, callId }) => runId === call.runId && callId === call.callId)
  return { own, newest: found.reduce<typeof own>((a, b) => (a && a.id > b.id ? a : b), undefined) }
}

/** Newest change of a file by a run. */
export async function lastChangeBy(
  rows: Reading,
  of: { runId: string; folder: string; path: string },
): Promise<StoredFileChange | undefined> {
  const row = await rows.first(lastBy(of))
  return row && changeFrom(row)
}

/** File changes of these runs, oldest first. */
export async function changesOf(rows: Reading, runIds: readonly string[]): Promise<StoredFileChange[]> {
  const found: StoredFileChange[] = []
  for (const runId of runIds) found.push(...(await rows.all(ofRun({ runId }))).map(changeFrom))
  return found.sort((a, b) => a.id - b.id)
}

/** File changes of a session's runs for one request, oldest first. */
export async function changesOfRequest(
  rows: Reading,
  scope: { sessionId: string; rootRunId: string },
): Promise<StoredFileChange[]> {
  return (await rows.all(ofSession(scope))).map(changeFrom)
}

/**
 * All changes, by any run, of the files that a plan's tasks or a child session's runs have changed, from their own first
 * change on, oldest first.
 */
export async function changesOfSameFiles(
  rows: Reading,
  of: { planId: number } | { sessionId: string },
): Promise<StoredFileChange[]> {
  return (await rows.all('planId' in of ? ofFilesOfPlan(of) : ofFilesOfSession(of))).map(changeFrom)
}

/**
 * Newest change that left a file with this content. Sessions of nested folders refer to the same file by different
 * paths, hence several names.
 */
export async function changeThatLeft(
  rows: Reading,
  names: readonly { folder: string; path: string }[],
  hash: string | null,
): Promise<StoredFileChange | undefined> {
  const row = await rows.first(
    rows.build
      .selectFrom('file_changes')
      .selectAll()
      .where((where) =>
        where.or(names.map(({ folder, path }) => where.and([where('folder', '=', folder), where('path', '=', path)]))),
      )
      .where('after_hash', hash === null ? 'is' : '=', hash)
      .orderBy('id', 'desc')
      .limit(1),
  )
  return row && changeFrom(row)
}

export async function contentOf(rows: Reading, hash: string): Promise<StoredContent | undefined> {
  return rows.first(content({ hash }))
}

export async function markUndone(tx: Tx, ids: readonly number[], at: Millis): Promise<void> {
  for (const id of ids) await tx.run(undone({ id, at }))
}

/** Commands record no modes, and are not undone. */
export function changeFrom(row: Omit<ChangeRow, 'mode' | 'undone_at'> & Partial<ChangeRow>): StoredFileChange {
  const { before_changed_at: changedAt, before_modified_at: modifiedAt, before_identity: identity } = row
  const change: StoredFileChange = {
    id: row.id,
    runId: row.run_id,
    callId: row.call_id,
    folder: row.folder,
    path: row.path,
    before: row.before_hash,
    after: row.after_hash,
    mode: row.mode ?? null,
    at: row.at,
    undoneAt: row.undone_at ?? null,
    lineMap: row.line_map,
    lineHashes: row.line_hashes,
  }
  if (changedAt !== null && modifiedAt !== null)
    change.replaced = { changedAt, modifiedAt, ...(identity !== null && { identity }) }
  return change
}

type ChangeRow = Selectable<Tables['file_changes']>
type NewRow = Omit<ChangeRow, 'id'>

const insert = statement((db, row: NewRow) =>
  db.insertInto('file_changes').values({
    run_id: row.run_id,
    call_id: row.call_id,
    folder: row.folder,
    path: row.path,
    before_hash: row.before_hash,
    after_hash: row.after_hash,
    mode: row.mode,
    at: row.at,
    undone_at: row.undone_at,
    line_map: row.line_map,
    line_hashes: row.line_hashes,
    before_changed_at: row.before_changed_at,
    before_modified_at: row.before_modified_at,
    before_identity: row.before_identity,
  }),
)

const insertContent = statement((db, row: StoredContent) =>
  db
    .insertInto('file_contents')
    .values({ hash: row.hash, bytes: row.bytes, packed: row.packed })
    .onConflict((conflict) => conflict.doNothing()),
)

const ofCallAndNewest = statement((db, arg: { runId: string; callId: string; folder: string; path: string }) =>
  raw<ChangeRow>(
    db,
    sql`SELECT * FROM file_changes WHERE run_id = ${arg.runId} AND call_id = ${arg.callId}
          AND folder = ${arg.folder} AND path = ${arg.path}
        UNION ALL
        SELECT * FROM file_changes WHERE id = (
          SELECT max(id) FROM file_changes WHERE folder = ${arg.folder} AND path = ${arg.path})`,
  ),
)

const lastBy = statement((db, arg: { runId: string; folder: string; path: string }) =>
  db
    .selectFrom('file_changes')
    .selectAll()
    .where('run_id', '=', arg.runId)
    .where('folder', '=', arg.folder)
    .where('path', '=', arg.path)
    .orderBy('id', 'desc')
    .limit(1),
)

const ofSession = statement((db, arg: { sessionId: string; rootRunId: string }) =>
  db
    .selectFrom('file_changes')
    .innerJoin('runs', 'runs.id', 'file_changes.run_id')
    .selectAll('file_changes')
    .where('runs.session_id', '=', arg.sessionId)
    .where('runs.root_run_id', '=', arg.rootRunId)
    // Lets the query use the index of child runs.
    .where('runs.parent_run_id', 'is not', null)
    .orderBy('file_changes.id'),
)

const ofFilesOfPlan = statement((db, arg: { planId: number }) =>
  changesOfFilesIn(
    db,
    sql`file_changes AS mine JOIN runs ON runs.id = mine.run_id JOIN tasks ON tasks.id = runs.task_id
        WHERE tasks.project_id = ${arg.planId} AND tasks.dropped_in IS NULL`,
  ),
)

const ofFilesOfSession = statement((db, arg: { sessionId: string }) =>
  changesOfFilesIn(
    db,
    sql`file_changes AS mine JOIN runs ON runs.id = mine.run_id
        WHERE runs.session_id = ${arg.sessionId} AND runs.parent_run_id IS NOT NULL`,
  ),
)

function changesOfFilesIn(db: Builder, mine: RawBuilder<unknown>) {
  return raw<ChangeRow>(
    db,
    sql`SELECT * FROM file_changes WHERE (folder, path) IN (SELECT mine.folder, mine.path FROM ${mine})
          AND id >= (SELECT min(mine.id) FROM ${mine}) ORDER BY id`,
  )
}

const ofRun = statement((db, arg: { runId: string }) =>
  db.selectFrom('file_changes').selectAll().where('run_id', '=', arg.runId).orderBy('id'),
)

const content = statement((db, arg: { hash: string }) =>
  db.selectFrom('file_contents').selectAll().where('hash', '=', arg.hash),
)

const undone = statement((db, arg: { id: number; at: number }) =>
  db.updateTable('file_changes').set({ undone_at: arg.at }).where('id', '=', arg.id).where('undone_at', 'is', null),
)
