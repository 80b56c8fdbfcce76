import { hash } from 'node:crypto'
import { type Dirent, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** Fingerprints of a folder's files by relative path. */
export type FolderState = ReadonlyMap<string, string>

const maxFiles = 10_000
const maxBytes = 20 * 1024 * 1024

/** Current state of a folder. Links are recorded, never followed. */
export function folderState(folder: string): FolderState {
  const state = new Map<string, string>()
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined && state.size < maxFiles; next = waiting.pop())
    for (const entry of entriesOf(next)) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) waiting.push(path)
      else state.set(relative(folder, path).replaceAll(sep, '/'), fingerprint(path, entry))
    }
  return state
}

/** New, changed and removed files, by path. */
export function changesBetween(before: FolderState, after: FolderState): Record<'made' | 'changed' | 'gone', string[]> {
  return {
    made: [...after.keys()].filter((path) => !before.has(path)).sort(),
    changed: [...after].flatMap(([path, now]) => (before.has(path) && before.get(path) !== now ? [path] : [])).sort(),
    gone: [...before.keys()].filter((path) => !after.has(path)).sort(),
  }
}

/** Text of a file in the folder; undefined if there is none, or if its path leads out of the folder. */
export function readTextFile(folder: string, path: string): string | undefined {
  try {
    const real = realpathSync(join(folder, path))
    if (!real.startsWith(folder + sep)) return undefined
    const found = statSync(real)
    return found.isFile() && found.size <= maxBytes ? readFileSync(real, 'utf8') : undefined
  } catch {
    // An unreadable file counts as missing.
    return undefined
  }
}

/** A directory that the agent's commands made unreadable counts as empty. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function fingerprint(path: string, entry: Dirent): string {
  try {
    if (entry.isSymbolicLink()) return `link to ${readlinkSync(path)}`
    if (!entry.isFile()) return 'not a file'
    const { size } = statSync(path)
    return size > maxBytes ? `${size} bytes` : hash('sha256', readFileSync(path))
  } catch {
    return 'not readable'
  }
}
