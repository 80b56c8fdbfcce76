import { dirname, join } from 'node:path'
import { isWithin } from '../domain/within.ts'
import type { Root } from './inside.ts'

// As many as the system itself follows.
const maxLinks = 40

/** The links inside the root that a path leads over, and its end where that is inside and missing. */
export async function linksTo(root: Root, path: string): Promise<string[]> {
  const found: string[] = []
  const names = path.split('/').filter(Boolean)
  let here = '/'
  for (let links = 0; links <= maxLinks; ) {
    const name = names.shift()
    if (name === undefined) return found
    if (name === '..') {
      here = dirname(here)
      continue
    }
    const next = join(here, name)
    const stats = await findOrNothing(root, next)
    if (!stats) return isWithin(next, root.path) ? [...found, next] : found
    if (!stats.isSymbolicLink()) {
      here = next
      continue
    }
    links++
    if (isWithin(next, root.path)) found.push(next)
    const target = await root.disk.readlink(next)
    names.unshift(...target.split('/').filter((each) => each !== '' && each !== '.'))
    if (target.startsWith('/')) here = '/'
  }
  return found
}

/** What cannot be reached is missing like anything else. */
async function findOrNothing({ disk }: Root, path: string) {
  try {
    return await disk.find(path)
  } catch {
    return undefined
  }
}
