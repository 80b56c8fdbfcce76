import { basename, dirname, join } from 'node:path'
import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import type { PathAddress } from '../domain/path-handle.ts'
import { isWithin } from '../domain/within.ts'
import {
  type GitPlaces,
  identityOf,
  inDirectory,
  isGitDirectory,
  noteGit,
  stateAt,
  type WatchedPath,
} from './git-places.ts'
import { directRoot } from './handle.ts'
import type { Root } from './inside.ts'
import { otherNamesOf, type TrustedInodes } from './other-names.ts'
import { isAmong } from './protected-places.ts'

/** Entries of a folder that are looked through before and after each command; with more, no command runs. */
export const maxGuardedEntries = 1_000_000
/** The names under which something was moved aside. */
export const asideName = /\.untrusted(-\d+)?$/
// Where a git directory keeps those of submodules and of further work trees.
const inGitDirectory = ['modules', 'worktrees']

/** A folder whose commands are to be guarded. */
export interface GuardRequest {
  folder: PathAddress
  /** By a steady clock. */
  now: Millis
  /** The hook directory that the user's own git configuration names. */
  globalHooksPath?: string | undefined
}

/** What commands in a folder must not change, as it was before one of them. */
export interface GuardedState extends GitPlaces {
  folder: string
  /** Links on the way to protected places, and protected places that are not there yet. */
  trusted: WatchedPath[]
  /** Files in the folder that are, by another name, files of a protected place. */
  otherNames: { path: string; isHidden: boolean }[]
}

/** What a command left behind that git or Heddle would have run. */
export interface GuardFindings {
  /** Moved to a name that nothing runs; paths from the folder on. */
  movedAside: { path: string; to: string }[]
  /** Links that lead where they did before. */
  restored: string[]
}

/** Looks through a folder for everything that a command must not change. Meant for a thread of its own. */
export async function guardedState(request: GuardRequest): Promise<GuardedState | 'tooMany'> {
  const root = await directRoot(request.folder)
  const trusted = await trustedPaths(root)
  const inodes = await otherNamesOf(root, request.now)
  const found = await walk(root, request, inodes)
  return found === 'tooMany' ? found : { folder: root.path, trusted, ...found }
}

/** A state that may hold what another command, still under way, has just made. */
export interface VetRequest {
  folder: PathAddress
  found: GuardedState
  /** What was there before each of those commands. */
  unfinished: GuardedState[]
}

/**
 * Leaves out what commands that are under way have made: it is moved aside when they end, and whoever took it for known
 * could then put something else in its place. Looks at everything once more, for the same reason.
 */
export async function vetted({ folder, found, unfinished }: VetRequest): Promise<GuardedState> {
  const root = await directRoot(folder)
  const others = (path: string) => unfinished.filter((state) => isWithin(path, state.folder))
  const isEverywhere = (path: string, watched: (state: GuardedState) => readonly WatchedPath[], state: string) =>
    others(path).every((other) => watched(other).some((each) => each.state === state))
  const look = async (
    { path, state }: WatchedPath,
    watched: (state: GuardedState) => readonly WatchedPath[],
  ): Promise<WatchedPath> => {
    const isSame = isEverywhere(path, watched, state) && (await stateAt(root, path)) === state
    return isSame ? { path, state } : { path, state: 'missing' }
  }
  const directories: GuardedState['directories'] = []
  for (const { path, id, parts } of found.directories) {
    if (!others(path).every((other) => other.directories.some((each) => each.id === id))) continue
    const ownParts = (state: GuardedState) => state.directories.find((each) => each.id === id)?.parts ?? []
    directories.push({ path, id, parts: await inOrder(parts, (part) => look(part, ownParts)) })
  }
  return {
    ...found,
    directories,
    pointers: await inOrder(found.pointers, (pointer) => look(pointer, (state) => state.pointers)),
    named: await inOrder(found.named, (named) => look(named, (state) => state.named)),
  }
}

async function inOrder<T, U>(items: readonly T[], act: (item: T) => Promise<U>): Promise<U[]> {
  const done: U[] = []
  for (const item of items) done.push(await act(item))
  return done
}

/** Compares a folder with what it was before a command, and moves aside what appeared. Meant for a thread of its own. */
export async function undoHiddenChanges(
  request: GuardRequest & { before: GuardedState },
): Promise<GuardFindings | 'tooMany'> {
  const root = await directRoot(request.folder)
  const { before } = request
  const now = await walk(root, request, undefined)
  if (now === 'tooMany') return now
  const findings: GuardFindings = { movedAside: [], restored: [] }
  const appeared = [
    ...newParts(before, now),
    ...now.pointers.filter((pointer) => !isKnown(before.pointers, pointer)).map(({ path }) => path),
    // Those that were there are mounted read-only while commands run, and cannot be replaced.
    ...(await changedAmong(root, before.named)).filter(({ state }) => !isMounted(state)).map(({ path }) => path),
  ]
  for (const path of new Set(appeared)) await note(path)
  for (const { path, state } of await changedAmong(root, before.trusted)) {
    await note(path)
    if (state.startsWith('link ')) {
      await inDirectory(root, dirname(path), (_, base) =>
        root.disk.makeLink(state.slice('link '.length), join(base, basename(path))),
      )
      findings.restored.push(fromFolder(root, path))
    }
  }
  return findings

  async function note(path: string): Promise<void> {
    const to = await moveAside(root, path)
    if (to !== undefined) findings.movedAside.push({ path: fromFolder(root, path), to: fromFolder(root, to) })
  }
}

