import { dirname } from 'node:path'
import { isWithin } from '../../domain/within.ts'

/**
 * What a path inside the sandbox is turned into. `fixed` can be written and not be moved or removed: a mount cannot be
 * renamed.
 */
export type MountKind = 'empty-directory' | 'unreadable-file' | 'read-only' | 'fixed'

export interface Mount {
  path: string
  kind: MountKind
}

const strongestFirst: readonly MountKind[] = ['empty-directory', 'unreadable-file', 'read-only', 'fixed']

/**
 * Mounts in an order in which none covers another: parents before what lies in them, one for each path, and none where a
 * stronger one around it does the same. Mounting a parent later would bring back to light what is hidden below it.
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

/** The directories between a folder and a place in it: were one renamed, the place would have another path next time. */
export function parentsBetween(folder: string, place: string): Mount[] {
  const between: Mount[] = []
  for (let path = dirname(place); path !== folder && isWithin(path, folder); path = dirname(path))
    between.push({ path, kind: 'fixed' })
  return between
}

/** How bubblewrap is told of a mount. */
export function mountArguments({ path, kind }: Mount): string[] {
  switch (kind) {
    case 'empty-directory':
      return ['--tmpfs', path, '--remount-ro', path]
    case 'unreadable-file':
      // Mounts of the sandbox have no devices: whoever opens it is refused.
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
