import { dirname } from 'node:path'
import { isWithin } from '../../../domain/tools/within.ts'

/**
 * Kind of a mount. `fixed` can be written but not moved or removed: a mount point cannot be renamed.
 */
type MountKind = 'empty-directory' | 'unreadable-file' | 'read-only' | 'fixed'

export interface Mount {
  path: string
  kind: MountKind
}

const strongestFirst: readonly MountKind[] = ['empty-directory', 'unreadable-file', 'read-only', 'fixed']

/**
 * Orders mounts so that none covers another: parents first, one per path, and none that a stronger parent mount already
 * implies. Mounting a parent later would reveal paths hidden below it.
 */
export function inMountOrder(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map<string, MountKind>()
  for (const { path, kind } of mounts) {
    const known = byPath.get(path)
    if (known === undefined || rank(kind) < rank(known)) byPath.set(path, kind)
  }
  const isCovered = (path: string, kind: MountKind) =>
    [...byPath].some(
      ([outer, around]) =>
        outer !== path && isWithin(path, outer) && (isHidden(around) || (around === 'read-only' && !isHidden(kind))),
    )
  return [...byPath]
    .filter(([path, kind]) => !isCovered(path, kind))
    .map(([path, kind]) => ({ path, kind }))
    .sort((a, b) => depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1))
}

/** Directories between a folder and a path in it, made fixed: renaming one would change the path. */
export function parentsBetween(folder: string, place: string): Mount[] {
  const between: Mount[] = []
  for (let path = dirname(place); path !== folder && isWithin(path, folder); path = dirname(path))
    between.push({ path, kind: 'fixed' })
  return between
}

/** bubblewrap arguments of a mount. */
export function mountArguments({ path, kind }: Mount): string[] {
  switch (kind) {
    case 'empty-directory':
      return ['--tmpfs', path, '--remount-ro', path]
    case 'unreadable-file':
      // Mounts of the sandbox allow no devices, so opening it fails.
      return ['--ro-bind', '/dev/null', path]
    case 'read-only':
      return ['--ro-bind', path, path]
    case 'fixed':
      return ['--bind', path, path]
  }
}

function isHidden(kind: MountKind): boolean {
  return kind === 'empty-directory' || kind === 'unreadable-file'
}

function rank(kind: MountKind): number {
  return strongestFirst.indexOf(kind)
}

function depth(path: string): number {
  return path.split('/').length
}
