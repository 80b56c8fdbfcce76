import type { Stats } from 'node:fs'
import { join, resolve } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import { nearest } from '../../domain/text/nearest.ts'
import {
  type Kind,
  nothingProtected,
  type OpenDirectory,
  type OpenFile,
  type PathAddress,
  type PathHandle,
} from '../../domain/tools/path-handle.ts'
import { isWithin } from '../../domain/tools/within.ts'
import { isAmong, realPlaces } from '../guard/protected-places.ts'
import { asyncDisk, type Disk, syncDisk } from './disk.ts'
import { fileFingerprint, fileTimes } from './fingerprint.ts'
import {
  follow,
  fromRoot,
  isSame,
  namesBelow,
  type OpenedPath,
  openInside,
  type PathEnd,
  type ResolvedPath,
  type Root,
} from './inside.ts'
import { changedFileError, kindOf, outsideFolderError, wrongKind } from './path-refusals.ts'
import { holdLocation } from './place.ts'
import { shownName } from './shown-name.ts'

const maxPathBytes = 4096
// Max names to compare for a "did you mean".
const maxCandidates = 500
const maxCandidateLength = 80

/**
 * Handle of a requested path. Nothing in the text is expanded or decoded: `~`, `%2e`, `@` and `file://` are literal. Throws
 * if the text cannot be a path; it is resolved when the handle is used.
 */
export function pathHandle(
  { folder, path: text, protect = nothingProtected }: PathAddress,
  disk: Disk = asyncDisk,
): PathHandle {
  checkSpelling(text)
  const folderPath = resolve(folder)
  const requested = resolve(folderPath, text)
  const shown = isWithin(requested, folderPath) ? fromRoot({ path: folderPath }, requested) : requested
  return handleOf(shown, { folder, path: text, protect }, missing, async () => {
    const root = await rootAt({ folder: folderPath, protect }, disk)
    // The folder may be given by a link instead of its real path.
    const base = [folderPath, root.path].find((each) => isWithin(requested, each))
    if (base === undefined) return { root, end: { at: 'outside' } }
    return { root, end: await follow(root, root.path, requested.slice(base.length).split('/')) }
  })
}

/** Root of an address, for a synchronous walk in a worker thread. */
export function syncRoot(address: PathAddress): Promise<Root> {
  return rootAt(address, syncDisk)
}

async function rootAt({ folder, protect = nothingProtected }: Omit<PathAddress, 'path'>, disk: Disk): Promise<Root> {
  const path = await rootPath(disk, folder)
  return { path, protect, places: await realPlaces(disk, protect, path), disk }
}

/** Synchronous handle for worker threads. */
export function syncHandle(address: PathAddress): PathHandle {
  return pathHandle(address, syncDisk)
}

type Missing = Extract<PathEnd, { at: 'missing' }>

function handleOf(
  shown: string,
  address: PathAddress,
  missing: (root: Root, shown: string, end: Missing) => HeddleError | Promise<HeddleError>,
  find: () => Promise<ResolvedPath>,
): PathHandle {
  const inside = async (wanted: 'file' | 'directory') => {
    const { root, end } = await find()
    if (end.at === 'outside') throw outsideFolderError(shown)
    if (end.at === 'missing') throw await missing(root, shown, end)
    const opened = await openAs(wanted, root, shown, end)
    return { root, path: end.path, opened }
  }
  return {
    shown: shownName(shown),
    address,
    stat: () =>
      withExplainedErrors(shown, async () => {
        const { root, end } = await find()
        if (end.at !== 'inside') return { kind: end.at }
        const { path, stats } = end
        const names = namesBelow(root, path)
        const kind = kindOf(stats)
        if (kind === 'link' || kind === 'other')
          return { kind: 'other', path, names, bytes: 0, times: fileTimes(stats), links: stats.nlink }
        const { file, stats: opened } = await openAs(kind, root, shown, end)
        await file.close()
        return { kind, path, names, bytes: opened.size, times: fileTimes(opened), links: opened.nlink }
      }),
    async openFile(use) {
      const { root, path, opened } = await withExplainedErrors(shown, () => inside('file'))
      return use(openFile(namesBelow(root, path), opened)).finally(() => opened.file.close())
    },
    async openDirectory(use) {
      const { root, path, opened } = await withExplainedErrors(shown, () => inside('directory'))
      return use(openDirectory(root, shown, path, opened)).finally(() => opened.file.close())
    },
    async replaceFile(decide, onWritten) {
      const place = await withExplainedErrors(shown, () => find().then((way) => holdLocation(shown, way)))
      try {
        const { state, answer } = await decide(place)
        const times = await withExplainedErrors(shown, () => place.applyState(state), 'written')
        if (times) onWritten?.(times)
        return answer
      } finally {
        await place.leave()
      }
    },
  }
}

async function openAs(
  wanted: 'file' | 'directory',
  root: Root,
  shown: string,
  { path, stats }: { path: string; stats: Stats },
): Promise<OpenedPath> {
  // Not even opened: opening alone has an effect on some devices.
  if (kindOf(stats) !== wanted) throw wrongKind(wanted, shown, stats)
  const opened = await openInside(root, path)
  if (!opened) throw outsideFolderError(shown)
  if (kindOf(opened.stats) === wanted) return opened
  await opened.file.close()
  throw wrongKind(wanted, shown, opened.stats)
}

function openFile(names: string[], { file, stats }: OpenedPath): OpenFile {
  return { names, bytes: stats.size, read: async (into, position) => file.read(into, position) }
}

