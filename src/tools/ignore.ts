import type { OpenDirectory, PathHandle } from '../domain/path-handle.ts'
import { type Glob, matchesGlob, readGlob } from './glob.ts'

/** A line of an ignore file. */
interface Rule {
  glob: Glob
  isForDirectories: boolean
  /** `!`: shows again what an earlier line hid. */
  shows: boolean
}

/** Files that say what is not worth looking at; what the second says counts more. */
const ignoreFiles = ['.gitignore', '.ignore']
const mostBytes = 1_000_000
const space = ' '

/** What the ignore files of a directory and of those above it hide. */
export interface Ignoring {
  hides(name: string, isDirectory: boolean): boolean
  /** What is hidden in an entry: the rules from above and those that lie in it. */
  below(name: string, directory: OpenDirectory): Promise<Ignoring>
}

/** What the ignore files in a directory hide, where nothing above it counts. */
export async function ignoringIn(directory: OpenDirectory): Promise<Ignoring> {
  return ignoring([{ rules: await rulesIn(directory), path: [] }])
}

/**
 * What is hidden in a directory below the folder. One that is itself hidden was asked for by name, and then only its own
 * ignore files count.
 */
export async function ignoringAt(folder: PathHandle, directory: OpenDirectory): Promise<Ignoring> {
  let handle = folder
  let read = ignoringIn
  for (const name of directory.names) {
    const readOuter = read
    const { inner, readInner } = await handle.openDirectory(async (outer) => {
      const above = await readOuter(outer)
      const readBelow = (below: OpenDirectory) => above.below(name, below)
      return { inner: outer.at(name), readInner: above.hides(name, true) ? ignoringIn : readBelow }
    })
    handle = inner
    read = readInner
  }
  return read(directory)
}

/** Rules, outermost first, each with the way from where they lie to the directory that is looked at. */
function ignoring(all: readonly { rules: Rule[]; path: string[] }[]): Ignoring {
  const levels = all.filter(({ rules }) => rules.length > 0)
  const innermostFirst = levels.toReversed()
  return {
    hides(name, isDirectory) {
      if (name === '.git') return true
      for (const { rules, path } of innermostFirst) {
        const last = rules.findLast(
          ({ glob, isForDirectories }) => (isDirectory || !isForDirectories) && matchesGlob(glob, [...path, name]),
        )
        if (last) return !last.shows
      }
      return false
    },
    below: async (name, directory) =>
      ignoring([
        ...levels.map(({ rules, path }) => ({ rules, path: [...path, name] })),
        { rules: await rulesIn(directory), path: [] },
      ]),
  }
}

async function rulesIn(directory: OpenDirectory): Promise<Rule[]> {
  const texts: string[] = []
  for (const name of ignoreFiles) if (await directory.has(name)) texts.push(await textIn(directory, name))
  return texts.flatMap((text) => text.split('\n').flatMap(readRule))
}

/** An ignore file that is none, cannot be read or leads elsewhere hides nothing. */
async function textIn(directory: OpenDirectory, name: string): Promise<string> {
  try {
    return await directory.at(name).openFile(async (file) => {
      const into = Buffer.alloc(Math.min(file.bytes, mostBytes))
      return into.toString('utf8', 0, await file.read(into, 0)).replace(/^\ufeff/, '')
    })
  } catch {
    return ''
  }
}

function readRule(line: string): Rule[] {
  const text = withoutSpaces(line.endsWith('\r') ? line.slice(0, -1) : line)
  if (text === '' || text.startsWith('#')) return []
  const shows = text.startsWith('!')
  const pattern = shows ? text.slice(1) : text
  const isForDirectories = pattern.endsWith('/')
  const glob = readGlob(isForDirectories ? pattern.slice(0, -1) : pattern)
  return glob ? [{ glob, isForDirectories, shows }] : []
}

/** Spaces at the end do not count, unless they are written with a backslash. */
function withoutSpaces(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === space && line[end - 2] !== '\\') end--
  return line.slice(0, end)
}
