import type { Dirent, Stats } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { isWithin } from '../domain/within.ts'
import { type GitSetting, inHome, readGitSettings, textOf } from './git-config.ts'
import { type Opened, openInside, type Root } from './inside.ts'
import { linksTo } from './links-to.ts'
import { realOf } from './protected-places.ts'

/** Parts of a git directory that git runs, or that tell it what to run. */
const gitParts = ['config', 'config.worktree', 'hooks', 'commondir'] as const
// Where git directories of submodules and work trees are, and what else git obeys.
const otherParts = ['modules', 'worktrees', 'info']
// The steps of a rebase that is under way; some of them run commands.
const rebaseSteps = 'rebase-merge/git-rebase-todo'

/** What lies at a path: nothing, a file or directory by its identity, or a link by its target. */
export type PathState = 'missing' | `file ${string}` | `directory ${string}` | `link ${string}`

export interface WatchedPath {
  path: string
  state: PathState
}

/** A directory that git would use as a repository's own, whatever it is called. */
export interface GitDirectory {
  path: string
  /** Stays the same when it is renamed. */
  id: string
  parts: WatchedPath[]
}

/** Everything in a folder from which git, started there by a person, would take programs to run. */
export interface GitPlaces {
  directories: GitDirectory[]
  /** `.git` files and links, which name a git directory. */
  pointers: WatchedPath[]
  /** What configurations and links lead to: hook directories, further configuration, scripts. */
  named: WatchedPath[]
  /** Rebases that would run commands, with those commands. */
  rebases: { path: string; commands: string }[]
}

export function noGitPlaces(): GitPlaces {
  return { directories: [], pointers: [], named: [], rebases: [] }
}

/** The entries of one directory, as a walk through a folder meets it. */
export interface VisitedDirectory {
  path: string
  names: ReadonlySet<string>
}

/** Notes what a directory has to do with git. */
export async function noteGit(
  root: Root,
  { path, names }: VisitedDirectory,
  places: GitPlaces,
  globalHooksPath: string | undefined,
): Promise<void> {
  if (names.has('.git') && basename(path) !== '.git')
    await inDirectory(root, path, async (_, base) => {
      const state = await stateAt(root, `${base}/.git`)
      if (state === 'missing' || state.startsWith('directory ')) return
      places.pointers.push({ path: join(path, '.git'), state })
      await noteNamed(root, await gitDirectoryBehind(root, join(path, '.git')), path, places, globalHooksPath)
    })
  if (!isGitDirectory(names)) return
  const workTree = basename(path) === '.git' ? dirname(path) : path
  await inDirectory(root, path, async (opened, base) => {
    const parts: WatchedPath[] = []
    for (const part of gitParts) parts.push({ path: join(path, part), state: await stateAt(root, `${base}/${part}`) })
    places.directories.push({ path, id: identityOf(opened.stats), parts })
    await noteNamed(root, path, workTree, places, globalHooksPath)
    const steps = join(path, rebaseSteps)
    const commands = commandsIn((await textOf(root.disk, steps)) ?? '')
    if (commands !== '') places.rebases.push({ path: steps, commands })
  })
}

/** As git tells one: also one without `.git` in its path, in which somebody may stand when they call git. */
export function isGitDirectory(names: ReadonlySet<string>): boolean {
  return names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs')))
}

/** Whether an entry of a git directory tells git what to run, or holds such entries. */
export function isReadByGit(name: string): boolean {
  return [...gitParts, ...otherParts].includes(name)
}

/** Whether git would run what stands at a path, or obey it: agents write it by no tool. */
export async function isRunByGit(root: Root, path: string): Promise<boolean> {
  for (let above = dirname(path); isWithin(above, root.path); above = dirname(above)) {
    const [part = ''] = path.slice(above.length + 1).split('/')
    if ((gitParts as readonly string[]).includes(part) && isGitDirectory(await namesThere(root, above))) return true
    const state = await stateAt(root, join(above, '.git'))
    if (state === 'missing') continue
    const directory = state.startsWith('directory ')
      ? join(above, '.git')
      : await gitDirectoryBehind(root, join(above, '.git'))
    if ((await namedPlaces(root, directory, above, undefined)).some((place) => isWithin(path, place))) return true
  }
  return false
}

async function namesThere(root: Root, directory: string): Promise<Set<string>> {
  const names = new Set<string>()
  for (const name of ['HEAD', 'commondir', 'objects', 'refs'])
    if ((await stateAt(root, join(directory, name))) !== 'missing') names.add(name)
  return names
}

