import { join } from 'node:path'
import type { Millis } from '../domain/clock.ts'
import { identityOf } from './git-places.ts'
import type { Root } from './inside.ts'

// More files of protected places are not compared: a package of ours has a few thousand.
const maxEntries = 50_000
const keptFor: Millis = 60_000

/** Files of protected places that have more than one name, by their identity. */
export type TrustedInodes = ReadonlyMap<string, 'hidden' | 'readOnly'>

/** Finds the files of protected places that could also lie, by a hard link, where agents write. */
export async function otherNamesOf(root: Root, now: Millis): Promise<TrustedInodes> {
  const { readOnly, hidden } = root.places
  const key = readOnly.join('\0')
  if (ownFiles?.key !== key || now - ownFiles.at > keptFor)
    ownFiles = { key, at: now, inodes: await severalNames(root, readOnly) }
  return new Map([
    ...ownFiles.inodes.map((inode) => [inode, 'readOnly'] as const),
    ...(await severalNames(root, hidden)).map((inode) => [inode, 'hidden'] as const),
  ])
}

/** Kept in a thread from command to command: the program's own files are thousands. */
let ownFiles: { key: string; at: Millis; inodes: string[] } | undefined

async function severalNames({ disk }: Root, places: readonly string[]): Promise<string[]> {
  const found: string[] = []
  const queue = [...places]
  let left = maxEntries
  // Grows while it is gone through.
  for (const path of queue) {
    if (left-- < 0) break
    const stats = await disk.find(path)
    if (stats?.isFile() && stats.nlink > 1) found.push(identityOf(stats))
    if (stats?.isDirectory()) for await (const { name } of disk.entries(path)) queue.push(join(path, name))
  }
  return found
}
