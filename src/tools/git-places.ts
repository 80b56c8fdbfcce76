import type { Stats } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isWithin } from '../domain/within.ts'
import { type Opened, openInside, type Root } from './inside.ts'

/** Parts of a git directory that git runs, or that tell it what to run. */
const gitParts = ['config', 'config.worktree', 'hooks', 'commondir'] as const
const maxConfigBytes = 1_000_000

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
  /** Hook directories and configuration files that a configuration names. */
  named: WatchedPath[]
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
  if (names.has('.git'))
    await inDirectory(root, path, async (_, base) => {
      const state = await stateAt(root, `${base}/.git`)
      if (state.startsWith('directory '))
        await noteGitDirectory(root, join(path, '.git'), path, places, globalHooksPath)
      else if (state !== 'missing') places.pointers.push({ path: join(path, '.git'), state })
    })
  if (isGitDirectory(names) && basename(path) !== '.git')
    await noteGitDirectory(root, path, path, places, globalHooksPath)
}

/** As git tells one: also one without `.git` in its path, in which somebody may stand when they call git. */
export function isGitDirectory(names: ReadonlySet<string>): boolean {
  return names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs')))
}

async function noteGitDirectory(
  root: Root,
  path: string,
  workTree: string,
  places: GitPlaces,
  globalHooksPath: string | undefined,
): Promise<void> {
  await inDirectory(root, path, async (opened, base) => {
    const parts: WatchedPath[] = []
    for (const part of gitParts) parts.push({ path: join(path, part), state: await stateAt(root, `${base}/${part}`) })
    places.directories.push({ path, id: identityOf(opened.stats), parts })
    const text = await textAt(root, join(path, 'config'))
    const named = namedIn(text, { directory: path, workTree, globalHooksPath })
    for (const each of named.filter((place) => isWithin(place, root.path)))
      places.named.push({ path: each, state: await stateAt(root, each) })
  })
}

/** The paths that a configuration names from which git takes programs or further configuration. */
export function namedIn(
  config: string,
  {
    directory,
    workTree,
    globalHooksPath,
  }: { directory: string; workTree: string; globalHooksPath: string | undefined },
): string[] {
  const settings = readGitConfig(config)
  const last = (name: string) => settings.findLast((setting) => setting.name === name)?.value
  const tree = resolve(directory, last('core.worktree') ?? workTree)
  const hooksPath = last('core.hookspath') ?? globalHooksPath
  const included = settings.filter(({ name }) => name === 'include.path' || name === 'includeif.path')
  return [
    ...included.map(({ value }) => resolve(directory, value)),
    ...(hooksPath === undefined ? [] : [resolve(tree, hooksPath)]),
  ]
}

/** Whether a configuration of a repository around a path names it, or a directory that holds it. */
export async function isNamedByGit(root: Root, path: string): Promise<boolean> {
  for (let workTree = dirname(path); isWithin(workTree, root.path); workTree = dirname(workTree)) {
    const directory = join(workTree, '.git')
    if (!(await root.disk.find(directory))?.isDirectory()) continue
    const config = await textAt(root, join(directory, 'config'))
    const named = namedIn(config, { directory, workTree, globalHooksPath: undefined })
    if (named.some((place) => isWithin(path, place))) return true
  }
  return false
}

/** The relative hook directory that a person's own configuration names for every repository, if one does. */
export function hooksPathIn(config: string): string | undefined {
  return readGitConfig(config).findLast(({ name }) => name === 'core.hookspath')?.value
}

/** Settings by section and key, in small letters, without what stands in quotes after a section. */
function readGitConfig(config: string): { name: string; value: string }[] {
  let section = ''
  return config.split('\n').flatMap((line) => {
    section = /^\s*\[\s*([\w.-]+)/.exec(line)?.[1]?.toLowerCase() ?? section
    const [, key = '', value = ''] = /(?:^|\])\s*(\w+)\s*=\s*"?([^"#;]*?)"?\s*(?:[#;].*)?$/.exec(line) ?? []
    return value === '' ? [] : [{ name: `${section}.${key.toLowerCase()}`, value }]
  })
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

async function textAt(root: Root, path: string): Promise<string> {
  const opened = await openInside(root, path).catch(() => undefined)
  if (!opened) return ''
  try {
    if (!opened.stats.isFile()) return ''
    const into = Buffer.alloc(Math.min(opened.stats.size, maxConfigBytes))
    return into.toString('utf8', 0, await opened.file.read(into, 0))
  } finally {
    await opened.file.close()
  }
}
