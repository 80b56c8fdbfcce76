import { basename, dirname, join } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import type { PathAddress } from '../../domain/tools/path-handle.ts'
import { isWithin } from '../../domain/tools/within.ts'
import { syncRoot } from '../files/handle.ts'
import type { Root } from '../files/inside.ts'
import { linksTo } from '../files/links-to.ts'
import { type GitPlaces, identityOf, inDirectory, stateAt, type WatchedPath } from './git-places.ts'
import { type FolderWalk, type OtherName, walkFolder, wholeWalk } from './guard-walk.ts'
import { hardLinkedInodes } from './other-names.ts'
import { isAmong, ownSources } from './protected-places.ts'

/** Names of files that were moved aside. */
export const movedAsideName = /\.untrusted(-\d+)?$/

/** A folder to guard. */
export interface GuardRequest {
  folder: PathAddress
  /** From the monotonic clock. */
  now: Millis
}

/** State of everything that commands in a folder must not change, before a command. */
export interface GuardedState extends GitPlaces {
  folder: string
  /** Links on the way to protected paths, and protected paths that do not exist yet. */
  trusted: WatchedPath[]
  otherNames: OtherName[]
}

/** Files that a command left behind and that git or Heddle would have run; paths relative to the folder. */
export interface GuardFindings {
  /** Renamed so that nothing runs them. */
  movedAside: { path: string; to: string }[]
  /** Links that were restored to their old target. */
  restored: string[]
  /** New git directories. */
  appeared: string[]
  /** Entries that could not be checked or moved, in words. */
  unseen: string[]
}

/** Scans a folder for everything that a command must not change. Runs in a worker thread. */
export async function guardedState({ folder, now }: GuardRequest): Promise<GuardedState> {
  const root = await syncRoot(folder)
  if (isAmong([...root.places.noCommands, ...root.places.readOnly], root.path)) throw ownSources(root.path)
  const trusted = await trustedPaths(root)
  const found = await wholeWalk(root, { inodes: await hardLinkedInodes(root, now) })
  return {
    ...found,
    folder: root.path,
    trusted,
    otherNames: [...found.otherNames, ...(await gitByOtherNames(root, found))],
  }
}

/** Hard links to files that git reads as configuration or runs. */
async function gitByOtherNames(
  root: Root,
  { directories, pointers, named, outside }: FolderWalk,
): Promise<OtherName[]> {
  const known = [...directories.flatMap(({ parts }) => parts), ...pointers, ...named].filter(({ state }) =>
    isMounted(state),
  )
  const inodes = new Map<string, 'readOnly'>()
  const look = async (path: string) => {
    const stats = await root.disk.find(path)
    if (stats?.isFile() && stats.nlink > 1) inodes.set(identityOf(stats), 'readOnly')
    if (stats?.isDirectory()) for (const { name } of await root.disk.list(path)) await look(join(path, name))
  }
  for (const path of new Set([...known.map((each) => each.path), ...outside])) await look(path).catch(() => undefined)
  return inodes.size === 0 ? [] : (await wholeWalk(root, { inodes })).otherNames
}

/** Compares a folder with its state before a command, and moves new files aside. Runs in a worker thread. */
export async function undoHiddenChanges(request: GuardRequest & { before: GuardedState }): Promise<GuardFindings> {
  const root = await syncRoot(request.folder)
  const { before } = request
  const now = await walkFolder(root, { opens: true })
  const known = new Set(before.directories.map(({ id }) => id))
  const findings: GuardFindings = { movedAside: [], restored: [], appeared: [], unseen: [...now.unseen] }
  for (const { path, id } of now.directories) if (!known.has(id)) findings.appeared.push(fromFolder(root, path))
  const appeared = [
    ...newParts(before, now),
    ...now.pointers.filter((pointer) => !isKnown(before.pointers, pointer)).map(({ path }) => path),
    ...now.rebases
      .filter(({ path, commands }) => !before.rebases.some((each) => each.path === path && each.commands === commands))
      .map(({ path }) => path),
    // Existing ones are mounted read-only while commands run, and cannot be replaced.
    ...(
      await changedAmong(
        root,
        before.named.filter(({ state }) => !isMounted(state)),
      )
    ).map(({ blame }) => blame),
  ]
  for (const path of new Set(appeared)) await note(path)
  for (const { path, state, blame } of await changedAmong(root, before.trusted)) {
    await note(blame)
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
        // A command may have removed permissions of the directory.
        await root.disk.grantOwnerAccess(dirname(path))
        return moveAside(root, path)
      })
      if (to !== undefined) findings.movedAside.push({ path: fromFolder(root, path), to: fromFolder(root, to) })
    })
  }

  /** A failure must not keep other files from being moved. */
  async function attempt(path: string, act: () => Promise<void>): Promise<void> {
    await act().catch((error) =>
      findings.unseen.push(`${fromFolder(root, path)}: ${error instanceof Error ? error.message : error}`),
    )
  }
}

