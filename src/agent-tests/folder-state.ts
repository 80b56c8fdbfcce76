import { createHash } from 'node:crypto'
import { type Dirent, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** Every file of a folder by its path from there on, with what tells its content from any other. */
export type FolderState = ReadonlyMap<string, string>

const mostFiles = 10_000
const largest = 20 * 1024 * 1024

/** What a folder holds now. Links are noted and never followed. */
export function folderState(folder: string): FolderState {
  const state = new Map<string, string>()
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined && state.size < mostFiles; next = waiting.pop())
    for (const entry of entriesOf(next)) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) waiting.push(path)
      else state.set(relative(folder, path).replaceAll(sep, '/'), contentOf(path, entry))
    }
  return state
}

/** What is new, different or gone, by path. */
export function changesBetween(before: FolderState, after: FolderState): Record<'made' | 'changed' | 'gone', string[]> {
  return {
    made: [...after.keys()].filter((path) => !before.has(path)).sort(),
    changed: [...after].flatMap(([path, now]) => (before.has(path) && before.get(path) !== now ? [path] : [])).sort(),
    gone: [...before.keys()].filter((path) => !after.has(path)).sort(),
  }
}

/** The text of a file in the folder; undefined when there is none, or when its path leads out of the folder. */
export function textIn(folder: string, path: string): string | undefined {
  try {
    const real = realpathSync(join(folder, path))
    if (!real.startsWith(folder + sep)) return undefined
    const found = statSync(real)
    return found.isFile() && found.size <= largest ? readFileSync(real, 'utf8') : undefined
  } catch {
    // Whatever keeps us from reading it keeps everybody: it is as good as not there.
    return undefined
  }
}

/** What an agent's commands have closed counts as empty: its files are gone for everybody. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function contentOf(path: string, entry: Dirent): string {
  try {
    if (entry.isSymbolicLink()) return `link to ${readlinkSync(path)}`
    if (!entry.isFile()) return 'not a file'
    const { size } = statSync(path)
    return size > largest ? `${size} bytes` : createHash('sha256').update(readFileSync(path)).digest('hex')
  } catch {
    return 'not readable'
  }
}
