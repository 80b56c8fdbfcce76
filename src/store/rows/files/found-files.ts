import { sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import type { FileTimes } from '../../../domain/tools/path-handle.ts'
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

/** A file with a content that was not recorded. */
interface FoundContent {
  path: string
  content: { sha256: string }
  lineHashes: string
  times: FileTimes
}

/** Records the files that a survey found with another content than the last one recorded. */
export function recordFoundFiles(tx: Tx, { at, ...call }: SurveyBefore, found: readonly FoundContent[]): void {
  for (const { path, content, times, lineHashes } of found) {
    const hash = content.sha256
    const since = Math.ceil(times.changedAt)
    const state = { path, before: hash, after: hash, lineMap: null, lineHashes, modifiedAt: times.modifiedAt }
    recordCommandChange(tx, { ...call, ...state, identity: times.identity ?? null, since, at, isFound: true })
  }
}

/** Max files of a folder whose last records are read: those that were recorded last. */
const maxRecorded = 5000

/** Hash of each file's last record, null if it was gone then. */
export async function lastHashes(rows: Reading, folder: string): Promise<Map<string, string | null>> {
  const byTools = await rows.all(newestByTools({ folder, limit: maxRecorded }))
  const byCommands = await rows.all(newestByCommands({ folder, limit: maxRecorded }))
  const hashes = new Map(byTools.map(({ path, after_hash }) => [path, after_hash]))
  const ids = new Map(byTools.map(({ path, id }) => [path, id]))
  for (const { path, after_hash, follows } of byCommands)
    if ((ids.get(path) ?? 0) <= follows) hashes.set(path, after_hash)
  return hashes
}

const newestByTools = statement((db, arg: { folder: string; limit: number }) =>
  raw<{ id: number; path: string; after_hash: string | null }>(
    db,
    sql`SELECT id, path, after_hash FROM file_changes WHERE id IN (
          SELECT max(id) FROM file_changes WHERE folder = ${arg.folder} GROUP BY path ORDER BY max(id) DESC LIMIT ${arg.limit})`,
  ),
)

const newestByCommands = statement((db, arg: { folder: string; limit: number }) =>
  raw<{ path: string; after_hash: string | null; follows: number }>(
    db,
    sql`SELECT path, after_hash, follows FROM command_changes WHERE id IN (
          SELECT max(id) FROM command_changes WHERE folder = ${arg.folder} GROUP BY path ORDER BY max(id) DESC LIMIT ${arg.limit})`,
  ),
)