function openDirectory(root: Root, shown: string, path: string, { stats, byDescriptor }: OpenedPath): OpenDirectory {
  const base = byDescriptor ?? path
  return {
    names: namesBelow(root, path),
    async *entries() {
      // Without descriptors, yield no name before it is clear that the directory was not swapped.
      const pending: { name: string; kind: Kind }[] = []
      for await (const entry of root.disk.entries(base)) {
        const found = { name: entry.name, kind: kindOf(entry) }
        if (byDescriptor === undefined) pending.push(found)
        else yield found
      }
      if (byDescriptor === undefined && !(await isSame(root, stats, path))) throw changedFileError(shown)
      yield* pending
    },
    async bytes(names) {
      const sizes: number[] = []
      for (const name of names)
        try {
          sizes.push((await root.disk.lstat(`${base}/${name}`)).size)
        } catch {
          sizes.push(0)
        }
      return sizes
    },
    has: async (name) => (await root.disk.find(`${base}/${name}`)) !== undefined,
    async mark(name) {
      return fileFingerprint(await root.disk.lstat(`${base}/${name}`))
    },
    async content(name, maxBytes) {
      // Only a descriptor proves that the directory is still the one that was opened.
      if (byDescriptor === undefined || isAmong(root.places.hidden, join(path, name))) return undefined
      const file = await root.disk.open(`${base}/${name}`)
      try {
        const found = await file.stat()
        // By another name it may be a file that is hidden.
        if (!found.isFile() || found.nlink > 1 || found.size > maxBytes) return undefined
        const bytes = Buffer.allocUnsafeSlow(found.size)
        const count = found.size === 0 ? 0 : await file.read(bytes, 0)
        const mark = fileFingerprint(found)
        return count === found.size && fileFingerprint(await file.stat()) === mark
          ? { mark, times: fileTimes(found), bytes }
          : undefined
      } finally {
        await file.close()
      }
    },
    at: (name) => {
      const below = shown === '.' ? name : join(shown, name)
      // No "did you mean": the name comes from a directory listing.
      return handleOf(below, { folder: root.path, path: below, protect: root.protect }, gone, async () => ({
        root,
        end: await follow(root, path, [name]),
      }))
    },
  }
}

function checkSpelling(text: string): void {
  const why =
    (text === '' && 'a path must not be empty: . is the folder') ||
    (/[\p{Cc}\u2028\u2029]/u.test(text) && 'a path must not hold control characters') ||
    (text.includes('\\') && 'a path is written with /, not with \\') ||
    (!text.isWellFormed() && 'a path must be well-formed text') ||
    (Buffer.byteLength(text) > maxPathBytes && `a path has at most ${maxPathBytes} bytes`)
  if (why) throw new HeddleError('forbidden', why, 'give a plain path, such as src/main.ts')
}

async function rootPath(disk: Disk, folder: string): Promise<string> {
  try {
    return await disk.realpath(folder)
  } catch (cause) {
    const message = `the folder ${folder} of this session cannot be reached`
    const remedy = 'tell the user; nothing can be read until it is back'
    throw new HeddleError('folder_missing', message, remedy, { cause })
  }
}

/** Turns system errors into messages with a remedy. */
async function withExplainedErrors<T>(
  shown: string,
  act: () => Promise<T>,
  done: 'opened' | 'written' = 'opened',
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof HeddleError || code === undefined) throw error
    // It existed a moment ago.
    if (['ENOENT', 'ELOOP', 'ENOTDIR'].includes(code)) throw changedFileError(shown)
    const forbidden = done === 'opened' ? 'its permissions do not let it be read' : 'the permissions do not allow it'
    const why = {
      EACCES: forbidden,
      EPERM: forbidden,
      ENAMETOOLONG: 'the name is too long',
      ENXIO: 'it is not a file',
      ENOSPC: 'the disk is full',
      EDQUOT: 'the disk is full',
      EROFS: 'the disk can only be read',
    }[code]
    const message = `${shownName(shown)} cannot be ${done}: ${why ?? (error as Error).message}`
    throw new HeddleError('unreadable', message, 'go on without it, or tell the user', { cause: error })
  }
}

function gone({ path }: Root, shown: string): HeddleError {
  return new HeddleError('missing', `there is no ${shownName(shown)}`, `list_dir shows what is in ${shownName(path)}`)
}

/** Suggests the nearest name at the point where the path stops existing. */
async function missing(root: Root, shown: string, { directory, name }: Missing): Promise<HeddleError> {
  const place = fromRoot(root, directory)
  const candidates = name.length > maxCandidateLength ? [] : await entryNames(root, directory)
  const close = nearest(name, candidates)
  const suggestion = close === undefined ? undefined : shownName(place === '.' ? close : join(place, close))
  const remedy =
    suggestion === undefined
      ? `list_dir with path ${shownName(place)} shows what is there`
      : `did you mean ${suggestion}?`
  return new HeddleError('missing', `there is no ${shownName(shown)}`, remedy)
}

async function entryNames(root: Root, directory: string): Promise<string[]> {
  const names: string[] = []
  const opened = await openInside(root, directory).catch(() => undefined)
  if (!opened) return names
  try {
    for await (const { name } of openDirectory(root, '.', directory, opened).entries())
      if (name.length <= maxCandidateLength && names.push(name) >= maxCandidates) break
    return names
  } catch {
    return names
  } finally {
    await opened.file.close()
  }
}
