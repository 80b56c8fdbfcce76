import { join } from 'node:path'
import type { Millis } from '../domain/clock.ts'
import { identityOf } from './git-places.ts'
import type { Root } from './inside.ts'

// More files of protected places are not compared: a package of ours has a few thousand.
const maxEntries = 50_000
const fewEntries = 1000
const keptFor: Millis = 60_000

/** Files of protected places that have more than one name, by their identity. */
export type TrustedInodes = ReadonlyMap<string, 'hidden' | 'readOnly'>

/** Finds the files of protected places that could also lie, by a hard link, where agents write. */
export async function otherNamesOf(root: Root, now: Millis): Promise<TrustedInodes> {
  const found = new Map<string, 'hidden' | 'readOnly'>()
  for (const kind of ['readOnly', 'hidden'] as const)
    for (const place of root.places[kind])
      for (const inode of await severalNames(root, place, now)) found.set(inode, kind)
  return found
}

/** Large places, kept in a thread from command to command: the program's own files are thousands. */
const large = new Map<string, { at: Millis; inodes: string[] }>()

async function severalNames({ disk }: Root, place: string, now: Millis): Promise<string[]> {
  const known = large.get(place)
  if (known && now - known.at < keptFor) return known.inodes
  const inodes: string[] = []
  const queue = [place]
  // Grows while it is gone through.
  for (const path of queue) {
    if (queue.length > maxEntries) break
    const stats = await disk.find(path)
    if (stats?.isFile() && stats.nlink > 1) inodes.push(identityOf(stats))
    if (stats?.isDirectory()) for await (const { name } of disk.entries(path)) queue.push(join(path, name))
  }
  if (queue.length > fewEntries) large.set(place, { at: now, inodes })
  return inodes
}
