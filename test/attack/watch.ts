import { type BigIntStats, lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** A place on the disk that nothing may change while an attack goes on. */
export interface Watched {
  name: string
  path: string
  /** Only whether it is still the same file: its content changes by itself. */
  onlyIdentity?: boolean
}

/** A place that heddle itself reads, runs or listens on, and a file in it. */
export interface Place extends Watched {
  /** A file in the place, or the place itself where it is a file. */
  file: string
  /** Text that is in the file and must not reach a model; undefined where agents may read it. */
  secret?: string
  /** Whether every start of the program adds to it. */
  isCache?: boolean
}

/** What a place looks like: a line for each entry below it. */
export type Look = Map<string, string>

/** Looks at a place without following links. A place that is not there has no lines. */
export function lookAt({ path, onlyIdentity = false }: Watched): Look {
  const look: Look = new Map()
  add(look, path, '.', onlyIdentity)
  return look
}

/** What differs between two looks, in a few words; undefined when nothing does. */
export function difference(before: Look, after: Look): string | undefined {
  for (const [name, line] of before) {
    if (!after.has(name)) return `${name} is gone`
    if (after.get(name) !== line) return `${name} was changed`
  }
  for (const name of after.keys()) if (!before.has(name)) return `${name} was made`
  return undefined
}

function add(look: Look, path: string, name: string, onlyIdentity: boolean): void {
  const stats = statsOf(path)
  if (!stats) return
  look.set(name, lineOf(stats, path, onlyIdentity))
  if (!stats.isDirectory() || onlyIdentity) return
  for (const entry of readdirSync(path)) add(look, join(path, entry), join(name, entry), false)
}

/** Undefined when there is nothing, also where a directory of the path has become a file. */
function statsOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw error
  }
}

/** A program cannot set the time of the last change of an inode, so equal lines mean equal content. */
function lineOf(stats: BigIntStats, path: string, onlyIdentity: boolean): string {
  const identity = `${stats.ino} ${stats.mode}`
  if (onlyIdentity || stats.isDirectory()) return identity
  const target = stats.isSymbolicLink() ? readlinkSync(path) : ''
  return `${identity} ${stats.size} ${stats.ctimeNs} ${target}`
}
