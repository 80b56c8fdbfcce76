import { dirname, relative } from 'node:path'
import { shortId } from '../../domain/id.ts'
import { changeThatLeft } from '../../store/rows/file-changes.ts'
import { findRun } from '../../store/rows/runs.ts'
import type { Reading } from '../../store/store.ts'

/**
 * Describes who last wrote a file's current content: `by run:4c1e07 (@general)`, `by an undo`, `outside heddle`. The asking
 * runs are ruled out: if the content is again what they wrote, another writer restored it, described by `otherwise`.
 */
export async function authorOf(
  rows: Reading,
  path: string,
  hash: string | null,
  asking: readonly (string | null)[],
  otherwise = 'outside heddle',
): Promise<string> {
  const change = await changeThatLeft(rows, namesInFolders(path), hash)
  if (!change || (change.runId !== null && asking.includes(change.runId))) return otherwise
  if (change.runId === null) return 'by an undo'
  const run = await findRun(rows, change.runId)
  return `by run:${shortId(change.runId)}${run?.agent ? ` (@${run.agent})` : ''}`
}

/** An absolute path relative to each folder above it. */
export function namesInFolders(path: string): { folder: string; path: string }[] {
  const names: { folder: string; path: string }[] = []
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    names.push({ folder, path: relative(folder, path) })
    if (folder === dirname(folder)) return names
  }
}
