import type { Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import type { Fate, FilePlace, FoundFile } from '../domain/path-handle.ts'
import type { Descriptor, NewFile } from './disk.ts'
import { isRunByGit } from './git-places.ts'
import { notForAgents } from './guarded-places.ts'
import { type End, namesBelow, type Opened, openInside, type Root, type Way } from './inside.ts'
import { changed, kindOf, outside, wrongKind } from './path-refusals.ts'
import { isAmong, readOnlyPlace } from './protected-places.ts'
import { shownName } from './shown-name.ts'

/** What is kept of a file before it is changed is held, packed and stored whole. */
const mostBytes = 20 * 1024 * 1024
const permissions = 0o777

/** A place for a file, held open: a change that somebody else makes of it meanwhile is noticed. */
export interface HeldPlace extends FilePlace {
  become(fate: Fate): Promise<void>
  /** Must be called, whatever became of the file. */
  leave(): Promise<void>
}

/**
 * Takes the place at the end of a way: its directory is opened and known to lie inside, and from then on only the
 * descriptor is used, so that links that are swapped meanwhile lead nowhere.
 */
export async function takePlace(shown: string, { root, end }: Way): Promise<HeldPlace> {
  const { directory, names } = placeOf(shown, end)
  const opened = await openInside(root, directory)
  if (!opened) throw outside(shown)
  const refusal = await whyNotWritten(root, shown, join(opened.real, ...names))
  if (refusal) {
    await opened.file.close()
    throw refusal
  }
  return holdOpen(root, shown, opened, names, end.at === 'inside').catch(async (error) => {
    await opened.file.close()
    throw error
  })
}

async function whyNotWritten(root: Root, shown: string, path: string): Promise<HeddleError | undefined> {
  if (isAmong(root.places.readOnly, path)) return readOnlyPlace(shown)
  return (await isRunByGit(root, path)) ? notForAgents(shown, 'git runs what stands there, or obeys it') : undefined
}

/** The directory that is there, and the names from it to the file: more than one where directories are missing. */
function placeOf(shown: string, end: End): { directory: string; names: string[] } {
  if (end.at === 'outside') throw outside(shown)
  if (end.at === 'inside') {
    if (kindOf(end.stats) !== 'file') throw wrongKind('file', shown, end.stats)
    return { directory: dirname(end.path), names: [basename(end.path)] }
  }
  const names = [end.name, ...end.rest.filter((name) => name !== '' && name !== '.')]
  // Only the target of a link can say this: up from what is not there leads nowhere.
  if (names.includes('..')) throw changed(shown)
  return { directory: end.directory, names }
}

async function holdOpen(
  root: Root,
  shown: string,
  directory: Opened,
  names: string[],
  isThere: boolean,
): Promise<HeldPlace> {
  if (!directory.stats.isDirectory()) throw changed(shown)
  const path = join(baseOf(directory), names[0] ?? '')
  const found =
    isThere || (names.length === 1 && (await isFileAt(root, shown, path))) ? await readAt(root, shown, path) : undefined
  return {
    folder: root.path,
    names: [...namesBelow(root, directory.real), ...names],
    before: found?.file,
    become: (fate) => become(root, shown, directory, names, found, fate),
    leave: async () => void (await Promise.all([directory.file.close(), found?.opened.close()])),
  }
}

interface Found {
  file: FoundFile
  stats: Stats
  /** Stays open while the place is held: no other file can get its number meanwhile. */
  opened: Descriptor
}

/** What is something else is not even opened: some devices act on that alone. */
async function isFileAt(root: Root, shown: string, path: string): Promise<boolean> {
  const seen = await root.disk.find(path)
  if (seen && kindOf(seen) !== 'file') throw wrongKind('file', shown, seen)
  return seen !== undefined
}

async function readAt(root: Root, shown: string, path: string): Promise<Found> {
  const opened = await openInside(root, path)
  if (!opened) throw outside(shown)
  const { file, stats } = opened
  try {
    if (kindOf(stats) !== 'file') throw wrongKind('file', shown, stats)
    if (stats.size > mostBytes) throw tooLarge(shown, stats.size)
    const into = Buffer.allocUnsafe(stats.size)
    let filled = 0
    for (let count = -1; filled < into.length && count !== 0; filled += count)
      count = await file.read(into.subarray(filled), filled)
    return { file: { bytes: into.subarray(0, filled), mode: stats.mode & permissions }, stats, opened: file }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function become(
  root: Root,
  shown: string,
  directory: Opened,
  names: string[],
  found: Found | undefined,
  fate: Fate,
): Promise<void> {
  if (fate === 'kept') return
  if (fate === 'removed') {
    if (!found) return
    await mustBeAsFound(root, shown, directory, names[0] ?? '', found)
    await root.disk.remove(join(baseOf(directory), names[0] ?? ''))
    return syncNames(directory)
  }
  await inDirectory(root, shown, directory, names, async (last, name) => {
    const { path: temporary, file } = await writeBeside(
      root,
      last,
      fate.bytes,
      fate.mode ?? found?.file.mode,
      found?.stats,
    )
    try {
      await both(file.close(), mustBeAsFound(root, shown, last, name, found))
      await root.disk.rename(temporary, join(baseOf(last), name))
    } catch (error) {
      await root.disk.remove(temporary).catch(() => undefined)
      throw error
    }
    await syncNames(last)
    await mustBeThere(root, shown, last)
  })
}

/** Makes the directories that are missing, each by the descriptor of the one above. */
async function inDirectory(
  root: Root,
  shown: string,
  directory: Opened,
  [name = '', ...rest]: string[],
  use: (directory: Opened, name: string) => Promise<void>,
): Promise<void> {
  if (rest.length === 0) return use(directory, name)
  const path = join(baseOf(directory), name)
  await root.disk.makeDirectory(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await syncNames(directory)
  const next = await openInside(root, path)
  if (!next) throw outside(shown)
  try {
    if (!next.stats.isDirectory() || next.real !== join(directory.real, name)) throw changed(shown)
    await inDirectory(root, shown, next, rest, use)
  } finally {
    await next.file.close()
  }
}

const temporaryName = /^\.heddle-\d+-\d+\.tmp$/
const leftBehind = 60_000
// Whoever keeps more beside a file finds what a killed process left there by its name.
const mostLookedThrough = 10_000
// Directories that were looked through, each with when: what is left there grows old enough only after a while.
const lookedThrough = new Map<string, number>()
const mostRemembered = 1000
let made = 0

/** Writes a file that nobody knows of yet, wholly on the disk when this resolves, and still open. */
async function writeBeside(
  { disk }: Root,
  directory: Opened,
  bytes: Buffer,
  mode: number | undefined,
  like: Stats | undefined,
): Promise<{ path: string; file: NewFile }> {
  const [path, file] = await newFileIn()
  try {
    const [own] = await both(file.stat(), file.write(bytes))
    // Only the superuser may give files away; anybody else's become the writer's.
    const isOthers = like && (like.uid !== own.uid || like.gid !== own.gid)
    if (isOthers) await file.setOwner(like.uid, like.gid).catch(() => undefined)
    if (mode !== undefined && (isOthers || mode !== (own.mode & permissions))) await file.setMode(mode)
    await both(file.sync(), removeLeftBehind(own.mtimeMs))
    return { path, file }
  } catch (error) {
    await disk.remove(path).catch(() => undefined)
    await file.close()
    throw error
  }

  async function newFileIn(): Promise<[string, NewFile]> {
    for (;;) {
      const path = join(baseOf(directory), `.heddle-${process.pid}-${++made}.tmp`)
      try {
        return [path, await disk.create(path)]
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    }
  }

  /** What a process that was killed could not remove, told by the disk's own clock. */
  async function removeLeftBehind(now: number): Promise<void> {
    if (Math.abs(now - (lookedThrough.get(directory.real) ?? 0)) < leftBehind) return
    if (lookedThrough.size >= mostRemembered) lookedThrough.clear()
    lookedThrough.set(directory.real, now)
    let count = 0
    for await (const { name } of disk.entries(baseOf(directory))) {
      if (++count > mostLookedThrough) return
      if (!temporaryName.test(name)) continue
      const old = join(baseOf(directory), name)
      const stats = await disk.find(old)
      if (stats?.isFile() && now - stats.mtimeMs > leftBehind) await disk.remove(old).catch(() => undefined)
    }
  }
}

/** Waits for the end of both, also where one fails: what they use is closed next. */
async function both<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other])
  return [await one, await other]
}

/** Comes right before the change: somebody else's work between the look and now is not overwritten. */
async function mustBeAsFound(root: Root, shown: string, directory: Opened, name: string, found: Found | undefined) {
  await mustBeThere(root, shown, directory)
  const now = await root.disk.find(join(baseOf(directory), name))
  if (!now && !found) return
  const same = (['dev', 'ino', 'size', 'mtimeMs', 'ctimeMs'] as const).every((key) => now?.[key] === found?.stats[key])
  if (!same) throw changed(shown)
}

/** A directory that was moved away meanwhile is another place, although its descriptor is the same. */
async function mustBeThere({ disk }: Root, shown: string, { byDescriptor, real }: Opened): Promise<void> {
  const now = byDescriptor === undefined ? await disk.realpath(real) : disk.behind(byDescriptor)
  if (now !== real) throw changed(shown)
}

async function syncNames({ file }: Opened): Promise<void> {
  try {
    await file.sync()
  } catch (error) {
    // Some file systems have nothing to do here, and say it so.
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error
  }
}

/** A path that leads to the directory that was opened, whatever its name leads to by now. */
function baseOf({ byDescriptor, real }: Opened): string {
  return byDescriptor ?? real
}

function tooLarge(shown: string, bytes: number): HeddleError {
  const message = `${shownName(shown)} has ${bytes} bytes: what it holds could not be kept for an undo`
  return new HeddleError('too_large', message, 'write to another file, or ask the user to change this one')
}
