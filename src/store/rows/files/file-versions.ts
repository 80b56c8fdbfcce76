import { join } from 'node:path'
import type { Selectable } from 'kysely'
import { sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import type { FileIdentity, FileTimes } from '../../../domain/tools/path-handle.ts'
import type { Touched } from '../../../domain/tools/touched.ts'
import type { Builder } from '../../dialect.ts'
import { raw } from '../../raw.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import type { Tables } from '../../tables.ts'
import { changeFrom, replacedColumns, type StoredFileChange } from '../file-changes.ts'
import { beginOfCall } from '../steps.ts'

/** A file that a command changed, as the surveys around it saw it. */
export interface CommandChange {
  runId: string
  callId: string
  folder: string
  path: string
  /** Content hashes; null where there was no file, empty where it was not read. */
  before: string | null
  after: string | null
  /** The file that it was moved or copied from; its path is empty if there are several candidates. */
  origin?: { path: string; hash: string }
  lineMap: string | null
  lineHashes: string
  /** When the content was last modified, and the identity of the file; null where there is none, or that is not known. */
  modifiedAt: Millis | null
  identity: FileIdentity | null
  /** Of the file before the command. */
  replaced?: FileTimes | undefined
  /** Start and end of the command. With `isFound`: last change of the file, and start of the command. */
  since: Millis
  at: Millis
  isFound?: boolean
}

/** A version of a file: written by a tool, restored by an undo, left by a command, or found by one. */
export interface FileVersion extends StoredFileChange {
  /** The command that left it. */
  command?: { since: Millis; origin?: { path: string; hash: string } }
  /** When a content that a command left or found was last modified, in whole milliseconds; absent if that was not recorded. */
  modifiedAt?: Millis
  /** Identity of the file that a command left or found; absent if that was not recorded. */
  identity?: FileIdentity
  /** A command found the file in this state, without a record of the change; `before` and `after` are the same. */
  found?: { changedAt: Millis }
  /** Order of all versions: id of the last tool change, then id of the command's change. */
  order: readonly [change: number, command: number]
}

export function recordCommandChange(tx: Tx, change: CommandChange): void {
  tx.send(
    insertCommandChange({
      run_id: change.runId,
      call_id: change.callId,
      folder: change.folder,
      path: change.path,
      before_hash: change.before,
      after_hash: change.after,
      origin_path: change.origin?.path ?? null,
      origin_hash: change.origin?.hash ?? null,
      line_map: change.lineMap,
      line_hashes: change.lineHashes,
      ...replacedColumns(change.replaced),
      modified_at: change.modifiedAt === null ? null : Math.trunc(change.modifiedAt),
      identity: change.identity,
      since: change.since,
      at: change.at,
      found: change.isFound ? 1 : 0,
    }),
  )
}

/** A name that sessions know a file by: relative to their folder. */
export interface FileName {
  folder: string
  path: string
}

/** Newest versions of a file under all its names, oldest first. */
export async function versionsOfFile(rows: Reading, names: readonly FileName[], limit: number): Promise<FileVersion[]> {
  const found: FileVersion[] = []
  for (const name of names) {
    found.push(...(await rows.all(toolChanges({ ...name, limit }))).map(fromToolRow))
    found.push(...(await rows.all(changesByCommands({ ...name, limit }))).map(fromCommandRow))
  }
  return found.sort(compareVersions).slice(-limit)
}

/** Versions of all files that a command left. */
export async function versionsOfCall(rows: Reading, runId: string, callId: string): Promise<FileVersion[]> {
  return (await rows.all(changesOfCall({ runId, callId }))).map(fromCommandRow)
}

/** Versions of any file that left this content, newest first. */
export async function versionsWithContent(rows: Reading, hash: string, limit: number): Promise<FileVersion[]> {
  const found = [
    ...(await rows.all(toolContents({ hash, limit }))).map(fromToolRow),
    ...(await rows.all(commandContents({ hash, limit }))).map(fromCommandRow),
  ]
  return found.sort(compareVersions).reverse().slice(0, limit)
}

export function compareVersions(a: FileVersion, b: FileVersion): number {
  return a.order[0] - b.order[0] || a.order[1] - b.order[1]
}

/** A command that may have changed a file without a record. */
export interface UnseenCommand {
  runId: string
  at: Millis | null
}

/** Max ended commands that are checked; if there are more, one of these may have changed the file. */
const maxCommands = 5000

/**
 * A command in one of these folders that ended between two times and may have changed the file without a version: its outcome is
 * unknown, its survey failed, or versions were not recorded yet. With `any`: any command that ended there.
 */
export async function commandBetween(
  rows: Reading,
  names: readonly FileName[],
  { since, until, any = false }: { since: Millis; until: Millis; any?: boolean },
): Promise<UnseenCommand | undefined> {
  let remaining = maxCommands
  for (const { folder, path } of names) {
    const ends = await rows.all(commandEnds({ folder, since, until, limit: any ? 1 : remaining + 1 }))
    remaining -= ends.length
    const found = ends.find(({ payload_json }) => any || mayHaveChanged(payload_json, join(folder, path)))
    const end = found ?? (remaining < 0 ? ends.at(-1) : undefined)
    if (end) return { runId: end.run_id, at: end.at }
  }
  return undefined
}

/** Longer commands are not looked for. */
const maxCommandMs = 24 * 60 * 60 * 1000
/** Max ended commands of runs that were at work at a time. */
const maxAtOnce = 200

/** A command that ran at this time in one of these folders and may have changed files there. */
export async function commandRunningAt(
  rows: Reading,
  names: readonly FileName[],
  time: Millis,
): Promise<UnseenCommand | undefined> {
  const since = Math.floor(time)
  for (const { folder } of names) {
    const ends = await rows.all(endsOfRunsAt({ folder, since, until: since + maxCommandMs, limit: maxAtOnce }))
    for (const { run_id, payload_json } of ends) {
      const { id } = JSON.parse(payload_json) as { id: string }
      const begun = await beginOfCall(rows, run_id, id)
      if (begun !== undefined && begun <= time) return { runId: run_id, at: begun }
    }
  }
  return undefined
}

/** Max runs whose commands may have changed a file while nothing looked. */
const maxPossible = 50

/** Runs with a command that ended between two times in one of these folders. */
export async function runsWithCommands(
  rows: Reading,
  names: readonly FileName[],
  { since, until }: { since: Millis; until: Millis },
): Promise<string[]> {
  const found = new Set<string>()
  for (const { folder } of names)
    for (const { run_id } of await rows.all(commandEnds({ folder, since, until, limit: maxPossible })))
      found.add(run_id)
  return [...found].slice(0, maxPossible)
}

/** A command that has not ended, or whose changes are not all recorded; `until` is when its run ended. */
export interface UnsurveyedCommand {
  runId: string
  since: Millis
  until: Millis
}

/** Max newest commands of a folder that are read; at any earlier time an older one may have run. */
const maxUnsurveyed = 1000

/** Commands of these folders that run now, were interrupted, or were not surveyed. */
export async function unsurveyedCommands(rows: Reading, folders: readonly string[]): Promise<UnsurveyedCommand[]> {
  const found: UnsurveyedCommand[] = []
  for (const folder of folders) {
    const all = await rows.all(openCommands({ folder, limit: maxUnsurveyed }))
    for (const { run_id, at, finished_at } of all)
      found.push({ runId: run_id, since: at ?? 0, until: finished_at ?? Number.MAX_SAFE_INTEGER })
    const oldest = all.length === maxUnsurveyed ? all.at(-1) : undefined
    if (oldest) found.push({ runId: oldest.run_id, since: 0, until: oldest.at ?? 0 })
  }
  return found
}

function mayHaveChanged(payload: string, whole: string): boolean {
  const { touched, status } = JSON.parse(payload) as { touched?: Touched; status: string }
  if (!touched) return status === 'unknown'
  if ('unseen' in touched) return true
  const { folder, created, changed, removed, more, unrecorded } = touched
  if (unrecorded !== undefined) return unrecorded > 0
  return more > 0 || [...created, ...changed, ...removed].some((path) => join(folder, path) === whole)
}

// A file may have thousands of versions: rows are not copied on the way.
function fromToolRow(row: Selectable<Tables['file_changes']>): FileVersion {
  return Object.assign(changeFrom(row), { order: [row.id, 0] as const })
}

function fromCommandRow(row: Selectable<Tables['command_changes']>): FileVersion {
  const { origin_path: path, origin_hash: hash, since, modified_at: modifiedAt, identity } = row
  const change = changeFrom(row)
  const version: FileVersion = Object.assign(change, { order: [row.follows, row.id] as const })
  if (modifiedAt !== null) version.modifiedAt = modifiedAt
  if (identity !== null) version.identity = identity
  if (row.found) version.found = { changedAt: since }
  else version.command = { since, ...(path !== null && hash !== null && { origin: { path, hash } }) }
  return version
}

const insertCommandChange = statement((db, row: Omit<Selectable<Tables['command_changes']>, 'id' | 'follows'>) =>
  raw(
    db,
    sql`INSERT INTO command_changes (run_id, call_id, folder, path, before_hash, after_hash, origin_path, origin_hash,
          line_map, line_hashes, before_changed_at, before_modified_at, before_identity, modified_at, identity, follows, since, at, found)
        VALUES (${row.run_id}, ${row.call_id}, ${row.folder}, ${row.path}, ${row.before_hash}, ${row.after_hash},
          ${row.origin_path}, ${row.origin_hash}, ${row.line_map}, ${row.line_hashes},
          ${row.before_changed_at}, ${row.before_modified_at}, ${row.before_identity}, ${row.modified_at}, ${row.identity},
          coalesce((SELECT max(id) FROM file_changes), 0), ${row.since}, ${row.at}, ${row.found})`,
  ),
)

const toolChanges = statement((db, arg: FileName & { limit: number }) =>
  db
    .selectFrom('file_changes')
    .selectAll()
    .where('folder', '=', arg.folder)
    .where('path', '=', arg.path)
    .orderBy('id', 'desc')
    .limit(arg.limit),
)

const changesByCommands = statement((db, arg: FileName & { limit: number }) =>
  db
    .selectFrom('command_changes')
    .selectAll()
    .where('folder', '=', arg.folder)
    .where('path', '=', arg.path)
    .orderBy('id', 'desc')
    .limit(arg.limit),
)

const changesOfCall = statement((db, arg: { runId: string; callId: string }) =>
  db
    .selectFrom('command_changes')
    .selectAll()
    .where('run_id', '=', arg.runId)
    .where('call_id', '=', arg.callId)
    .where('found', '=', 0)
    .orderBy('id'),
)

const toolContents = statement((db, arg: { hash: string; limit: number }) =>
  db.selectFrom('file_changes').selectAll().where('after_hash', '=', arg.hash).orderBy('id', 'desc').limit(arg.limit),
)

const commandContents = statement((db, arg: { hash: string; limit: number }) =>
  db
    .selectFrom('command_changes')
    .selectAll()
    .where('after_hash', '=', arg.hash)
    .orderBy('id', 'desc')
    .limit(arg.limit),
)

const openCommands = statement((db, arg: { folder: string; limit: number }) =>
  db
    .selectFrom('steps')
    .innerJoin('runs', 'runs.id', 'steps.run_id')
    .select(['steps.run_id', 'steps.at', 'runs.finished_at'])
    .where('steps.touched_folder', 'is not', null)
    .where('steps.touched_folder', '=', arg.folder)
    .where('steps.kind', '=', sql.lit('begun'))
    .orderBy('steps.at', 'desc')
    .limit(arg.limit),
)

type EndsRead = { folder: string; since: number; until: number; limit: number }

const commandEnds = statement((db, arg: EndsRead) => endsBetween(db, arg).limit(arg.limit))

/** Only of runs that had a step before the interval: their commands may have begun before it. */
const endsOfRunsAt = statement((db, arg: EndsRead) =>
  endsBetween(db, arg)
    .where(({ exists, selectFrom, ref }) =>
      exists(
        selectFrom('steps as earlier')
          .select('earlier.seq')
          .whereRef('earlier.run_id', '=', ref('steps.run_id'))
          .whereRef('earlier.seq', '<', ref('steps.seq'))
          .where('earlier.at', '<=', arg.since),
      ),
    )
    .limit(arg.limit),
)

function endsBetween(db: Builder, { folder, since, until }: Omit<EndsRead, 'limit'>) {
  return db
    .selectFrom('steps')
    .select(['run_id', 'payload_json', 'at'])
    .where('touched_folder', 'is not', null)
    .where('kind', '=', sql.lit('ended'))
    .where('touched_folder', '=', folder)
    .where('at', '>=', since)
    .where('at', '<=', until)
    .orderBy('at')
}
