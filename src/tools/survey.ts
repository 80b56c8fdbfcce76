import { HeddleError } from '../domain/errors.ts'
import type { OpenDirectory, PathAddress, PathHandle } from '../domain/path-handle.ts'
import type { TouchedFiles } from '../domain/touched.ts'
import { directHandle } from './handle.ts'
import { type Ignoring, ignoringIn } from './ignore.ts'

/** Entries of a folder that are looked at before and after each command. */
export const mostSurveyed = 20_000
const mostNamed = 200
// Whoever fills them says so in files that are looked at.
const packages = 'node_modules'
const ignored = 'ignored files'
const ignoreFile = /(^|\/)\.(git)?ignore$/

/**
 * The files of a folder by their paths, each with its mark, without what ignore files hide: one text, since it goes from
 * thread to thread. Meant for a thread of its own.
 */
export async function survey(folder: PathAddress): Promise<Survey | 'tooMany'> {
  const surveyed = await marksIn(directHandle(folder))
  return surveyed === 'tooMany' ? surveyed : { ...surveyed, marks: writeMarks(surveyed.marks) }
}

/** What a survey saw. */
export interface Survey<Marks = string> {
  marks: Marks
  /** Files and directories that ignore files hide, packages and `.git`: not looked at. */
  hidden: string[]
  /** Kinds of files that were not looked at, in words. */
  passedOver: string[]
}

/** Kinds of files that are left when those are looked at that surveys hide. */
export function otherKinds(passedOver: readonly string[]): string[] {
  return passedOver.filter((kind) => kind !== ignored && kind !== packages)
}

/** What is compared: a folder with what a survey of it said before. */
export interface Comparison {
  folder: PathAddress
  before: Pick<Survey, 'marks' | 'passedOver'>
}

/** What became of a folder since it was surveyed, and what surveys hide there now. */
export async function touchedSince({
  folder,
  before,
}: Comparison): Promise<{ touched: TouchedFiles; hidden: string[] } | 'tooMany'> {
  const handle = directHandle(folder)
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
  const sight = await handle.look()
  const touched = named('path' in sight ? sight.path : folder.folder, { changed, removed, created })
  // What git would run there is guarded by itself.
  const unseen = [...new Set([...before.passedOver, ...surveyed.passedOver])].filter((name) => name !== '.git').sort()
  return { touched: { ...touched, ...(unseen.length > 0 && { passedOver: unseen }) }, hidden: surveyed.hidden }
}

/** What is hidden by now is not removed. */
async function missingOf(folder: PathAddress, paths: string[]): Promise<string[]> {
  const missing: string[] = []
  for (const path of paths) {
    if (await isMissing({ ...folder, path })) missing.push(path)
  }
  return missing
}

async function isMissing(address: PathAddress): Promise<boolean> {
  try {
    return (await directHandle(address).look()).kind === 'missing'
  } catch {
    return true
  }
}

/** What was taken away or changed is named before what is new. */
function named(folder: string, touched: Pick<TouchedFiles, 'changed' | 'removed' | 'created'>): TouchedFiles {
  let room = mostNamed
  const some = (paths: string[]) => {
    const first = paths.slice(0, room)
    room -= first.length
    return first
  }
  const [changed, removed, created] = [some(touched.changed), some(touched.removed), some(touched.created)]
  const all = touched.changed.length + touched.removed.length + touched.created.length
  return { folder, created, changed, removed, more: all - (mostNamed - room) }
}

/** The marks of a file, before and after; undefined where there was none. */
export interface Difference {
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

/** The marks of all files of a folder, and which of them were passed over. */
export async function marksIn(folder: PathHandle): Promise<Survey<Map<string, string>> | 'tooMany'> {
  const surveyed: Surveyed = { marks: new Map(), hidden: [], passedOver: new Set(), left: mostSurveyed }
  const below = await folder.openDirectory(async (directory) =>
    takeMarks(surveyed, '', directory, await ignoringIn(directory)),
  )
  // Grows while it is gone through.
  for (const { path, name, handle, ignoring } of below) {
    if (surveyed.left < 0) return 'tooMany'
    const deeper = await handle
      .openDirectory(async (directory) =>
        takeMarks(surveyed, `${path}/`, directory, await ignoring.below(name, directory)),
      )
      .catch((error) => {
        // What is hidden from agents is no part of the folder.
        if (!(error instanceof HeddleError && error.code === 'forbidden'))
          surveyed.passedOver.add('directories that cannot be read')
        return []
      })
    below.push(...deeper)
  }
  if (surveyed.left < 0) return 'tooMany'
  return { marks: surveyed.marks, hidden: surveyed.hidden, passedOver: [...surveyed.passedOver].sort() }
}

interface Surveyed {
  marks: Map<string, string>
  hidden: string[]
  passedOver: Set<string>
  /** How many more entries may come. */
  left: number
}

/** A directory that is still to be looked into. */
interface Below {
  path: string
  name: string
  handle: PathHandle
  ignoring: Ignoring
}

async function takeMarks(
  surveyed: Surveyed,
  prefix: string,
  directory: OpenDirectory,
  ignoring: Ignoring,
): Promise<Below[]> {
  const below: Below[] = []
  for await (const { name, kind } of directory.entries()) {
    if (--surveyed.left < 0) break
    // Decoding has replaced some of its bytes: the file cannot be opened by this name, or another one has it too.
    if (name.includes('\ufffd')) surveyed.passedOver.add('files whose names are not UTF-8')
    const path = prefix + name
    if (name === packages || ignoring.hides(name, kind === 'directory')) {
      surveyed.passedOver.add(name === packages || name === '.git' ? name : ignored)
      surveyed.hidden.push(path)
      continue
    }
    if (kind === 'directory') below.push({ path, name, handle: directory.at(name), ignoring })
    else {
      // Gone again, or not to be looked at: nothing can be told of it.
      const mark = await directory.mark(name).catch(() => undefined)
      if (mark !== undefined) surveyed.marks.set(path, mark)
    }
  }
  return below
}
