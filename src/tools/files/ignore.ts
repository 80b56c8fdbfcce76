import { HeddleError } from '../../domain/errors.ts'
import type { OpenDirectory, PathHandle } from '../../domain/tools/path-handle.ts'
import { type Glob, matchesGlob, readGlob } from './glob.ts'

/** A line of an ignore file. */
interface IgnoreRule {
  glob: Glob
  isForDirectories: boolean
  /** `!`: un-hides what an earlier line hid. */
  shows: boolean
}

/** Ignore files; the second takes precedence. */
const ignoreFiles = ['.gitignore', '.ignore']
const maxBytes = 1_000_000
const space = ' '
/** Directory of installed packages: never a part of what work is about. */
export const packages = 'node_modules'

/** Combined rules of the ignore files of a directory and its parents. */
export interface IgnoreRules {
  hides(name: string, isDirectory: boolean): boolean
  /** These rules, for what is in a subdirectory. */
  inside(name: string): IgnoreRules
  /** These rules and those in the ignore files of the directory that they are for. */
  with(directory: OpenDirectory): Promise<IgnoreRules>
  /** Rules for a subdirectory: these and those in its own ignore files. */
  below(name: string, directory: OpenDirectory): Promise<IgnoreRules>
}

/** Rules of a directory's own ignore files, without its parents. */
export async function ownIgnoreRules(directory: OpenDirectory): Promise<IgnoreRules> {
  return ignoring([]).with(directory)
}

/**
 * Rules for a directory below the folder. If it is ignored itself, it was requested by name, and only its own ignore files
 * count.
 */
export async function ignoreRulesAt(folder: PathHandle, directory: OpenDirectory): Promise<IgnoreRules> {
  let handle = folder
  let read = ownIgnoreRules
  for (const name of directory.names) {
    const readOuter = read
    const { inner, readInner } = await handle.openDirectory(async (outer) => {
      const above = await readOuter(outer)
      const readBelow = (below: OpenDirectory) => above.below(name, below)
      return { inner: outer.at(name), readInner: above.hides(name, true) ? ownIgnoreRules : readBelow }
    })
    handle = inner
    read = readInner
  }
  return read(directory)
}

/** Whether a file below the folder is ignored, or a directory that it is in. One that is gone is judged by those that are there. */
export async function isIgnored(folder: PathHandle, names: readonly string[]): Promise<boolean> {
  const [name = '', ...rest] = names
  const found = await folder.openDirectory((directory) => read(directory, ignoring([]), name))
  return isIgnoredBelow(found, name, rest)
}

interface ReadDirectory {
  rules: IgnoreRules
  /** Absent if there is none. */
  inner?: PathHandle
}

async function read(directory: OpenDirectory, above: IgnoreRules, name: string): Promise<ReadDirectory> {
  return { rules: await above.with(directory), inner: directory.at(name) }
}

async function isIgnoredBelow(
  { rules, inner }: ReadDirectory,
  name: string,
  rest: readonly string[],
): Promise<boolean> {
  if (name === packages || rules.hides(name, rest.length > 0)) return true
  const [next, ...others] = rest
  if (next === undefined) return false
  const above = rules.inside(name)
  try {
    const found = inner && (await inner.openDirectory((directory) => read(directory, above, next)))
    return isIgnoredBelow(found ?? { rules: above }, next, others)
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'missing') return isIgnoredBelow({ rules: above }, next, others)
    throw error
  }
}

/** `all`: rules, outermost first, each with the path from their directory to the current one. */
function ignoring(all: readonly { rules: IgnoreRule[]; path: string[] }[]): IgnoreRules {
  const levels = all.filter(({ rules }) => rules.length > 0)
  const innermostFirst = levels.toReversed()
  const inside = (name: string) => ignoring(levels.map(({ rules, path }) => ({ rules, path: [...path, name] })))
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
    inside,
    with: async (directory) => ignoring([...levels, { rules: await rulesIn(directory), path: [] }]),
    below: (name, directory) => inside(name).with(directory),
  }
}

async function rulesIn(directory: OpenDirectory): Promise<IgnoreRule[]> {
  const texts: string[] = []
  for (const name of ignoreFiles) if (await directory.has(name)) texts.push(await textIn(directory, name))
  return texts.flatMap((text) => text.split('\n').flatMap(readRule))
}

/** An ignore file that is missing, unreadable or outside the folder hides nothing. */
async function textIn(directory: OpenDirectory, name: string): Promise<string> {
  try {
    return await directory.at(name).openFile(async (file) => {
      const into = Buffer.alloc(Math.min(file.bytes, maxBytes))
      return into.toString('utf8', 0, await file.read(into, 0)).replace(/^\ufeff/, '')
    })
  } catch {
    return ''
  }
}

function readRule(line: string): IgnoreRule[] {
  const text = withoutSpaces(line.endsWith('\r') ? line.slice(0, -1) : line)
  if (text === '' || text.startsWith('#')) return []
  const shows = text.startsWith('!')
  const pattern = shows ? text.slice(1) : text
  const isForDirectories = pattern.endsWith('/')
  const glob = readGlob(isForDirectories ? pattern.slice(0, -1) : pattern)
  return glob ? [{ glob, isForDirectories, shows }] : []
}

/** Trailing spaces do not count unless escaped with a backslash. */
function withoutSpaces(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === space && line[end - 2] !== '\\') end--
  return line.slice(0, end)
}
