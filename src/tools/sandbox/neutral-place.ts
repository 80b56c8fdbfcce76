import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isWithin } from '../../domain/within.ts'
import { host } from './host.ts'

/** On a disk, and a path that tells nothing about the user. */
const parent = '/var/tmp'

/** Sources of mounts by the path at which commands find them. */
type Placed = Record<string, string>

/**
 * Gives mounts sources whose paths tell nothing: `/proc/self/mountinfo` shows where the source of each mount lies. They
 * are the same files by other names, in a directory that only this user can write to and that is made once; copies where
 * the disk is another one. Where that cannot be done the sources stay as they are.
 */
export function neutralPlace(): (placed: Placed, folder: string) => Promise<Placed> {
  let isImpossible = false
  return async (placed, folder) => {
    if (isImpossible || Object.keys(placed).length === 0) return placed
    const directory = join(parent, `.node-${process.getuid?.() ?? 'x'}-${await keyOf(placed)}`)
    // An agent could write there, or see it.
    if (isWithin(directory, folder)) return placed
    const neutral = Object.fromEntries(Object.keys(placed).map((place) => [place, join(directory, place)]))
    try {
      if (!(await isReady(directory, Object.values(neutral)))) await host.mirror(placed, directory)
      if (await isReady(directory, Object.values(neutral))) return neutral
    } catch {
      // Told by nobody: commands run as before, and only a path is seen.
    }
    isImpossible = true
    return placed
  }
}

/** Another one as soon as a source is another file. */
async function keyOf(placed: Placed): Promise<string> {
  const identities = await Promise.all(Object.values(placed).map((source) => host.identity(source)))
  return createHash('sha256')
    .update(JSON.stringify([placed, identities]))
    .digest('hex')
    .slice(0, 16)
}

async function isReady(directory: string, files: string[]): Promise<boolean> {
  const found = await Promise.all(files.map((file) => host.mayRun(file)))
  return found.every(Boolean) && (await host.isOurs(directory))
}
