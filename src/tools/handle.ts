import type { Stats } from 'node:fs'
import { join, resolve } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import { nearest } from '../domain/nearest.ts'
import {
  type Kind,
  nothingProtected,
  type OpenDirectory,
  type OpenFile,
  type PathAddress,
  type PathHandle,
} from '../domain/path-handle.ts'
import { isWithin } from '../domain/within.ts'
import { type Disk, directDisk, patientDisk } from './disk.ts'
import {
  type End,
  follow,
  fromRoot,
  isSame,
  namesBelow,
  type Opened,
  openInside,
  type Root,
  type Way,
} from './inside.ts'
import { changed, kindOf, outside, wrongKind } from './path-refusals.ts'
import { takePlace } from './place.ts'
import { realPlaces } from './protected-places.ts'
import { shownName } from './shown-name.ts'

const longestPath = 4096
// Names that are looked through for one that was meant.
const mostCandidates = 500
const longestCandidate = 80

/**
 * The handle of a path that was asked for. Nothing in the text is expanded or decoded: `~`, `%2e`, `@` and `file://` are
 * letters of a name. Throws when the text cannot be a path; where it leads is found out when it is used.
 */
export function pathHandle(
  { folder, path: text, protect = nothingProtected }: PathAddress,
  disk: Disk = patientDisk,
): PathHandle {
  checkSpelling(text)
  const given = resolve(folder)
  const asked = resolve(given, text)
  const shown = isWithin(asked, given) ? fromRoot({ path: given }, asked) : asked
  return handleOf(shown, { folder, path: text, protect }, missing, async () => {
    const root = await rootAt({ folder: given, protect }, disk)
    // The folder may have been given by another name than its real one.
    const base = [given, root.path].find((each) => isWithin(asked, each))
    if (base === undefined) return { root, end: { at: 'outside' } }
    return { root, end: await follow(root, root.path, asked.slice(base.length).split('/')) }
  })
}

/** The folder of an address, for a walk through it in a thread that may be held up. */
export function directRoot(address: PathAddress): Promise<Root> {
  return rootAt(address, directDisk)
}

async function rootAt({ folder, protect = nothingProtected }: Omit<PathAddress, 'path'>, disk: Disk): Promise<Root> {
  const path = await rootPath(disk, folder)
  return { path, protect, places: await realPlaces(disk, protect, path), disk }
}

/** The same for a thread that may be held up. */
export function directHandle(address: PathAddress): PathHandle {
  return pathHandle(address, directDisk)
}

type Missing = Extract<End, { at: 'missing' }>