async function noteNamed(
  root: Root,
  directory: string | undefined,
  workTree: string,
  places: GitPlaces,
  globalHooksPath: string | undefined,
): Promise<void> {
  for (const path of await namedPlaces(root, directory, workTree, globalHooksPath))
    if (!places.named.some((each) => each.path === path)) places.named.push({ path, state: await stateAt(root, path) })
}

/** The places in the folder that a git directory leads to: by its configuration, and by links in it. */
async function namedPlaces(
  root: Root,
  directory: string | undefined,
  workTree: string,
  globalHooksPath: string | undefined,
): Promise<string[]> {
  if (directory === undefined) return []
  const common = resolve(directory, ((await textOf(root.disk, join(directory, 'commondir'))) ?? '.').trim())
  const configs = [join(common, 'config'), join(directory, 'config'), join(directory, 'config.worktree')]
  const settings: GitSetting[] = []
  for (const file of new Set(configs)) settings.push(...(await readGitSettings(root.disk, file, homedir())))
  const last = (name: string) => settings.findLast((setting) => setting.name === name)?.value
  const tree = resolve(directory, last('core.worktree') ?? workTree)
  const hooksPath = last('core.hookspath') ?? globalHooksPath
  const hooks = hooksPath === undefined ? join(common, 'hooks') : resolve(tree, inHome(hooksPath, homedir()))
  const asked = [
    ...configs,
    ...settings.map(({ file }) => file),
    ...[hooks, join(common, 'hooks')],
    ...(hooks === join(common, 'hooks') ? [] : await entriesOf(root, hooks)),
    // Its other entries are watched with the directory itself.
    ...(await entriesOf(root, join(common, 'hooks'), (entry) => entry.isSymbolicLink())),
    ...settings.flatMap(({ name, value, file }) =>
      /^include(if)?\.path$/.test(name) ? [resolve(dirname(file), inHome(value, homedir()))] : [],
    ),
  ]
  const found = new Set<string>()
  for (const path of new Set(asked)) for (const each of await insideOf(root, path)) found.add(each)
  // Whatever a setting runs may be a script of the project.
  for (const word of settings.flatMap(({ value }) => value.split(/[\s'"`;|&()<>=!]+/))) {
    const path = resolve(tree, word)
    if (word !== '' && isWithin(path, root.path) && (await stateAt(root, path)).startsWith('file ')) found.add(path)
  }
  // Parts of the directory itself are watched as such.
  const own = gitParts.flatMap((part) => [join(directory, part), join(common, part)])
  return [...found].filter((path) => !own.some((part) => isWithin(path, part)))
}

/** A path, its real path, and the links between them, as far as they lie in the folder. */
async function insideOf(root: Root, path: string): Promise<string[]> {
  const real = await realOf(root.disk, path)
  const places = [...(await linksTo(root, path)), ...(real === undefined ? [] : [real])]
  // Where no link leads elsewhere the path stands for itself; what is missing is among the links.
  return places.filter((place) => isWithin(place, root.path) && place !== root.path)
}

async function entriesOf(
  root: Root,
  directory: string,
  isWanted: (entry: Dirent) => boolean = () => true,
): Promise<string[]> {
  try {
    return (await root.disk.list(directory)).filter(isWanted).map(({ name }) => join(directory, name))
  } catch {
    return []
  }
}

/** What a `.git` file or link leads to, wherever that lies. */
async function gitDirectoryBehind({ disk }: Root, pointer: string): Promise<string | undefined> {
  const named = /^gitdir:\s*(.+)$/m.exec((await textOf(disk, pointer)) ?? '')?.[1]
  if (named !== undefined) return resolve(dirname(pointer), named.trim())
  return realOf(disk, pointer)
}

function commandsIn(steps: string): string {
  return steps
    .split('\n')
    .filter((line) => /^\s*(x|exec)\s/.test(line))
    .join('\n')
}

/** The state of a path whose directory is known to lie inside. */
export async function stateAt({ disk }: Root, path: string): Promise<PathState> {
  const found = await findOrNothing(disk, path)
  if (!found) return 'missing'
  if (found.isSymbolicLink()) return `link ${await disk.readlink(path)}`
  return `${found.isDirectory() ? 'directory' : 'file'} ${identityOf(found)}`
}

/** What is below a file is missing like anything else. */
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

/** Opens a directory that is known by its real path; does nothing where it is gone, or leads elsewhere by now. */
export async function inDirectory(
  root: Root,
  path: string,
  use: (opened: Opened, base: string) => Promise<void>,
): Promise<void> {
  const opened = await openInside(root, path).catch(() => undefined)
  if (!opened) return
  try {
    if (opened.stats.isDirectory() && opened.real === path) await use(opened, opened.byDescriptor ?? opened.real)
  } finally {
    await opened.file.close()
  }
}
