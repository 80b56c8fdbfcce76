import type { Stats } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { isWithin } from '../../domain/tools/within.ts'
import { isAmong, isHiddenByAnotherName, type RealPlaces } from '../guard/protected-places.ts'
import type { Descriptor, Disk } from './disk.ts'

/** A folder that no path may leave. */
export interface Root {
  /** Its real path. */
  path: string
  /** Paths of the runtime; hidden ones count as outside. */
  protect: ProtectedPlaces
  places: RealPlaces
  disk: Disk
}

/** End of a resolved path, as seen from a root. */
export type PathEnd =
  | { at: 'inside'; path: string; stats: Stats }
  | { at: 'missing'; directory: string; name: string /** Remaining components. */; rest: string[] }
  | { at: 'outside' }

/** A resolved path: its root, and where it ended. */
export interface ResolvedPath {
  root: Root
  end: PathEnd
}

/** An open descriptor, verified to lie inside, and a path through that descriptor if the system has one. */
export interface OpenedPath {
  file: Descriptor
  stats: Stats
  /** Real path when it was opened. */
  real: string
  byDescriptor: string | undefined
}

// Same limit as the kernel's.
const maxLinks = 40

/**
 * Resolves names from a real path inside the root, following links as long as they stay inside. Never looks outside, so
 * that not even the existence of a file there is revealed. The result may change before it is opened.
 */
export async function follow(root: Root, from: string, names: readonly string[]): Promise<PathEnd> {
  const { disk } = root
  if (isHidden(root, from)) return { at: 'outside' }
  const remaining = [...names]
  let here = from
  // Only needed for the last component: for others the system reports if they are not directories.
  let stats: Stats | undefined
  for (let links = 0; ; ) {
    const name = remaining.shift()
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
    if (!seen) return { at: 'missing', directory: here, name, rest: remaining }
    if (!seen.isSymbolicLink()) {
      here = next
      stats = seen
      continue
    }
    if (++links > maxLinks) throw circle(root, next)
    const target = await disk.readlink(next)
    if (!target.startsWith(sep)) remaining.unshift(...target.split(sep))
    else if (isWithin(target, root.path)) {
      remaining.unshift(...target.slice(root.path.length).split(sep))
      here = root.path
      stats = undefined
    } else return { at: 'outside' }
  }
}

/**
 * Opens a resolved path without following a link and without blocking, and asks the system what was opened: this detects a
 * parent that was swapped for a link meanwhile. Undefined if it lies outside.
 */
export async function openInside(root: Root, path: string): Promise<OpenedPath | undefined> {
  const { disk } = root
  const file = await disk.open(path)
  try {
    const stats = await file.stat()
    const byDescriptor = `${disk.descriptors}/${file.fd}`
    const descriptorPath = await unlessMissing(() => disk.pathBehind(byDescriptor))
    const real = descriptorPath ?? (await disk.realpath(path))
    if (
      isWithin(real, root.path) &&
      !isHidden(root, real) &&
      !(await isHiddenByAnotherName(disk, root.places.hidden, stats)) &&
      (descriptorPath !== undefined || (await isSame(root, stats, real)))
    )
      return { file, stats, real, byDescriptor: descriptorPath === undefined ? undefined : byDescriptor }
  } catch (error) {
    await file.close()
    throw error
  }
  await file.close()
  return undefined
}

/** Whether a path currently leads to the opened file. */
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

/** Path relative to the root, for messages. */
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
  return new HeddleError('circle', `the links at ${fromRoot(root, path)} form a loop`, 'give another path')
}
