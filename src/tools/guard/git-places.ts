import type { Stats } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isWithin } from '../../domain/tools/within.ts'
import type { Disk } from '../files/disk.ts'
import { type OpenedPath, openInside, type Root } from '../files/inside.ts'
import { readGitFile } from './git-config.ts'
import {
  addRepositoryPaths,
  addUserGitPaths,
  addWorkTreePaths,
  GitReferencedPaths,
  noteLinks,
  type Repository,
  type UserSettings,
  userSettings,
} from './git-named.ts'
import { realOf } from './protected-places.ts'

/** Parts of a git directory that git runs, or that configure what it runs. */
const gitParts = ['config', 'config.worktree', 'hooks', 'commondir'] as const
// Directories with submodules, work trees and further configuration.
const otherParts = ['modules', 'worktrees', 'info']
// Steps of a rebase in progress; some of them run commands.
const rebaseSteps = 'rebase-merge/git-rebase-todo'

/** State of a path: missing, a file or directory by its identity, or a link by its target. */
type PathState = 'missing' | `file ${string}` | `directory ${string}` | `link ${string}`

export interface WatchedPath {
  path: string
  state: PathState
  /** Counts only as a file. */
  isProgram?: boolean
}

/** A directory that git would use as a git directory, whatever its name. */
interface GitDirectory {
  path: string
  /** Stays the same after a rename. */
  id: string
  parts: WatchedPath[]
  /** Paths that the user's own configuration names in its work tree; only after a command. */
  byUser: WatchedPath[]
}

/** Everything in a folder from which git would run programs when the user calls it there. */
export interface GitPlaces {
  directories: GitDirectory[]
  /** `.git` files and links, which name a git directory. */
  pointers: WatchedPath[]
  /** Targets of configuration and links: hook directories, included configuration, scripts. */
  named: WatchedPath[]
  /** Files outside the folder that git reads or runs. */
  outside: string[]
  /** Rebases that would run commands, with those commands. */
  rebases: { path: string; commands: string }[]
}

export function noGitPlaces(): GitPlaces {
  return { directories: [], pointers: [], named: [], outside: [], rebases: [] }
}

/** A directory visited by a walk, with its entries. */
interface VisitedDirectory {
  path: string
  names: ReadonlySet<string>
}

/** Notes what git reads or runs in a folder wherever it is called there, and by repositories that contain the folder. */
export async function noteSurroundings(root: Root, user: UserSettings, places: GitPlaces): Promise<void> {
  const named = new GitReferencedPaths()
  await addUserGitPaths(root, user, named)
  for (const repository of await repositoriesAround(root, named))
    await addRepositoryPaths(root, repository, user, named)
  await take(root, named, places)
}

/** Records what a directory has to do with git. Without `isTrusted`, its configuration may be a command's and is not read. */
export async function noteGit(
  root: Root,
  { path, names }: VisitedDirectory,
  places: GitPlaces,
  { user, isTrusted }: { user: UserSettings; isTrusted: boolean },
): Promise<void> {
  if (names.has('.git') && basename(path) !== '.git')
    await inDirectory(root, path, async (_, base) => {
      const state = await stateAt(root, `${base}/.git`)
      if (state === 'missing' || state.startsWith('directory ')) return
      places.pointers.push({ path: join(path, '.git'), state })
      const directory = isTrusted ? await gitDirectoryBehind(root, join(path, '.git')) : undefined
      if (directory !== undefined) await noteRepository(root, { directory, workTree: path }, user, places)
    })
  if (!isGitDirectory(names)) return
  const workTree = basename(path) === '.git' ? dirname(path) : path
  await inDirectory(root, path, async (opened, base) => {
    const parts: WatchedPath[] = []
    for (const part of gitParts) parts.push({ path: join(path, part), state: await stateAt(root, `${base}/${part}`) })
    const byUser = new GitReferencedPaths()
    if (!isTrusted) await addWorkTreePaths(root, workTree, user, byUser)
    const directory = { path, id: identityOf(opened.stats), parts, byUser: await watchedOf(root, byUser) }
    places.directories.push(directory)
    if (isTrusted) await noteRepository(root, { directory: path, workTree }, user, places)
    const steps = join(path, rebaseSteps)
    const commands = commandsIn((await readGitFile(root.disk, steps)) ?? '')
    if (commands !== '') places.rebases.push({ path: steps, commands })
  })
}

/** Repositories in the directories above a folder; git uses the first that is whole, so that each may count. */
async function repositoriesAround(root: Root, named: GitReferencedPaths): Promise<Repository[]> {
  const above: string[] = []
  for (let path = root.path; path !== dirname(path); path = dirname(path)) above.push(dirname(path))
  const found = await Promise.all(
    above.map(async (path) => {
      const repository = await repositoryAt(root, path)
      if (!repository) return []
      await Promise.all([join(path, '.git'), repository.directory].map((place) => noteLinks(root, place, named)))
      return [repository]
    }),
  )
  return found.flat()
}

/** The repository whose work tree or git directory a directory is. */
async function repositoryAt(root: Root, path: string): Promise<Repository | undefined> {
  const pointer = join(path, '.git')
  const [state, names] = await Promise.all([
    stateAt(root, pointer).catch((): PathState => 'missing'),
    namesThere(root, path),
  ])
  if (state !== 'missing') {
    const directory = state.startsWith('directory ') ? pointer : await gitDirectoryBehind(root, pointer)
    if (directory !== undefined) return { directory, workTree: path }
  }
  return isGitDirectory(names) ? { directory: path, workTree: path } : undefined
}

/** Same test as git's: also finds a directory not named `.git`, in which the user may call git. */
export function isGitDirectory(names: ReadonlySet<string>): boolean {
  return names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs')))
}

