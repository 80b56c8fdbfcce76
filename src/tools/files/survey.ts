import { HeddleError } from '../../domain/errors.ts'
import type { OpenDirectory, PathAddress, PathHandle } from '../../domain/tools/path-handle.ts'
import type { TouchedFiles } from '../../domain/tools/touched.ts'
import { syncHandle } from './handle.ts'
import { type IgnoreRules, ownIgnoreRules, packages } from './ignore.ts'

/** Max entries of a folder to survey before and after each command. */
export const maxSurveyed = 20_000
const maxNamed = 200
const ignored = 'ignored files'
/** A name that says nothing: a word. */
export const plainName = /^[\w.-]{1,40}$/
const ignoreFile = /(^|\/)\.(git)?ignore$/

/**
 * Fingerprints of a folder's files by path, without ignored ones; one text, since it is passed between threads. Runs in a
 * worker thread.
 */
export async function survey(folder: PathAddress): Promise<Survey | 'tooMany'> {
  const surveyed = await marksIn(syncHandle(folder))
  return surveyed === 'tooMany' ? surveyed : { ...surveyed, marks: writeMarks(surveyed.marks) }
}

/** Result of a survey. */
interface Survey<Marks = string> {
  marks: Marks
  /** Directories whose names are more than a plain word. */
  directories: string[]
  /** Ignored files and directories, packages and `.git`: not surveyed. */
  hidden: string[]
  /** Kinds of files that were not surveyed, in words. */
  passedOver: string[]
}

/** Kinds of files that are not surveyed even when hidden files are. */
export function otherKinds(passedOver: readonly string[]): string[] {
  return passedOver.filter((kind) => kind !== ignored && kind !== packages)
}

/** A folder, and an earlier survey to compare it with. */
export interface Comparison {
  folder: PathAddress
  before: Pick<Survey, 'marks' | 'directories' | 'passedOver'>
}

/** Changes in a folder since a survey, the fingerprints of all that changed, and its hidden paths now. */
export async function touchedSince({
  folder,
  before,
}: Comparison): Promise<
  | { touched: TouchedFiles; marks: [path: string, mark: string | null][]; hidden: string[]; directories: string[] }
  | 'tooMany'
> {
  const handle = syncHandle(folder)
  const surveyed = await marksIn(handle)
  if (surveyed === 'tooMany') return surveyed
  const found = [...differences(readMarks(before.marks), surveyed.marks)]
  const paths = (wanted: (change: Difference) => boolean) =>
    found.flatMap(([path, change]) => (wanted(change) ? [path] : [])).sort()
  const changed = paths(({ was, is }) => was !== undefined && is !== undefined)
  const created = paths(({ was }) => was === undefined)
  const gone = paths(({ is }) => is === undefined)
  const isOtherwiseHidden = [...changed, ...created, ...gone].some((path) => ignoreFile.test(path))
  const removed = isOtherwiseHidden ? await missingOf(folder, gone) : gone
  const status = await handle.stat()
  const touched = limitPaths('path' in status ? status.path : folder.folder, { changed, removed, created })
  // The exec guard watches what git would run there.
  const unseen = [...new Set([...before.passedOver, ...surveyed.passedOver])].filter((name) => name !== '.git').sort()
  const directories = surveyed.directories.filter((path) => !before.directories.includes(path))
  const marks = [...changed, ...removed, ...created].map((path): [string, string | null] => [
    path,
    surveyed.marks.get(path) ?? null,
  ])
  return {
    marks,
    touched: { ...touched, ...(unseen.length > 0 && { passedOver: unseen }) },
    hidden: surveyed.hidden,
    directories,
  }
}

/** Paths that are really gone, not just ignored by now. */
async function missingOf(folder: PathAddress, paths: string[]): Promise<string[]> {
  const missing: string[] = []
  for (const path of paths) {
    if (await isMissing({ ...folder, path })) missing.push(path)
  }
  return missing
}

async function isMissing(address: PathAddress): Promise<boolean> {
  try {
    return (await syncHandle(address).stat()).kind === 'missing'
  } catch {
    return true
  }
}

