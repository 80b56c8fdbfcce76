import type { Millis } from '../domain/clock.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'
import type { Tables } from './tables.ts'

/** A file that was changed by a call of a run, or by an undo. Hashes are of the whole content, null where there is no file. */
export interface FileChange {
  /** Null for an undo. */
  runId: string | null
  callId: string | null
  /** The real path of the folder, and the path from there on. */
  folder: string
  path: string
  before: string | null
  after: string | null
  /** What the file's permissions were before; null where there was none. */
  mode: number | null
  at: Millis
}

export interface KeptChange extends FileChange {
  id: number
  undoneAt: Millis | null
}

/** A content that a file had, packed. */
export interface KeptContent {
  hash: string
  bytes: number
  packed: string
}

/** Keeps a change before it is made, together with what it takes away. */
export async function keepChange(tx: Tx, change: FileChange, content: KeptContent | undefined): Promise<void> {
  if (content) await tx.run(insertContent(content))
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
    }),
  )
}

/** What a call was about to do to a file, if it got so far. */
export async function changeOfCall(
  rows: Reading,
  call: { runId: string; callId: string; folder: string; path: string },
): Promise<KeptChange | undefined> {
  const row = await rows.first(ofCall(call))
  return row && changeFrom(row)
}

/** The newest change of a file by a run. */
export async function lastChangeBy(
  rows: Reading,
  of: { runId: string; folder: string; path: string },
): Promise<KeptChange | undefined> {
  const row = await rows.first(lastBy(of))
  return row && changeFrom(row)
}

/** Everything that runs did to files, oldest first. */
export async function changesOf(rows: Reading, runIds: readonly string[]): Promise<KeptChange[]> {
  const found: KeptChange[] = []
  for (const runId of runIds) found.push(...(await rows.all(ofRun({ runId }))).map(changeFrom))
  return found.sort((a, b) => a.id - b.id)
}

/** All that the runs of a session have changed for one request, oldest first. */
export async function changesFor(
  rows: Reading,
  asked: { sessionId: string; rootRunId: string },
): Promise<KeptChange[]> {
  return (await rows.all(ofSession(asked))).map(changeFrom)
}

/**
 * The newest change that left a file with this content, whichever folder it was made from: sessions of a folder and of
 * one inside it name the same file by different paths.
 */
export async function changeThatMade(
  rows: Reading,
  names: readonly { folder: string; path: string }[],
  hash: string | null,
): Promise<KeptChange | undefined> {
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

export async function contentOf(rows: Reading, hash: string): Promise<KeptContent | undefined> {
  return rows.first(content({ hash }))
}

export async function markUndone(tx: Tx, ids: readonly number[], at: Millis): Promise<void> {
  for (const id of ids) await tx.run(undone({ id, at }))
}

export function changeFrom(row: Omit<Tables['file_changes'], 'id'> & { id: number }): KeptChange {
  return {
    id: row.id,
    runId: row.run_id,
    callId: row.call_id,
    folder: row.folder,
    path: row.path,
    before: row.before_hash,
    after: row.after_hash,
    mode: row.mode,
    at: row.at,
    undoneAt: row.undone_at,
  }
}

const insert = statement((db, row: Omit<Tables['file_changes'], 'id'>) =>
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
  }),
)

const insertContent = statement((db, row: KeptContent) =>
  db
    .insertInto('file_contents')
    .values({ hash: row.hash, bytes: row.bytes, packed: row.packed })
    .onConflict((conflict) => conflict.doNothing()),
)

const ofCall = statement((db, arg: { runId: string; callId: string; folder: string; path: string }) =>
  db
    .selectFrom('file_changes')
    .selectAll()
    .where('run_id', '=', arg.runId)
    .where('call_id', '=', arg.callId)
    .where('folder', '=', arg.folder)
    .where('path', '=', arg.path),
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
    // By which a child's runs are found without reading any others.
    .where('runs.parent_run_id', 'is not', null)
    .orderBy('file_changes.id'),
)

const ofRun = statement((db, arg: { runId: string }) =>
  db.selectFrom('file_changes').selectAll().where('run_id', '=', arg.runId).orderBy('id'),
)

const content = statement((db, arg: { hash: string }) =>
  db.selectFrom('file_contents').selectAll().where('hash', '=', arg.hash),
)

const undone = statement((db, arg: { id: number; at: number }) =>
  db.updateTable('file_changes').set({ undone_at: arg.at }).where('id', '=', arg.id).where('undone_at', 'is', null),
)
