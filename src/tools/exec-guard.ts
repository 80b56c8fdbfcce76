import { basename, dirname, join } from 'node:path'
import type { Millis } from '../domain/clock.ts'
import type { PathAddress } from '../domain/path-handle.ts'
import { isWithin } from '../domain/within.ts'
import { type GitPlaces, identityOf, inDirectory, stateAt, type WatchedPath } from './git-places.ts'
import { type OtherName, type Walked, walkFolder, wholeWalk } from './guard-walk.ts'
import { directRoot } from './handle.ts'
import type { Root } from './inside.ts'
import { linksTo } from './links-to.ts'
import { otherNamesOf } from './other-names.ts'
import { isAmong, ownSources } from './protected-places.ts'

/** The names under which something was moved aside. */
export const asideName = /\.untrusted(-\d+)?$/

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
  otherNames: OtherName[]
}

/** What a command left behind that git or Heddle would have run; paths from the folder on. */
export interface GuardFindings {
  /** Moved to a name that nothing runs. */
  movedAside: { path: string; to: string }[]
  /** Links that lead where they did before. */
  restored: string[]
  /** Git directories that were not there before. */
  appeared: string[]
  /** What could not be looked at or moved, in words. */
  unseen: string[]
}

/** Looks through a folder for everything that a command must not change. Meant for a thread of its own. */
export async function guardedState({ folder, now, globalHooksPath }: GuardRequest): Promise<GuardedState> {
  const root = await directRoot(folder)
  if (isAmong([...root.places.noCommands, ...root.places.readOnly], root.path)) throw ownSources(root.path)
  const trusted = await trustedPaths(root)
  const found = await wholeWalk(root, { globalHooksPath, inodes: await otherNamesOf(root, now) })
  return {
    ...found,
    folder: root.path,
    trusted,
    otherNames: [...found.otherNames, ...(await gitByOtherNames(root, found))],
  }
}

/** Names that the owner has given to files which git obeys, besides those that git knows them by. */
async function gitByOtherNames(root: Root, { directories, pointers, named }: Walked): Promise<OtherName[]> {
  const known = [...directories.flatMap(({ parts }) => parts), ...pointers, ...named].filter(({ state }) =>
    isMounted(state),
  )
  const inodes = new Map<string, 'readOnly'>()
  const look = async (path: string) => {
    const stats = await root.disk.find(path)
    if (stats?.isFile() && stats.nlink > 1) inodes.set(identityOf(stats), 'readOnly')
    if (stats?.isDirectory()) for (const { name } of await root.disk.list(path)) await look(join(path, name))
  }
  for (const { path } of known) await look(path).catch(() => undefined)
  return inodes.size === 0 ? [] : (await wholeWalk(root, { inodes })).otherNames
}

/** Compares a folder with what it was before a command, and moves aside what appeared. Meant for a thread of its own. */
export async function undoHiddenChanges(request: GuardRequest & { before: GuardedState }): Promise<GuardFindings> {
  const root = await directRoot(request.folder)
  const { before } = request
  const now = await walkFolder(root, { globalHooksPath: request.globalHooksPath, opens: true })
  const known = new Set(before.directories.map(({ id }) => id))
  const findings: GuardFindings = { movedAside: [], restored: [], appeared: [], unseen: [...now.unseen] }
  for (const { path, id } of now.directories) if (!known.has(id)) findings.appeared.push(fromFolder(root, path))
  const appeared = [
    ...newParts(before, now),
    ...now.pointers.filter((pointer) => !isKnown(before.pointers, pointer)).map(({ path }) => path),
    ...now.rebases
      .filter(({ path, commands }) => !before.rebases.some((each) => each.path === path && each.commands === commands))
      .map(({ path }) => path),
    // Those that were there are mounted read-only while commands run, and cannot be replaced.
    ...(await changedAmong(root, before.named)).filter(({ state }) => !isMounted(state)).map(({ path }) => path),
  ]
  for (const path of new Set(appeared)) await note(path)
  for (const { path, state } of await changedAmong(root, before.trusted)) {
    await note(path)
    if (!state.startsWith('link ')) continue
    await attempt(path, () =>
      inDirectory(root, dirname(path), (_, base) =>
        root.disk.makeLink(state.slice('link '.length), join(base, basename(path))),
      ),
    )
    findings.restored.push(fromFolder(root, path))
  }
  return findings

  async function note(path: string): Promise<void> {
    await attempt(path, async () => {
      const to = await moveAside(root, path).catch(async () => {
        // A command may have closed the directory.
        await root.disk.open700(dirname(path))
        return moveAside(root, path)
      })
      if (to !== undefined) findings.movedAside.push({ path: fromFolder(root, path), to: fromFolder(root, to) })
    })
  }

  /** One that fails keeps none of the others from being moved. */
  async function attempt(path: string, act: () => Promise<void>): Promise<void> {
    await act().catch((error) =>
      findings.unseen.push(`${fromFolder(root, path)}: ${error instanceof Error ? error.message : error}`),
    )
  }
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
    others(path).every((other) => watched(other).some((each) => each.state === state && each.path === path))
  const look = async (
    { path, state }: WatchedPath,
    watched: (state: GuardedState) => readonly WatchedPath[],
  ): Promise<WatchedPath> => {
    const isSame = isEverywhere(path, watched, state) && (await stateAt(root, path)) === state
    return isSame ? { path, state } : { path, state: 'missing' }
  }
  const directories: GuardedState['directories'] = []
  for (const { path, id, parts } of found.directories) {
    if (!others(path).every((other) => other.directories.some((each) => each.id === id && each.path === path))) continue
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

function fromFolder(root: Root, path: string): string {
  return path.slice(root.path.length + 1)
}