/** Limits the listed paths; changed and removed ones come before new ones. */
function limitPaths(folder: string, touched: Pick<TouchedFiles, 'changed' | 'removed' | 'created'>): TouchedFiles {
  let room = maxNamed
  const some = (paths: string[]) => {
    const first = paths.slice(0, room)
    room -= first.length
    return first
  }
  const [changed, removed, created] = [some(touched.changed), some(touched.removed), some(touched.created)]
  const all = touched.changed.length + touched.removed.length + touched.created.length
  return { folder, created, changed, removed, more: all - (maxNamed - room) }
}

/** Fingerprints of a file before and after; undefined if it did not exist. */
interface Difference {
  was: string | undefined
  is: string | undefined
}

export function differences(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Map<string, Difference> {
  const paths = new Set([...before.keys(), ...after.keys()])
  const all = [...paths].map((path): [string, Difference] => [path, { was: before.get(path), is: after.get(path) }])
  return new Map(all.filter(([, { was, is }]) => was !== is))
}

export function writeMarks(marks: ReadonlyMap<string, string>): string {
  return [...marks].flat().join('\0')
}

export function readMarks(text: string): Map<string, string> {
  const marks = new Map<string, string>()
  const words = text === '' ? [] : text.split('\0')
  for (let at = 0; at < words.length; at += 2) marks.set(words[at] ?? '', words[at + 1] ?? '')
  return marks
}

/** Surveys all files of a folder. */
export async function marksIn(folder: PathHandle): Promise<Survey<Map<string, string>> | 'tooMany'> {
  const surveyed: Surveyed = { marks: new Map(), directories: [], hidden: [], passedOver: new Set(), left: maxSurveyed }
  const below = await folder.openDirectory(async (directory) =>
    takeMarks(surveyed, '', directory, await ownIgnoreRules(directory)),
  )
  // The loop appends to this list.
  for (const { path, name, handle, ignoring } of below) {
    if (surveyed.left < 0) return 'tooMany'
    const deeper = await handle
      .openDirectory(async (directory) =>
        takeMarks(surveyed, `${path}/`, directory, await ignoring.below(name, directory)),
      )
      .catch((error) => {
        // Paths hidden from agents are not part of the folder.
        if (!(error instanceof HeddleError && error.code === 'forbidden'))
          surveyed.passedOver.add('directories that cannot be read')
        return []
      })
    below.push(...deeper)
  }
  if (surveyed.left < 0) return 'tooMany'
  const { marks, directories, hidden, passedOver } = surveyed
  return { marks, directories, hidden, passedOver: [...passedOver].sort() }
}

interface Surveyed {
  marks: Map<string, string>
  directories: string[]
  hidden: string[]
  passedOver: Set<string>
  /** Number of further entries allowed. */
  left: number
}

/** A directory still to be surveyed. */
interface Below {
  path: string
  name: string
  handle: PathHandle
  ignoring: IgnoreRules
}

async function takeMarks(
  surveyed: Surveyed,
  prefix: string,
  directory: OpenDirectory,
  ignoring: IgnoreRules,
): Promise<Below[]> {
  const below: Below[] = []
  for await (const { name, kind } of directory.entries()) {
    if (--surveyed.left < 0) break
    // Decoding replaced some bytes: the file cannot be opened by this name, or another file has it.
    if (name.includes('\ufffd')) surveyed.passedOver.add('files whose names are not UTF-8')
    const path = prefix + name
    if (name === packages || ignoring.hides(name, kind === 'directory')) {
      surveyed.passedOver.add(name === packages || name === '.git' ? name : ignored)
      surveyed.hidden.push(path)
      continue
    }
    if (kind === 'directory' && !plainName.test(name)) surveyed.directories.push(path)
    if (kind === 'directory') below.push({ path, name, handle: directory.at(name), ignoring })
    else {
      // Already gone, or unreadable.
      const mark = await directory.mark(name).catch(() => undefined)
      if (mark !== undefined) surveyed.marks.set(path, mark)
    }
  }
  return below
}
