import type { Dirent } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { userGitOf } from '../../domain/tools/user-git.ts'
import { isWithin } from '../../domain/tools/within.ts'
import type { Root } from '../files/inside.ts'
import { followLinks } from '../files/links-to.ts'
import { type GitSetting, includedBy, inHome, readGitFile, readGitSettings } from './git-config.ts'
import { isData, programWords, shellWords } from './git-programs.ts'

/** A repository as git finds it: its git directory, and the top of its work tree. */
export interface Repository {
  directory: string
  workTree: string
}

/** The user's own settings, which count in every repository. */
export interface UserSettings {
  home: string
  configs: readonly string[]
  settings: GitSetting[]
}

/** Files in the folder that git reads or runs. */
interface GitReferencedPath {
  path: string
  /** A program: it counts only as a file, while hooks are a directory. */
  isProgram: boolean
}

/** Everything that settings and links of git lead to. */
export class GitReferencedPaths {
  readonly inside = new Map<string, GitReferencedPath>()
  /** Files outside the folder: they may have another name inside. */
  readonly outside = new Set<string>()

  add(path: string, isProgram: boolean): void {
    if (!this.inside.get(path) || !isProgram) this.inside.set(path, { path, isProgram })
  }

  has(path: string): boolean {
    return [...this.inside.keys()].some((place) => isWithin(path, place))
  }
}

export async function userSettings({ protect, disk }: Root): Promise<UserSettings> {
  const { home, configs } = protect.userGit ?? userGitOf({}, homedir())
  const seen = new Set<string>()
  // In parallel: every file write waits for this.
  const found = await Promise.all(configs.map((file) => readGitSettings(disk, file, home, seen)))
  return { home, configs, settings: found.flat() }
}

/** Adds what the user's own settings lead to, wherever git is called in the folder. */
export async function addUserGitPaths(root: Root, user: UserSettings, named: GitReferencedPaths): Promise<void> {
  await Promise.all([
    ...user.configs.map((file) => notePath(root, file, 'file', named)),
    noteSettings(root, user.settings, root.path, user.home, named),
  ])
}

/** Adds what the user's settings lead to in one work tree: relative paths. */
export async function addWorkTreePaths(
  root: Root,
  workTree: string,
  { settings, home }: UserSettings,
  named: GitReferencedPaths,
): Promise<void> {
  const inTree = settings.filter((setting) => includedBy(setting, home) === undefined)
  await noteSettings(root, inTree, workTree, home, named, (path) => !/^[~/]/.test(path))
}

/** Adds what a repository's configuration, its links and the user's settings lead to. */
export async function addRepositoryPaths(
  root: Root,
  { directory, workTree }: Repository,
  user: UserSettings,
  named: GitReferencedPaths,
): Promise<void> {
  const common = resolve(directory, ((await readGitFile(root.disk, join(directory, 'commondir'))) ?? '.').trim())
  const configs = new Set([common, directory].flatMap((at) => [join(at, 'config'), join(at, 'config.worktree')]))
  const read = [...configs].map((file) => readGitSettings(root.disk, file, user.home))
  const noted = [...configs].map((file) => notePath(root, file, 'file', named))
  const [found] = await Promise.all([
    Promise.all(read),
    Promise.all(noted),
    noteHooks(root, join(common, 'hooks'), named),
  ])
  const settings = found.flat()
  // A setting of a work tree may be another's: all count.
  const trees = settings.flatMap(({ name, value }) => (name === 'core.worktree' ? [resolve(directory, value)] : []))
  await Promise.all(
    [...new Set([workTree, ...trees])].flatMap((tree) => [
      noteSettings(root, settings, tree, user.home, named),
      noteExistingFiles(root, settings, tree, named),
      // Those of the folder itself are noted once.
      ...(tree === root.path ? [] : [addWorkTreePaths(root, tree, user, named)]),
    ]),
  )
}

/** Notes links inside the folder on the way to a path, but not the path itself. */
export async function noteLinks(root: Root, path: string, named: GitReferencedPaths): Promise<void> {
  for (const link of (await followLinks(root, path)).links) named.add(link, false)
}

async function noteSettings(
  root: Root,
  settings: readonly GitSetting[],
  tree: string,
  home: string,
  named: GitReferencedPaths,
  isWanted: (path: string) => boolean = () => true,
): Promise<void> {
  const at = (path: string) => resolve(tree, inHome(path, home))
  const note = async (setting: GitSetting) => {
    const { name, value } = setting
    const included = includedBy(setting, home)
    if (included !== undefined) await notePath(root, included, 'file', named)
    else if (name === 'core.hookspath') {
      if (isWanted(value)) await noteHooks(root, at(value), named)
    } else if (name === 'init.templatedir') {
      // Git copies hooks from there.
      if (isWanted(value)) await notePath(root, at(value), 'directory', named)
    } else if (!isData(setting))
      for (const word of programWords(value, tree, home).filter(isWanted))
        await notePath(root, at(word), 'program', named)
  }
  await Promise.all(settings.map(note))
}

async function noteHooks(root: Root, hooks: string, named: GitReferencedPaths): Promise<void> {
  await notePath(root, hooks, 'directory', named)
  // Husky's hooks run those of the same name one directory above.
  if (basename(hooks) === '_') await notePath(root, dirname(hooks), 'directory', named)
  const isInside = isWithin(hooks, root.path)
  for (const entry of await entriesOf(root, hooks)) {
    if (entry.isSymbolicLink()) await notePath(root, join(hooks, entry.name), 'file', named)
    // Others are as safe as their directory, if they have no second name.
    else if (!isInside && entry.isFile()) named.outside.add(join(hooks, entry.name))
  }
}

/** A setting may run a script of the project in ways that `programWords` does not know. */
async function noteExistingFiles(
  root: Root,
  settings: readonly GitSetting[],
  tree: string,
  named: GitReferencedPaths,
): Promise<void> {
  const mayRun = settings.filter((setting) => !isData(setting))
  for (const word of mayRun.flatMap(({ value }) => shellWords(value))) {
    const path = resolve(tree, word)
    if (isWithin(path, root.path) && (await findOrNothing(root, path))?.isFile()) named.add(path, true)
  }
}

/** Notes a path, its real path, and the links between them, as far as they lie in the folder. */
async function notePath(
  root: Root,
  path: string,
  kind: 'file' | 'directory' | 'program',
  named: GitReferencedPaths,
): Promise<void> {
  const { links, end, missing } = await followLinks(root, path)
  const isDirectory = end !== undefined && missing === undefined && (await findOrNothing(root, end))?.isDirectory()
  if (isDirectory && kind === 'program') return
  for (const link of links) named.add(link, kind === 'program')
  if (end === undefined || end === '/') return
  // The folder itself may be the directory of hooks.
  if (isWithin(end, root.path) && (end !== root.path || kind === 'directory')) named.add(end, kind === 'program')
  else if (missing === undefined && !isDirectory) named.outside.add(end)
}

async function entriesOf(root: Root, directory: string): Promise<Dirent[]> {
  try {
    return await root.disk.list(directory)
  } catch {
    return []
  }
}

async function findOrNothing({ disk }: Root, path: string) {
  try {
    return await disk.find(path)
  } catch {
    return undefined
  }
}