/** A state that may include files just created by another running command. */
export interface VetRequest {
  folder: PathAddress
  found: GuardedState
  /** States before each of those commands. */
  unfinished: GuardedState[]
}

/**
 * Leaves out files created by running commands: these are moved aside when their command ends, and if they counted as
 * known, another file could then take their place. Checks everything once more for the same reason.
 */
export async function vetGuardedState({ folder, found, unfinished }: VetRequest): Promise<GuardedState> {
  const root = await syncRoot(folder)
  const others = (path: string) => unfinished.filter((state) => isWithin(path, state.folder))
  const isEverywhere = (path: string, watched: (state: GuardedState) => readonly WatchedPath[], state: string) =>
    others(path).every((other) => watched(other).some((each) => each.state === state && each.path === path))
  const look = async (
    each: WatchedPath,
    watched: (state: GuardedState) => readonly WatchedPath[],
  ): Promise<WatchedPath> => {
    const { path, state } = each
    const isSame = isEverywhere(path, watched, state) && (await stateAt(root, path)) === state
    return isSame ? each : { ...each, state: 'missing' }
  }
  const directories: GuardedState['directories'] = []
  for (const { path, id, parts, byUser } of found.directories) {
    if (!others(path).every((other) => other.directories.some((each) => each.id === id && each.path === path))) continue
    const ownParts = (state: GuardedState) => state.directories.find((each) => each.id === id)?.parts ?? []
    directories.push({ path, id, parts: await inOrder(parts, (part) => look(part, ownParts)), byUser })
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

/** Whether a path in this state is mounted while a command runs. */
export function isMounted(state: WatchedPath['state']): boolean {
  return state.startsWith('file ') || state.startsWith('directory ')
}

/** New parts of git directories, including all parts of new directories, and what the user's settings name there. */
function newParts(before: GitPlaces, now: GitPlaces): string[] {
  const known = new Map(before.directories.map((directory) => [directory.id, directory]))
  return now.directories.flatMap(({ id, parts, byUser }) =>
    [...parts, ...(known.has(id) ? [] : byUser.filter(isThere).filter((each) => !isKnown(before.named, each)))]
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

/** A program has to be a file: in the place of a missing one, a directory is nothing that git would run. */
function isThere({ state, isProgram }: WatchedPath): boolean {
  return state !== 'missing' && !(isProgram && state.startsWith('directory '))
}

/** Changed paths, each with what to move aside: the path itself, or a new link on the way to it. */
async function changedAmong(root: Root, watched: readonly WatchedPath[]): Promise<(WatchedPath & { blame: string })[]> {
  const changed: (WatchedPath & { blame: string })[] = []
  for (const each of watched) {
    const now = await stateAt(root, each.path)
    const isSame = now === each.state || (each.isProgram && now.startsWith('directory '))
    const blame = now === 'missing' ? undefined : await linkOnTheWay(root, each.path)
    if (!isSame || blame !== undefined) changed.push({ ...each, blame: blame ?? each.path })
  }
  return changed
}

/** Watched paths have no links on their way when a command starts. */
async function linkOnTheWay(root: Root, path: string): Promise<string | undefined> {
  const names = path.slice(root.path.length + 1).split('/')
  for (let count = 1; count < names.length; count++) {
    const above = join(root.path, ...names.slice(0, count))
    if ((await stateAt(root, above)).startsWith('link ')) return above
  }
  return undefined
}

/** Renames a file in place so that nothing runs it; undefined if it is gone. */
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

/** Links inside the folder on the way to protected paths, and protected paths inside it that do not exist. */
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
