import type { PathAddress } from '../domain/path-handle.ts'
import { isPattern, namesIn } from './command-words.ts'
import { matchesGlob, readGlob } from './glob.ts'
import { directHandle } from './handle.ts'

/** Names that are looked up, and directories in which they are. */
const mostLookups = 20_000
const mostDirectories = 16

/** Where a command is run: a folder, and a directory in it by its names. */
export interface CommandPlace {
  folder: PathAddress
  cwd: readonly string[]
}

export interface NamedFiles {
  /** Files by their real paths from the folder on, each with its mark. */
  marks: Map<string, string>
  /** Some words were not looked up. */
  isCut: boolean
  /** Some words name links that lead out of the folder. */
  leadsOutside: boolean
}

/**
 * The files that the words of a command name: in its directory, and in each directory that it names, since it may go
 * there. Ignored files and those in node_modules are found like any other. Meant for a thread of its own.
 */
export async function namedFiles({ folder, cwd }: CommandPlace, words: readonly string[]): Promise<NamedFiles> {
  const found: NamedFiles = { marks: new Map(), isCut: false, leadsOutside: false }
  // The folder itself, too: it is where whole paths begin.
  const directories = cwd.length === 0 ? [[]] : [[...cwd], []]
  const known = new Set(directories.map((names) => names.join('/')))
  let left = mostLookups
  // Grows while it is gone through.
  for (const base of directories) {
    for (const word of words) {
      for (const names of await expanded(folder, base, word, () => left-- > 0)) {
        const sight = await lookAt(folder, names)
        if (sight?.kind === 'file') {
          const mark = await markAt(folder, sight.names)
          if (mark !== undefined) found.marks.set(sight.names.join('/'), mark)
        }
        if (sight?.kind === 'outside') found.leadsOutside = true
        if (sight?.kind !== 'directory' || known.has(sight.names.join('/'))) continue
        known.add(sight.names.join('/'))
        if (directories.length < mostDirectories) directories.push(sight.names)
        else found.isCut = true
      }
    }
  }
  found.isCut ||= left < 0
  return found
}

/** The paths that a word stands for in a directory: itself, or the entries that fit its pattern. */
async function expanded(
  folder: PathAddress,
  base: string[],
  word: string,
  mayLook: () => boolean,
): Promise<string[][]> {
  // Another root than the folder's: not ours to look at.
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

/** `..` counts only where a link cannot have led elsewhere: at the beginning. */
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
    await directHandle({ ...folder, path: pathTo(path) }).openDirectory(async (directory) => {
      for await (const { name } of directory.entries()) if (matchesGlob(glob, [name])) found.push([...path, name])
    })
  } catch {
    // What cannot be looked into names nothing.
  }
  return found
}

/** Undefined for what cannot be a path at all, or cannot be looked at. */
async function lookAt(folder: PathAddress, names: readonly string[]) {
  try {
    return await directHandle({ ...folder, path: pathTo(names) }).look()
  } catch {
    return undefined
  }
}

async function markAt(folder: PathAddress, names: readonly string[]): Promise<string | undefined> {
  const parent = directHandle({ ...folder, path: pathTo(names.slice(0, -1)) })
  return parent.openDirectory((directory) => directory.mark(names.at(-1) ?? '')).catch(() => undefined)
}

function pathTo(names: readonly string[]): string {
  return names.length === 0 ? '.' : names.join('/')
}