/** Whether something at a path was mounted while a command ran. */
export function isMounted(state: WatchedPath['state']): boolean {
  return state.startsWith('file ') || state.startsWith('directory ')
}

/** Parts of git directories that were not there, or of directories that were not. */
function newParts(before: GitPlaces, now: GitPlaces): string[] {
  const known = new Map(before.directories.map((directory) => [directory.id, directory]))
  return now.directories.flatMap(({ id, parts }) =>
    parts
      .filter(({ path, state }) => {
        const earlier = known.get(id)?.parts.find((part) => basename(part.path) === basename(path))
        return state !== 'missing' && (!earlier || (!isMounted(earlier.state) && earlier.state !== state))
      })
      .map(({ path }) => path),
  )
}

function isKnown(known: readonly WatchedPath[], { path, state }: WatchedPath): boolean {
  return known.some((each) => each.state === state && (isMounted(state) || each.path === path))
}

async function changedAmong(root: Root, watched: readonly WatchedPath[]): Promise<WatchedPath[]> {
  const changed: WatchedPath[] = []
  for (const each of watched) {
    const now = await stateAt(root, each.path)
    if (now !== each.state && !(each.state === 'missing' && now === 'missing')) changed.push(each)
  }
  return changed
}

/** Gives what appeared a name that nothing runs, beside its own; undefined where nothing is. */
async function moveAside(root: Root, path: string): Promise<string | undefined> {
  let to: string | undefined
  await inDirectory(root, dirname(path), async (opened, base) => {
    const name = basename(path)
    if (!(await root.disk.find(join(base, name)))) return
    let free = `${name}.untrusted`
    for (let count = 2; await root.disk.find(join(base, free)); count++) free = `${name}.untrusted-${count}`
    await root.disk.rename(join(base, name), join(base, free))
    await opened.file.sync()
    to = join(dirname(path), free)
  })
  return to
}

/** Links inside the folder on the way to protected places, and those places inside that are not there. */
async function trustedPaths(root: Root): Promise<WatchedPath[]> {
  const watched = new Map<string, WatchedPath>()
  for (const place of [...root.protect.hidden, ...root.protect.readOnly]) {
    for (const path of await linksTo(root, place)) watched.set(path, { path, state: await stateAt(root, path) })
  }
  return [...watched.values()]
}

const maxLinks = 40

/** The links inside the root that a path leads over, and its end where that is inside and missing. */
async function linksTo(root: Root, path: string): Promise<string[]> {
  const found: string[] = []
  const names = path.split('/').filter(Boolean)
  let here = '/'
  for (let links = 0; links <= maxLinks; ) {
    const name = names.shift()
    if (name === undefined) return found
    if (name === '..') {
      here = dirname(here)
      continue
    }
    const next = join(here, name)
    const stats = await root.disk.find(next)
    if (!stats) return isWithin(next, root.path) ? [...found, next] : found
    if (!stats.isSymbolicLink()) {
      here = next
      continue
    }
    links++
    if (isWithin(next, root.path)) found.push(next)
    const target = await root.disk.readlink(next)
    names.unshift(...target.split('/').filter((each) => each !== '' && each !== '.'))
    if (target.startsWith('/')) here = '/'
  }
  return found
}

type Walked = GitPlaces & Pick<GuardedState, 'otherNames'>

async function walk(
  root: Root,
  { globalHooksPath }: GuardRequest,
  inodes: TrustedInodes | undefined,
): Promise<Walked | 'tooMany'> {
  const found: Walked = { directories: [], pointers: [], named: [], otherNames: [] }
  const wanted = inodes && inodes.size > 0 ? inodes : undefined
  let left = maxGuardedEntries
  const queue = [{ path: root.path, isForGit: true }]
  // Grows while it is gone through.
  for (const { path, isForGit } of queue) {
    const entries = await listed(root, path)
    left -= entries.length
    if (left < 0) return 'tooMany'
    for (const entry of wanted ? entries.filter((each) => each.isFile()) : []) {
      const stats = await root.disk.find(join(path, entry.name))
      const place = stats && wanted?.get(identityOf(stats))
      if (place) found.otherNames.push({ path: join(path, entry.name), isHidden: place === 'hidden' })
    }
    const names = new Set(entries.map(({ name }) => name))
    if (isForGit) await noteGit(root, { path, names }, found, globalHooksPath)
    const isGit = basename(path) === '.git' || isGitDirectory(names)
    for (const entry of entries) {
      if (!entry.isDirectory()) continue
      const isNext = isForGit && (!isGit || inGitDirectory.includes(entry.name))
      if (isNext || wanted) queue.push({ path: join(path, entry.name), isForGit: isNext })
    }
  }
  return found
}

/** By its path alone: whatever a walk finds is opened safely before anything is made of it. */
async function listed({ disk, places }: Root, path: string) {
  if (isAmong(places.hidden, path)) return []
  try {
    return await disk.list(path)
  } catch (error) {
    // One of ours that cannot be listed could hold anything; what is another's, commands cannot write to either.
    const isDenied = (error as NodeJS.ErrnoException).code === 'EACCES'
    if (isDenied && (await disk.find(path))?.uid === process.getuid?.()) throw unlistable(path)
    return []
  }
}

function unlistable(path: string): HeddleError {
  const message = `${path} cannot be listed, so nobody can tell what lies in it, and no command runs`
  return new HeddleError('forbidden', message, `tell the user to run: chmod u+rx '${path}'`)
}

function fromFolder(root: Root, path: string): string {
  return path.slice(root.path.length + 1)
}
