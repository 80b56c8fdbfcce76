import type { Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import type { FileContent, FileLocation, FileTimes, NewFileState } from '../../domain/tools/path-handle.ts'
import { isRunByGit } from '../guard/git-places.ts'
import { protectedPathError } from '../guard/guarded-places.ts'
import { isAmong, readOnlyPlace } from '../guard/protected-places.ts'
import type { Descriptor, NewFile } from './disk.ts'
import { fileTimes } from './fingerprint.ts'
import { namesBelow, type OpenedPath, openInside, type PathEnd, type ResolvedPath, type Root } from './inside.ts'
import { changedFileError, kindOf, outsideFolderError, wrongKind } from './path-refusals.ts'
import { shownName } from './shown-name.ts'

/** Max size: the old content is held in memory, compressed and stored for undo. */
const maxBytes = 20 * 1024 * 1024
const permissionBits = 0o777

/** A file's location, held open, so that a concurrent change by another process is detected. */
interface HeldLocation extends FileLocation {
  /** Returns the times of a file that was written. */
  applyState(state: NewFileState): Promise<FileTimes | undefined>
  /** Must always be called. */
  leave(): Promise<void>
}

/**
 * Opens the directory of a resolved path and verifies that it lies inside; from then on only the descriptor is used, so
 * that links swapped in meanwhile have no effect.
 */
export async function holdLocation(shown: string, { root, end }: ResolvedPath): Promise<HeldLocation> {
  const { directory, names } = placeOf(shown, end)
  const opened = await openInside(root, directory)
  if (!opened) throw outsideFolderError(shown)
  // In parallel: most of what git trusts lies elsewhere.
  const [trust, held] = await Promise.allSettled([
    whyNotWritten(root, shown, join(opened.real, ...names)),
    holdOpen(root, shown, opened, names, end.at === 'inside'),
  ])
  const refusal = trust.status === 'rejected' ? trust.reason : trust.value
  if (held.status === 'rejected') {
    await opened.file.close()
    throw refusal ?? held.reason
  }
  if (!refusal) return held.value
  await held.value.leave()
  throw refusal
}

async function whyNotWritten(root: Root, shown: string, path: string): Promise<HeddleError | undefined> {
  if (isAmong(root.places.readOnly, path)) return readOnlyPlace(shown)
  return (await isRunByGit(root, path))
    ? protectedPathError(shown, 'git runs it or reads it as configuration')
    : undefined
}

/** The deepest existing directory, and the names from there to the file: more than one if directories are missing. */
function placeOf(shown: string, end: PathEnd): { directory: string; names: string[] } {
  if (end.at === 'outside') throw outsideFolderError(shown)
  if (end.at === 'inside') {
    if (kindOf(end.stats) !== 'file') throw wrongKind('file', shown, end.stats)
    return { directory: dirname(end.path), names: [basename(end.path)] }
  }
  const names = [end.name, ...end.rest.filter((name) => name !== '' && name !== '.')]
  // Only a link's target can contain this, and `..` of a missing directory leads nowhere.
  if (names.includes('..')) throw changedFileError(shown)
  return { directory: end.directory, names }
}

async function holdOpen(
  root: Root,
  shown: string,
  directory: OpenedPath,
  names: string[],
  isThere: boolean,
): Promise<HeldLocation> {
  if (!directory.stats.isDirectory()) throw changedFileError(shown)
  const path = join(baseOf(directory), names[0] ?? '')
  const found =
    isThere || (names.length === 1 && (await isFileAt(root, shown, path))) ? await readAt(root, shown, path) : undefined
  return {
    folder: root.path,
    names: [...namesBelow(root, directory.real), ...names],
    before: found?.file,
    applyState: (state) => applyState(root, shown, directory, names, found, state),
    leave: async () => void (await Promise.all([directory.file.close(), found?.opened.close()])),
  }
}

interface Found {
  file: FileContent
  stats: Stats
  /** Stays open while the place is held, so that no other file can get its inode. */
  opened: Descriptor
}

/** Anything else is not even opened: opening alone has an effect on some devices. */
async function isFileAt(root: Root, shown: string, path: string): Promise<boolean> {
  const seen = await root.disk.find(path)
  if (seen && kindOf(seen) !== 'file') throw wrongKind('file', shown, seen)
  return seen !== undefined
}

async function readAt(root: Root, shown: string, path: string): Promise<Found> {
  const opened = await openInside(root, path)
  if (!opened) throw outsideFolderError(shown)
  const { file, stats } = opened
  try {
    if (kindOf(stats) !== 'file') throw wrongKind('file', shown, stats)
    if (stats.size > maxBytes) throw tooLargeToUndo(shown, stats.size)
    const into = Buffer.allocUnsafe(stats.size)
    let filled = 0
    for (let count = -1; filled < into.length && count !== 0; filled += count)
      count = await file.read(into.subarray(filled), filled)
    const [bytes, mode, times] = [into.subarray(0, filled), stats.mode & permissionBits, fileTimes(stats)]
    return { file: { bytes, mode, times }, stats, opened: file }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function applyState(
  root: Root,
  shown: string,
  directory: OpenedPath,
  names: string[],
  found: Found | undefined,
  state: NewFileState,
): Promise<FileTimes | undefined> {
  if (state === 'kept') return undefined
  if (state === 'removed') {
    if (!found) return undefined
    await assertUnchanged(root, shown, directory, names[0] ?? '', found)
    await root.disk.remove(join(baseOf(directory), names[0] ?? ''))
    await syncNames(directory)
    return undefined
  }
  return inCreatedDirectory(root, shown, directory, names, async (last, name) => {
    const {
      path: temporary,
      file,
      times,
    } = await writeBeside(root, last, state.bytes, state.mode ?? found?.file.mode, found?.stats)
    try {
      await both(file.close(), assertUnchanged(root, shown, last, name, found))
      await root.disk.rename(temporary, join(baseOf(last), name))
    } catch (error) {
      await root.disk.remove(temporary).catch(() => undefined)
      throw error
    }
    await syncNames(last)
    await assertNotMoved(root, shown, last)
    return times
  })
}

/** Creates missing directories, each through the descriptor of its parent. */
async function inCreatedDirectory<T>(
  root: Root,
  shown: string,
  directory: OpenedPath,
  [name = '', ...rest]: string[],
  use: (directory: OpenedPath, name: string) => Promise<T>,
): Promise<T> {
  if (rest.length === 0) return use(directory, name)
  const path = join(baseOf(directory), name)
  await root.disk.makeDirectory(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await syncNames(directory)
  const next = await openInside(root, path)
  if (!next) throw outsideFolderError(shown)
  try {
    if (!next.stats.isDirectory() || next.real !== join(directory.real, name)) throw changedFileError(shown)
    return await inCreatedDirectory(root, shown, next, rest, use)
  } finally {
    await next.file.close()
  }
}

const temporaryName = /^\.heddle-\d+-\d+\.tmp$/

/** Whether a file is named as the temporary ones that a write leaves behind for a moment. */
export function isTemporary(path: string): boolean {
  return temporaryName.test(basename(path))
}

const minLeftoverAge = 60_000
// In larger directories temporary files of killed processes are left for the user to remove.
const maxCleanedEntries = 10_000
// Time of the last cleanup per directory: leftovers must reach a min age anyway.
const cleanedAt = new Map<string, number>()
const maxRemembered = 1000
let temporaryCount = 0

/** Writes a temporary file; synced to disk when this resolves, and still open. */
async function writeBeside(
  { disk }: Root,
  directory: OpenedPath,
  bytes: Buffer,
  mode: number | undefined,
  like: Stats | undefined,
): Promise<{ path: string; file: NewFile; times: FileTimes }> {
  const [path, file] = await newFileIn()
  try {
    const [own] = await both(file.stat(), file.write(bytes))
    // Only root may change the owner; otherwise the file belongs to the writer.
    const isOthers = like && (like.uid !== own.uid || like.gid !== own.gid)
    if (isOthers) await file.setOwner(like.uid, like.gid).catch(() => undefined)
    if (mode !== undefined && (isOthers || mode !== (own.mode & permissionBits))) await file.setMode(mode)
    await both(file.sync(), removeLeftovers(own.mtimeMs))
    return { path, file, times: fileTimes(own) }
  } catch (error) {
    await disk.remove(path).catch(() => undefined)
    await file.close()
    throw error
  }

  async function newFileIn(): Promise<[string, NewFile]> {
    for (;;) {
      const path = join(baseOf(directory), `.heddle-${process.pid}-${++temporaryCount}.tmp`)
      try {
        return [path, await disk.create(path)]
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    }
  }

  /** Removes temporary files of killed processes; their age is measured by the disk's own clock. */
  async function removeLeftovers(now: number): Promise<void> {
    if (Math.abs(now - (cleanedAt.get(directory.real) ?? 0)) < minLeftoverAge) return
    if (cleanedAt.size >= maxRemembered) cleanedAt.clear()
    cleanedAt.set(directory.real, now)
    let count = 0
    for await (const { name } of disk.entries(baseOf(directory))) {
      if (++count > maxCleanedEntries) return
      if (!isTemporary(name)) continue
      const old = join(baseOf(directory), name)
      const stats = await disk.find(old)
      if (stats?.isFile() && now - stats.mtimeMs > minLeftoverAge) await disk.remove(old).catch(() => undefined)
    }
  }
}

/** Waits for both even if one fails, since the caller then closes what they use. */
async function both<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other])
  return [await one, await other]
}

/** Called right before the change, so that a concurrent change by another process is not overwritten. */
async function assertUnchanged(
  root: Root,
  shown: string,
  directory: OpenedPath,
  name: string,
  found: Found | undefined,
) {
  await assertNotMoved(root, shown, directory)
  const now = await root.disk.find(join(baseOf(directory), name))
  if (!now && !found) return
  const same = (['dev', 'ino', 'size', 'mtimeMs', 'ctimeMs'] as const).every((key) => now?.[key] === found?.stats[key])
  if (!same) throw changedFileError(shown, 'read it again: it was changed by someone else')
}

/** The descriptor stays valid if the directory is moved, but the path is then another one. */
async function assertNotMoved({ disk }: Root, shown: string, { byDescriptor, real }: OpenedPath): Promise<void> {
  const now = byDescriptor === undefined ? await disk.realpath(real) : disk.pathBehind(byDescriptor)
  if (now !== real) throw changedFileError(shown)
}

async function syncNames({ file }: OpenedPath): Promise<void> {
  try {
    await file.sync()
  } catch (error) {
    // Some file systems do not support syncing a directory.
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error
  }
}

/** Path to the opened directory, even if its name leads elsewhere by now. */
function baseOf({ byDescriptor, real }: OpenedPath): string {
  return byDescriptor ?? real
}

function tooLargeToUndo(shown: string, bytes: number): HeddleError {
  const message = `${shownName(shown)} has ${bytes} bytes: what it holds could not be kept for an undo`
  return new HeddleError('too_large', message, 'write to another file, or ask the user to change this one')
}
