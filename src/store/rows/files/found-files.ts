import { sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import { raw } from '../../raw.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import { recordCommandChange } from './file-versions.ts'

/** The survey before a command. */
interface SurveyBefore {
  runId: string
  callId: string
  folder: string
  at: Millis
}

/** An unrecorded state of a file that a survey found; the hash is null if the file was gone. */
interface FoundHash {
  path: string
  hash: string | null
  /** When it was last changed; null if it was gone. */
  changedAt: Millis | null
}

/**
 * Records the files that a survey found in another state than the last one recorded. `isComplete`: at that time every other file was
 * as in its last record, or older than all records of the folder.
 */
export function recordFoundFiles(
  tx: Tx,
  { at, ...call }: SurveyBefore,
  { found, isComplete }: { found: readonly FoundHash[]; isComplete: boolean },
): void {
  const row = { ...call, since: at, at, lineMap: null, isFound: true }
  for (const { path, hash, changedAt } of found) {
    const since = changedAt === null ? at : Math.min(at, Math.ceil(changedAt))
    recordCommandChange(tx, { ...row, path, before: hash, after: hash, since })
  }
  if (isComplete) recordCommandChange(tx, { ...row, path: completeSurveyPath, before: null, after: null })
}

/** Path of a row that records a complete survey. */
const completeSurveyPath = ''

/** When the last complete survey of a folder was made before a time; undefined if there was none. */
export async function lastCompleteSurvey(rows: Reading, folder: string, before: Millis): Promise<Millis | undefined> {
  return (await rows.first(completeSurvey({ folder, before })))?.at
}

/** Last records of a folder's files. */
interface FolderRecords {
  /** Hash of each file's last record, null if it was gone then. */
  hashes: Map<string, string | null>
  /** Whether there are more files than these. */
  isCut: boolean
  /** Start of the records: an unrecorded file that is older has no line of a recorded content. */
  since: Millis
}

/** Max files of a folder whose last records are read. */
const maxRecorded = 5000

export async function recordsOfFolder(rows: Reading, folder: string): Promise<FolderRecords> {
  const byTools = await rows.all(newestByTools({ folder, limit: maxRecorded }))
  const byCommands = await rows.all(newestByCommands({ folder, limit: maxRecorded }))
  const hashes = new Map(byTools.map(({ path, after_hash }) => [path, after_hash]))
  const ids = new Map(byTools.map(({ path, id }) => [path, id]))
  let since = Number.POSITIVE_INFINITY
  for (const { path, after_hash, follows, at } of byCommands) {
    if (path === completeSurveyPath) since = at
    else if ((ids.get(path) ?? 0) <= follows) hashes.set(path, after_hash)
  }
  if (since === Number.POSITIVE_INFINITY && hashes.size > 0)
    since = (await rows.first(firstRecord({ folder })))?.at ?? 0
  return { hashes, isCut: Math.max(byTools.length, byCommands.length) >= maxRecorded, since }
}

const completeSurvey = statement((db, arg: { folder: string; before: Millis }) =>
  db
    .selectFrom('command_changes')
    .select('at')
    .where('folder', '=', arg.folder)
    .where('path', '=', completeSurveyPath)
    .where('at', '<', arg.before)
    .orderBy('id', 'desc')
    .limit(1),
)

const newestByTools = statement((db, arg: { folder: string; limit: number }) =>
  raw<{ id: number; path: string; after_hash: string | null }>(
    db,
    sql`SELECT id, path, after_hash FROM file_changes WHERE id IN (
          SELECT max(id) FROM file_changes WHERE folder = ${arg.folder} GROUP BY path ORDER BY max(id) DESC LIMIT ${arg.limit})`,
  ),
)

const newestByCommands = statement((db, arg: { folder: string; limit: number }) =>
  raw<{ path: string; after_hash: string | null; follows: number; at: number }>(
    db,
    sql`SELECT path, after_hash, follows, at FROM command_changes WHERE id IN (
          SELECT max(id) FROM command_changes WHERE folder = ${arg.folder} GROUP BY path ORDER BY max(id) DESC LIMIT ${arg.limit})`,
  ),
)

const firstRecord = statement((db, arg: { folder: string }) =>
  raw<{ at: number }>(
    db,
    sql`SELECT min(at) AS at FROM (
          SELECT min(at) AS at FROM file_changes WHERE folder = ${arg.folder}
          UNION ALL
          SELECT min(since) AS at FROM command_changes WHERE folder = ${arg.folder}
        ) AS first`,
  ),
)
