import type { Stats } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import type { ProtectedPlaces } from '../domain/path-handle.ts'
import { isWithin } from '../domain/within.ts'
import type { Descriptor, Disk } from './disk.ts'
import { isAmong, isHiddenByAnotherName, type RealPlaces } from './protected-places.ts'

/** A folder that nothing leads out of. */
export interface Root {
  /** Its real path. */
  path: string
  /** What belongs to the runtime and not to agents: hidden places count as outside. */
  protect: ProtectedPlaces
  places: RealPlaces
  disk: Disk
}

/** Where a way inside a root ends. */
export type End =
  | { at: 'inside'; path: string; stats: Stats }
  | { at: 'missing'; directory: string; name: string /** What would come after the name. */; rest: string[] }
  | { at: 'outside' }

/** A way that was gone: from which root, and where it ended. */
export interface Way {
  root: Root
  end: End
}

/** A descriptor that is known to lie inside, and a path that leads to nothing but it, where there is one. */
export interface Opened {
  file: Descriptor
  stats: Stats
  /** Where it really was when it was opened. */
  real: string
  byDescriptor: string | undefined
}

// As many as the system itself follows.
const mostLinks = 40

/**
 * Goes from a real path inside the root along names, and along links as long as they stay inside. Looks at nothing
 * outside, so that not even the existence of what is there is told. What it finds may change before it is opened.
 */
export async function follow(root: Root, from: string, names: readonly string[]): Promise<End> {
  const { disk } = root
  if (isHidden(root, from)) return { at: 'outside' }
  const left = [...names]
  let here = from
  // Looked at only where it ends: what leads on is a directory, or the system says that it is none.
  let stats: Stats | undefined
  for (let links = 0; ; ) {
    const name = left.shift()
    if (name === undefined) return { at: 'inside', path: here, stats: stats ?? (await disk.lstat(here)) }
    if (name === '' || name === '.') continue
    if (stats && !stats.isDirectory()) throw notDirectory(root, here)
    if (name === '..') {
      if (here === root.path) return { at: 'outside' }
      here = dirname(here)
      stats = undefined
      continue
    }
    const next = join(here, name)
    if (isHidden(root, next)) return { at: 'outside' }
    const seen = await disk.find(next)
    if (!seen) return { at: 'missing', directory: here, name, rest: left }
    if (!seen.isSymbolicLink()) {
      here = next
      stats = seen
      continue
    }
    if (++links > mostLinks) throw circle(root, next)
    const target = await disk.readlink(next)
    if (!target.startsWith(sep)) left.unshift(...target.split(sep))
    else if (isWithin(target, root.path)) {
      left.unshift(...target.slice(root.path.length).split(sep))
      here = root.path
      stats = undefined
    } else return { at: 'outside' }
  }
}

/**
 * Opens what was found, without following a link and without waiting for anyone, and asks the system what was opened:
 * a parent that was swapped for a link meanwhile is found out here. Undefined when that lies outside.
 */
export async function openInside(root: Root, path: string): Promise<Opened | undefined> {
  const { disk } = root
  const file = await disk.open(path)
  try {
    const stats = await file.stat()
    const byDescriptor = `${disk.descriptors}/${file.fd}`
    const told = await unlessMissing(() => disk.behind(byDescriptor))
    const real = told ?? (await disk.realpath(path))
    if (
      isWithin(real, root.path) &&
      !isHidden(root, real) &&
      !(await isHiddenByAnotherName(disk, root.places.hidden, stats)) &&
      (told !== undefined || (await isSame(root, stats, real)))
    )
      return { file, stats, real, byDescriptor: told === undefined ? undefined : byDescriptor }
  } catch (error) {
    await file.close()
    throw error
  }
  await file.close()
  return undefined
}

/** Whether a path leads, right now, to what was opened. */
export async function isSame({ disk }: Root, opened: Stats, path: string): Promise<boolean> {
  const now = await disk.lstat(path)
  return now.dev === opened.dev && now.ino === opened.ino
}

function isHidden({ places }: Root, path: string): boolean {
  return isAmong(places.hidden, path)
}

export function namesBelow(root: Root, path: string): string[] {
  return path.slice(root.path.length).split('/').filter(Boolean)
}

/** A path as people and models are told it. */
export function fromRoot(root: Pick<Root, 'path'>, path: string): string {
  return path === root.path ? '.' : path.slice(root.path.length).replace(/^\//, '')
}

async function unlessMissing<T>(ask: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

function notDirectory(root: Root, path: string): HeddleError {
  const shown = fromRoot(root, path)
  return new HeddleError('not_directory', `${shown} is not a directory`, `leave out what follows ${shown}`)
}

function circle(root: Root, path: string): HeddleError {
  return new HeddleError('circle', `the links at ${fromRoot(root, path)} lead in a circle`, 'give another path')
}
