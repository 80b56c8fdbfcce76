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
  /** Rules for a subdirectory: these and those in its own ignore files. */
  below(name: string, directory: OpenDirectory): Promise<IgnoreRules>
}

/** Rules of a directory's own ignore files, without its parents. */
export async function ownIgnoreRules(directory: OpenDirectory): Promise<IgnoreRules> {
  return ignoring([{ rules: await rulesIn(directory), path: [] }])
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

/** Whether a file below the folder is ignored, or a directory that it is in. */
export async function isIgnored(folder: PathHandle, names: readonly string[]): Promise<boolean> {
  let handle = folder
  let read = ownIgnoreRules
  for (const [at, name] of names.entries()) {
    const readOuter = read
    const { isHidden, inner, readInner } = await handle.openDirectory(async (outer) => {
      const rules = await readOuter(outer)
      const isHidden = name === packages || rules.hides(name, at < names.length - 1)
      return { isHidden, inner: outer.at(name), readInner: (below: OpenDirectory) => rules.below(name, below) }
    })
    if (isHidden) return true
    handle = inner
    read = readInner
  }
  return false
}

/** `all`: rules, outermost first, each with the path from their directory to the current one. */
function ignoring(all: readonly { rules: IgnoreRule[]; path: string[] }[]): IgnoreRules {
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
