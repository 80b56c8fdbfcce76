import type { Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import type { ProtectedPlaces } from '../domain/path-handle.ts'
import { isWithin } from '../domain/within.ts'
import type { Disk } from './disk.ts'
import { shownName } from './shown-name.ts'

// More entries of a hidden directory are not compared with a file that has several names.
const maxComparedEntries = 2000

/** Protected places as real paths. Each has two where its last name is a link: the link's own, and where it leads. */
export interface RealPlaces {
  hidden: readonly string[]
  readOnly: readonly string[]
  noCommands: readonly string[]
}

/** Finds out where protected places really are, seen from a folder whose real path is given. */
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

/** Places without a link on the way, as seen from folders that do not hold them: nothing that agents do there moves them. */
const stablePlaces = new WeakMap<ProtectedPlaces, Set<string>>()

/** The real path of a place and of its name; where nothing is yet, where it would be. */
export async function realNames(disk: Pick<Disk, 'realpath'>, path: string): Promise<string[]> {
  const name = await realName(disk, path)
  const real = await realOf(disk, path)
  return real === undefined || real === name ? [name] : [name, real]
}

async function realName(disk: Pick<Disk, 'realpath'>, path: string): Promise<string> {
  const parent = dirname(path)
  if (parent === path) return path
  return join((await realOf(disk, parent)) ?? (await realName(disk, parent)), basename(path))
}

/** Where a path really is; undefined when that cannot be told. */
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

/** Whether a file with several names is, by another one, a file of a hidden place. */
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
