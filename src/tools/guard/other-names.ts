import { join } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import type { Root } from '../files/inside.ts'
import { identityOf } from './git-places.ts'

// Max files of protected paths to compare; our package has a few thousand.
const maxEntries = 50_000
const fewEntries = 1000
const cacheMs: Millis = 60_000

/** Protected files with several hard links, by identity. */
export type TrustedInodes = ReadonlyMap<string, 'hidden' | 'readOnly'>

/** Finds protected files that could be hard-linked where agents write. */
export async function hardLinkedInodes(root: Root, now: Millis): Promise<TrustedInodes> {
  const found = new Map<string, 'hidden' | 'readOnly'>()
  for (const kind of ['readOnly', 'hidden'] as const)
    for (const place of root.places[kind])
      for (const inode of await hardLinkedFiles(root, place, now)) found.set(inode, kind)
  return found
}

/** Cache of large directories, kept in a worker thread between commands: the program itself has thousands of files. */
const cache = new Map<string, { at: Millis; inodes: string[] }>()

async function hardLinkedFiles({ disk }: Root, place: string, now: Millis): Promise<string[]> {
  const known = cache.get(place)
  if (known && now - known.at < cacheMs) return known.inodes
  const inodes: string[] = []
  const queue = [place]
  // The loop appends to this list.
  for (const path of queue) {
    if (queue.length > maxEntries) break
    const stats = await disk.find(path)
    if (stats?.isFile() && stats.nlink > 1) inodes.push(identityOf(stats))
    if (stats?.isDirectory()) for await (const { name } of disk.entries(path)) queue.push(join(path, name))
  }
  if (queue.length > fewEntries) cache.set(place, { at: now, inodes })
  return inodes
}
