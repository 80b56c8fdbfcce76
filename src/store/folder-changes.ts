import { dirname, join } from 'node:path'
import type { Millis } from '../domain/clock.ts'
import type { HiddenChanges, Touched } from '../domain/touched.ts'
import { statement } from './statement.ts'
import type { Reading } from './store.ts'

/** A file that a run changed, or a command that may have changed any. */
export interface FolderChange {
  runId: string
  rootRunId: string
  /** The whole path; undefined where nobody saw what was changed. */
  path?: string
  /** The hash the file was left with; undefined where only a survey saw it. */
  after?: string | null
  /** The command that changed a file which surveys hide. */
  by?: HiddenChanges['by']
  at: Millis | null
}

/**
 * What runs have changed in a folder since a moment, whichever folder their sessions have: writes are rows before the
 * file is touched, what commands changed is known at their end.
 */
export async function changesIn(rows: Reading, folder: string, since: Millis): Promise<FolderChange[]> {
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
      found.push(...touchesIn(row.payload_json).map((touch) => ({ ...run, ...touch })))
    }
  }
  return found.filter(({ path }) => path === undefined || isInside(path))
}

/** A call's end that names no files is of one that nobody could look at; one that names some may have changed others. */
function touchesIn(payload: string): Pick<FolderChange, 'path' | 'by'>[] {
  const { touched } = JSON.parse(payload) as { touched?: Touched }
  if (!touched || 'unseen' in touched) return [{}]
  const { folder, created, changed, removed, more, passedOver = [], hidden } = touched
  return [
    ...[...created, ...changed, ...removed].map((path) => ({ path: join(folder, path) })),
    ...(more > 0 || passedOver.length > 0 ? [{}] : []),
    ...(hidden ? touchesOf(folder, hidden) : []),
  ]
}

function touchesOf(folder: string, { by, paths, more }: HiddenChanges): Pick<FolderChange, 'path' | 'by'>[] {
  return [...paths.map((path) => ({ path: join(folder, path), by })), ...(more > 0 ? [{ by }] : [])]
}

/** The folder and those above it, each by itself, and all that lie below it. */
function spansAround(folder: string): { from: string; to: string }[] {
  const spans = [{ from: folder, to: folder }]
  for (let above = folder; above !== dirname(above); ) {
    above = dirname(above)
    spans.push({ from: above, to: above })
  }
  // Behind the slash comes 0: everything that begins with the folder and a slash lies between.
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
    .where('steps.touched_folder', '>=', arg.from)
    .where('steps.touched_folder', '<=', arg.to)
    .where('steps.at', '>=', arg.since),
)
