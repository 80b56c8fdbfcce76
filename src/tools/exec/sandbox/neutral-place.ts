import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isWithin } from '../../../domain/tools/within.ts'
import { host } from './host.ts'

/** On a disk, and a path that reveals nothing about the user. */
const parent = '/var/tmp'

/** Mount sources by the path that commands see. */
type Placed = Record<string, string>

/**
 * Replaces mount sources by neutral paths: `/proc/self/mountinfo` shows the source path of each mount. They are hard links
 * in a directory that only this user can write to, created once; copies on another disk. If that fails, the sources stay
 * unchanged.
 */
export function neutralPlace(): (placed: Placed, folder: string) => Promise<Placed> {
  let isImpossible = false
  return async (placed, folder) => {
    if (isImpossible || Object.keys(placed).length === 0) return placed
    const directory = join(parent, `.node-${process.getuid?.() ?? 'x'}-${await keyOf(placed)}`)
    // An agent could see it or write there.
    if (isWithin(directory, folder)) return placed
    const neutral = Object.fromEntries(Object.keys(placed).map((place) => [place, join(directory, place)]))
    try {
      if (!(await isReady(directory, Object.values(neutral)))) await host.mirror(placed, directory)
      if (await isReady(directory, Object.values(neutral))) return neutral
    } catch {
      // Not reported: commands still run, and only a path is revealed.
    }
    isImpossible = true
    return placed
  }
}

/** Changes when a source is another file. */
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
