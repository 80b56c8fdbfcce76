import { dirname, relative } from 'node:path'
import { tail } from '../domain/id.ts'
import { changeThatMade } from '../store/file-changes.ts'
import { findRun } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'

/**
 * Who made a file what it is now, in words: `by run:4c1e07 (@general)`, `by an undo`, `outside heddle`. The runs that ask
 * did not: when it is again what they once made of it, somebody else has seen to that, or `otherwise` what is known.
 */
export async function authorOf(
  rows: Reading,
  path: string,
  hash: string | null,
  asking: readonly (string | null)[],
  otherwise = 'outside heddle',
): Promise<string> {
  const change = await changeThatMade(rows, namesOf(path), hash)
  if (!change || (change.runId !== null && asking.includes(change.runId))) return otherwise
  if (change.runId === null) return 'by an undo'
  const run = await findRun(rows, change.runId)
  return `by run:${tail(change.runId)}${run?.agent ? ` (@${run.agent})` : ''}`
}

/** A whole path as the sessions of each folder above it would name it. */
export function namesOf(path: string): { folder: string; path: string }[] {
  const names: { folder: string; path: string }[] = []
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    names.push({ folder, path: relative(folder, path) })
    if (folder === dirname(folder)) return names
  }
}
