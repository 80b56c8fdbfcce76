import type { Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { isWithin } from '../../domain/tools/within.ts'
import type { Disk } from '../files/disk.ts'
import { shownName } from '../files/shown-name.ts'

// Max entries of a hidden directory to compare with a hard-linked file.
const maxComparedEntries = 2000

/** Protected paths, resolved. A link has two entries: its own path and its target. */
export interface RealPlaces {
  hidden: readonly string[]
  readOnly: readonly string[]
  noCommands: readonly string[]
}

/** Resolves protected paths, as seen from a folder given by its real path. */
export async function realPlaces(
  disk: Pick<Disk, 'realpath'>,
  protect: ProtectedPlaces,
  folder: string,
): Promise<RealPlaces> {
  const known = stablePlaces.get(protect) ?? new Set<string>()
  stablePlaces.set(protect, known)
  const resolve = async (paths: readonly string[]) => {
    const names = await Promise.all(
      paths.map(async (path) => {
        if (isWithin(path, folder)) return realNames(disk, path)
        if (known.has(path)) return [path]
        const names = await realNames(disk, path)
        if (names.every((name) => name === path)) known.add(path)
        return names
      }),
    )
    return [...new Set(names.flat())]
  }
  const [hidden, readOnly, noCommands] = await Promise.all(
    [protect.hidden, protect.readOnly, protect.noCommands].map(resolve),
  )
  return { hidden: hidden ?? [], readOnly: readOnly ?? [], noCommands: noCommands ?? [] }
}

/** Cache of paths without links, outside the session's folder: agents cannot move them. */
const stablePlaces = new WeakMap<ProtectedPlaces, Set<string>>()

/** Real path of a link and of its target; for a missing path, where it would be. */
async function realNames(disk: Pick<Disk, 'realpath'>, path: string): Promise<string[]> {
  const name = await realName(disk, path)
  const real = await realOf(disk, path)
  return real === undefined || real === name ? [name] : [name, real]
}

async function realName(disk: Pick<Disk, 'realpath'>, path: string): Promise<string> {
  const parent = dirname(path)
  if (parent === path) return path
  return join((await realOf(disk, parent)) ?? (await realName(disk, parent)), basename(path))
}

/** Real path; undefined if it cannot be resolved. */
export async function realOf(disk: Pick<Disk, 'realpath'>, path: string): Promise<string | undefined> {
  try {
    return await disk.realpath(path)
  } catch {
    return undefined
  }
}

export function isAmong(places: readonly string[], path: string): boolean {
  return places.some((place) => isWithin(path, place))
}

/** Whether a file is a hard link to a file in a hidden path. */
export async function isHiddenByAnotherName(disk: Disk, hidden: readonly string[], file: Stats): Promise<boolean> {
  if (!file.isFile() || file.nlink < 2) return false
  const queue = [...hidden]
  let left = maxComparedEntries
  for (let path = queue.shift(); path !== undefined && left-- > 0; path = queue.shift()) {
    const found = await disk.find(path)
    if (!found || found.dev !== file.dev) continue
    if (found.ino === file.ino) return true
    if (found.isDirectory()) for await (const { name } of disk.entries(path)) queue.push(join(path, name))
  }
  return false
}

export function readOnlyPlace(shown: string): HeddleError {
  const message = `${shownName(shown)} belongs to heddle itself, and agents cannot change it`
  return new HeddleError('forbidden', message, 'work elsewhere in the folder, or tell the user what should change')
}

export function ownSources(folder: string): HeddleError {
  const message = `no command runs in ${folder}: heddle itself runs from there, and a command could change it`
  const remedy =
    'tell the user to work on a copy: clone it into another folder, or install heddle elsewhere and start that one here'
  return new HeddleError('forbidden', message, remedy)
}