/** Whether an entry of a git directory configures what git runs, or holds such entries. */
export function isReadByGit(name: string): boolean {
  return [...gitParts, ...otherParts].includes(name)
}

/**
 * Whether git would run a file or read it as configuration: no tool lets agents write it. Looks side by side, since each write of a file
 * waits for it.
 */
export async function isRunByGit(given: Root, path: string): Promise<boolean> {
  const root = { ...given, disk: cachedDisk(given) }
  const named = new GitReferencedPaths()
  const readUser = async () => {
    const user = await userSettings(root)
    await addUserGitPaths(root, user, named)
    return user
  }
  const inside: string[] = []
  for (let above = dirname(path); isWithin(above, root.path); above = dirname(above)) inside.push(above)
  const [user, isPart, around, within] = await Promise.all([
    readUser(),
    Promise.all(inside.map((above) => isPartOfGit(root, path, above))),
    repositoriesAround(root, named),
    Promise.all(inside.map((above) => repositoryAt(root, above))),
  ])
  if (isPart.includes(true)) return true
  const repositories = [...around, ...within].filter((repository) => repository !== undefined)
  await Promise.all(repositories.map((repository) => addRepositoryPaths(root, repository, user, named)))
  return named.has(path)
}

/**
 * Caches stat calls: most paths share their parents. Most lie outside the folder, where a call through a worker thread for
 * each would take longer than the write that waits.
 */
function cachedDisk({ disk, path: folder }: Root): Disk {
  const found = new Map<string, Promise<Stats | undefined>>()
  const diskOf = (path: string) => (isWithin(path, folder) ? disk : disk.atOnce)
  const stat = async (path: string) => diskOf(path).find(path)
  return {
    ...disk,
    find(path) {
      const stats = found.get(path) ?? stat(path)
      found.set(path, stats)
      return stats
    },
    readlink: (path) => diskOf(path).readlink(path),
    realpath: (path) => diskOf(path).realpath(path),
    open: (path) => diskOf(path).open(path),
  }
}

/** Whether a directory is git's own, and a path in it one of the parts that git runs or reads. */
async function isPartOfGit(root: Root, path: string, directory: string): Promise<boolean> {
  const [part = ''] = path.slice(directory.length + 1).split('/')
  return (gitParts as readonly string[]).includes(part) && isGitDirectory(await namesThere(root, directory))
}

async function namesThere(root: Root, directory: string): Promise<Set<string>> {
  const isThere = async (name: string) =>
    (await stateAt(root, join(directory, name)).catch((): PathState => 'missing')) !== 'missing'
  // Most directories have none.
  if (!(await isThere('HEAD'))) return new Set()
  const others = ['commondir', 'objects', 'refs']
  const there = await Promise.all(others.map(isThere))
  return new Set(['HEAD', ...others.filter((_, at) => there[at])])
}

async function noteRepository(
  root: Root,
  repository: Repository,
  user: UserSettings,
  places: GitPlaces,
): Promise<void> {
  const named = new GitReferencedPaths()
  await addRepositoryPaths(root, repository, user, named)
  // Parts of the directory itself are watched separately.
  for (const path of named.inside.keys())
    if (gitParts.some((part) => isWithin(path, join(repository.directory, part)))) named.inside.delete(path)
  await take(root, named, places)
}

async function take(root: Root, named: GitReferencedPaths, places: GitPlaces): Promise<void> {
  for (const each of await watchedOf(root, named)) {
    const known = places.named.findIndex(({ path }) => path === each.path)
    if (known === -1) places.named.push(each)
    else if (!each.isProgram) places.named[known] = each
  }
  places.outside.push(...named.outside)
}

async function watchedOf(root: Root, { inside }: GitReferencedPaths): Promise<WatchedPath[]> {
  const watched: WatchedPath[] = []
  for (const { path, isProgram } of inside.values())
    watched.push({ path, state: await stateAt(root, path), ...(isProgram && { isProgram }) })
  return watched
}

/** Target of a `.git` file or link, also outside the folder. */
async function gitDirectoryBehind({ disk }: Root, pointer: string): Promise<string | undefined> {
  const target = /^gitdir:\s*(.+)$/m.exec((await readGitFile(disk, pointer)) ?? '')?.[1]
  if (target !== undefined) return resolve(dirname(pointer), target.trim())
  return realOf(disk, pointer)
}

function commandsIn(steps: string): string {
  return steps
    .split('\n')
    .filter((line) => /^\s*(x|exec)\s/.test(line))
    .join('\n')
}

/** State of a path whose directory is verified to lie inside. */
export async function stateAt({ disk }: Root, path: string): Promise<PathState> {
  const found = await findOrNothing(disk, path)
  if (!found) return 'missing'
  if (found.isSymbolicLink()) return `link ${await disk.readlink(path)}`
  return `${found.isDirectory() ? 'directory' : 'file'} ${identityOf(found)}`
}

/** A path below a file counts as missing. */
async function findOrNothing(disk: Root['disk'], path: string): Promise<Stats | undefined> {
  try {
    return await disk.find(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw error
  }
}

export function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`
}

/** Opens a directory by its real path; does nothing if it is gone or was replaced by a link. */
export async function inDirectory(
  root: Root,
  path: string,
  use: (opened: OpenedPath, base: string) => Promise<void>,
): Promise<void> {
  const opened = await openInside(root, path).catch(() => undefined)
  if (!opened) return
  try {
    if (opened.stats.isDirectory() && opened.real === path) await use(opened, opened.byDescriptor ?? opened.real)
  } finally {
    await opened.file.close()
  }
}
