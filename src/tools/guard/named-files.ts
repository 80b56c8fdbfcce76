import type { PathAddress } from '../../domain/tools/path-handle.ts'
import { isPattern, namesIn } from '../exec/command-words.ts'
import { matchesGlob, readGlob } from '../files/glob.ts'
import { syncHandle } from '../files/handle.ts'

/** Max lookups, and max directories to look in. */
const maxLookups = 20_000
const maxDirectories = 16

/** Working directory of a command: a folder, and a directory in it by its path components. */
export interface CommandPlace {
  folder: PathAddress
  cwd: readonly string[]
}

interface NamedFiles {
  /** Fingerprints of files by real path relative to the folder. */
  marks: Map<string, string>
  /** Some words were not looked up. */
  isCut: boolean
  /** Some words name links that lead out of the folder. */
  leadsOutside: boolean
}

/**
 * Files that the words of a command name: in its directory, and in each directory that it names, since it may `cd` there.
 * Includes ignored files and node_modules. Runs in a worker thread.
 */
export async function namedFiles({ folder, cwd }: CommandPlace, words: readonly string[]): Promise<NamedFiles> {
  const found: NamedFiles = { marks: new Map(), isCut: false, leadsOutside: false }
  // Also the folder itself, the base of absolute paths.
  const directories = cwd.length === 0 ? [[]] : [[...cwd], []]
  const known = new Set(directories.map((names) => names.join('/')))
  let left = maxLookups
  // The loop appends to this list.
  for (const base of directories) {
    for (const word of words) {
      for (const names of await expandWord(folder, base, word, () => left-- > 0)) {
        const status = await lookAt(folder, names)
        if (status?.kind === 'file') {
          const mark = await markAt(folder, status.names)
          if (mark !== undefined) found.marks.set(status.names.join('/'), mark)
        }
        if (status?.kind === 'outside') found.leadsOutside = true
        if (status?.kind !== 'directory' || known.has(status.names.join('/'))) continue
        known.add(status.names.join('/'))
        if (directories.length < maxDirectories) directories.push(status.names)
        else found.isCut = true
      }
    }
  }
  found.isCut ||= left < 0
  return found
}

/** Paths that a word stands for in a directory: itself, or the entries that match its pattern. */
async function expandWord(
  folder: PathAddress,
  base: string[],
  word: string,
  mayLook: () => boolean,
): Promise<string[][]> {
  // Outside the folder.
  if (word.startsWith('/')) return []
  let paths = [base]
  for (const name of withoutHere(word)) {
    const next: string[][] = []
    for (const path of paths) {
      if (!mayLook()) return []
      if (!isPattern(name)) next.push(name === '..' ? path.slice(0, -1) : [...path, name])
      else next.push(...(await entriesLike(folder, path, name)))
    }
    paths = next
  }
  return paths
}

/** `..` counts only at the beginning, where no link can have led elsewhere. */
function withoutHere(word: string): string[] {
  const ups =
    /^(?:\.\.?\/+)+/
      .exec(word)?.[0]
      .split('/')
      .filter((name) => name === '..') ?? []
  return [...ups, ...namesIn(word.replace(/^(?:\.\.?\/+)+/, ''))]
}

async function entriesLike(folder: PathAddress, path: string[], pattern: string): Promise<string[][]> {
  const glob = readGlob(`/${pattern}`)
  if (!glob) return []
  const found: string[][] = []
  try {
    await syncHandle({ ...folder, path: pathTo(path) }).openDirectory(async (directory) => {
      for await (const { name } of directory.entries()) if (matchesGlob(glob, [name])) found.push([...path, name])
    })
  } catch {
    // An unreadable directory has no matches.
  }
  return found
}

/** Undefined for an invalid or unreadable path. */
async function lookAt(folder: PathAddress, names: readonly string[]) {
  try {
    return await syncHandle({ ...folder, path: pathTo(names) }).stat()
  } catch {
    return undefined
  }
}

async function markAt(folder: PathAddress, names: readonly string[]): Promise<string | undefined> {
  const parent = syncHandle({ ...folder, path: pathTo(names.slice(0, -1)) })
  return parent.openDirectory((directory) => directory.mark(names.at(-1) ?? '')).catch(() => undefined)
}

function pathTo(names: readonly string[]): string {
  return names.length === 0 ? '.' : names.join('/')
}
