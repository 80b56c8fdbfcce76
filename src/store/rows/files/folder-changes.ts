import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import type { HiddenChanges, Touched } from '../../../domain/tools/touched.ts'
import { statement } from '../../statement.ts'
import type { Reading } from '../../store.ts'

/** A file that a run changed, or a command that may have changed any file. */
export interface FolderChange {
  runId: string
  rootRunId: string
  /** Absolute path; undefined when the changed file is unknown. */
  path?: string
  /** Content hash after the change; undefined when only a folder survey noticed it. */
  after?: string | null
  /** Command that changed a file which surveys exclude. */
  by?: HiddenChanges['by']
  at: Millis | null
}

/**
 * Changes of runs in a folder since a time, whatever the folders of their sessions. Writes are recorded before the file is
 * touched, changes of commands when they end.
 */
export async function changesInFolder(rows: Reading, folder: string, since: Millis): Promise<FolderChange[]> {
  const isInside = (path: string) => path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)
  const found: FolderChange[] = []
  for (const span of spansAround(folder)) {
    for (const row of await rows.all(writes({ ...span, since })))
      if (row.run_id !== null)
        found.push({
          runId: row.run_id,
          rootRunId: row.root_run_id,
          path: join(row.folder, row.path),
          after: row.after_hash,
          at: row.at,
        })
    for (const row of await rows.all(touches({ ...span, since }))) {
      const run = { runId: row.run_id, rootRunId: row.root_run_id, at: row.at }
      found.push(...changedFiles(row.payload_json).map((change) => ({ ...run, ...change })))
    }
  }
  return found.filter(({ path }) => path === undefined || isInside(path))
}

/** Files that a call changed. An entry without a path: it may have changed any file, since a survey failed or left files out. */
function changedFiles(payload: string): Pick<FolderChange, 'path' | 'by'>[] {
  const { touched } = JSON.parse(payload) as { touched?: Touched }
  if (!touched || 'unseen' in touched) return [{}]
  const { folder, created, changed, removed, more, passedOver = [], hidden } = touched
  return [
    ...[...created, ...changed, ...removed].map((path) => ({ path: join(folder, path) })),
    ...(more > 0 || passedOver.length > 0 ? [{}] : []),
    ...(hidden ? hiddenFiles(folder, hidden) : []),
  ]
}

function hiddenFiles(folder: string, { by, paths, more }: HiddenChanges): Pick<FolderChange, 'path' | 'by'>[] {
  return [...paths.map((path) => ({ path: join(folder, path), by })), ...(more > 0 ? [{ by }] : [])]
}

/** Ranges of folder paths: the folder, each of its parents, and everything below it. */
function spansAround(folder: string): { from: string; to: string }[] {
  const spans = [{ from: folder, to: folder }]
  for (let above = folder; above !== dirname(above); ) {
    above = dirname(above)
    spans.push({ from: above, to: above })
  }
  // '0' follows '/' in ASCII: the range holds every path that starts with the folder and a slash.
  const below = folder === '/' ? { from: '/', to: '0' } : { from: `${folder}/`, to: `${folder}0` }
  return [...spans, below]
}

const writes = statement((db, arg: { from: string; to: string; since: number }) =>
  db
    .selectFrom('file_changes')
    .innerJoin('runs', 'runs.id', 'file_changes.run_id')
    .select([
      'file_changes.run_id',
      'runs.root_run_id',
      'file_changes.folder',
      'file_changes.path',
      'file_changes.after_hash',
      'file_changes.at',
    ])
    .where('file_changes.folder', '>=', arg.from)
    .where('file_changes.folder', '<=', arg.to)
    .where('file_changes.at', '>=', arg.since)
    .orderBy('file_changes.id'),
)

const touches = statement((db, arg: { from: string; to: string; since: number }) =>
  db
    .selectFrom('steps')
    .innerJoin('runs', 'runs.id', 'steps.run_id')
    .select(['steps.run_id', 'runs.root_run_id', 'steps.payload_json', 'steps.at'])
    .where('steps.touched_folder', 'is not', null)
    .where('steps.kind', '=', sql.lit('ended'))
    .where('steps.touched_folder', '>=', arg.from)
    .where('steps.touched_folder', '<=', arg.to)
    .where('steps.at', '>=', arg.since),
)