function handleOf(
  shown: string,
  address: PathAddress,
  missing: (root: Root, shown: string, end: Missing) => HeddleError | Promise<HeddleError>,
  find: () => Promise<Way>,
): PathHandle {
  const inside = async (wanted: 'file' | 'directory') => {
    const { root, end } = await find()
    if (end.at === 'outside') throw outside(shown)
    if (end.at === 'missing') throw await missing(root, shown, end)
    const opened = await openAs(wanted, root, shown, end)
    return { root, path: end.path, opened }
  }
  return {
    shown: shownName(shown),
    address,
    look: () =>
      explaining(shown, async () => {
        const { root, end } = await find()
        if (end.at !== 'inside') return { kind: end.at }
        const { path, stats } = end
        const names = namesBelow(root, path)
        const kind = kindOf(stats)
        if (kind === 'link' || kind === 'other') return { kind: 'other', path, names, bytes: 0 }
        const { file, stats: opened } = await openAs(kind, root, shown, end)
        await file.close()
        return { kind, path, names, bytes: opened.size }
      }),
    async openFile(use) {
      const { root, path, opened } = await explaining(shown, () => inside('file'))
      return use(openFile(namesBelow(root, path), opened)).finally(() => opened.file.close())
    },
    async openDirectory(use) {
      const { root, path, opened } = await explaining(shown, () => inside('directory'))
      return use(openDirectory(root, shown, path, opened)).finally(() => opened.file.close())
    },
    async replaceFile(decide) {
      const place = await explaining(shown, () => find().then((way) => takePlace(shown, way)))
      try {
        const { fate, answer } = await decide(place)
        await explaining(shown, () => place.become(fate), 'written')
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
): Promise<Opened> {
  // Not even opened: some devices act on that alone.
  if (kindOf(stats) !== wanted) throw wrongKind(wanted, shown, stats)
  const opened = await openInside(root, path)
  if (!opened) throw outside(shown)
  if (kindOf(opened.stats) === wanted) return opened
  await opened.file.close()
  throw wrongKind(wanted, shown, opened.stats)
}

function openFile(names: string[], { file, stats }: Opened): OpenFile {
  return { names, bytes: stats.size, read: async (into, position) => file.read(into, position) }
}

function openDirectory(root: Root, shown: string, path: string, { stats, byDescriptor }: Opened): OpenDirectory {
  const base = byDescriptor ?? path
  return {
    names: namesBelow(root, path),
    async *entries() {
      // Without descriptors no name is told before it is clear that it is of what was opened.
      const held: { name: string; kind: Kind }[] = []
      for await (const entry of root.disk.entries(base)) {
        const found = { name: entry.name, kind: kindOf(entry) }
        if (byDescriptor === undefined) held.push(found)
        else yield found
      }
      if (byDescriptor === undefined && !(await isSame(root, stats, path))) throw changed(shown)
      yield* held
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
      return markOf(await root.disk.lstat(`${base}/${name}`))
    },
    at: (name) => {
      const below = shown === '.' ? name : join(shown, name)
      // Nobody who goes through a directory can have meant another name.
      return handleOf(below, { folder: root.path, path: below, protect: root.protect }, gone, async () => ({
        root,
        end: await follow(root, path, [name]),
      }))
    },
  }
}

/** Differs as soon as a file was changed: its `ctime` is the system's to set, so no program can make a change look like none. */
export function markOf({ ino, size, mode, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mode} ${ctimeMs}`
}

function checkSpelling(text: string): void {
  const why =
    (text === '' && 'a path must not be empty: . is the folder') ||
    (/[\p{Cc}\u2028\u2029]/u.test(text) && 'a path must not hold control characters') ||
    (text.includes('\\') && 'a path is written with /, not with \\') ||
    (!text.isWellFormed() && 'a path must be well-formed text') ||
    (Buffer.byteLength(text) > longestPath && `a path has at most ${longestPath} bytes`)
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

/** What the system refuses, in words that tell what to do. */
async function explaining<T>(shown: string, act: () => Promise<T>, done: 'opened' | 'written' = 'opened'): Promise<T> {
  try {
    return await act()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof HeddleError || code === undefined) throw error
    // It was there a moment ago.
    if (['ENOENT', 'ELOOP', 'ENOTDIR'].includes(code)) throw changed(shown)
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

/** Tells what was probably meant: the nearest name where the path breaks off. */
async function missing(root: Root, shown: string, { directory, name }: Missing): Promise<HeddleError> {
  const place = fromRoot(root, directory)
  const candidates = name.length > longestCandidate ? [] : await namesIn(root, directory)
  const close = nearest(name, candidates)
  const meant = close === undefined ? undefined : shownName(place === '.' ? close : join(place, close))
  const remedy =
    meant === undefined ? `list_dir with path ${shownName(place)} shows what is there` : `did you mean ${meant}?`
  return new HeddleError('missing', `there is no ${shownName(shown)}`, remedy)
}

async function namesIn(root: Root, directory: string): Promise<string[]> {
  const names: string[] = []
  const opened = await openInside(root, directory).catch(() => undefined)
  if (!opened) return names
  try {
    for await (const { name } of openDirectory(root, '.', directory, opened).entries())
      if (name.length <= longestCandidate && names.push(name) >= mostCandidates) break
    return names
  } catch {
    return names
  } finally {
    await opened.file.close()
  }
}
