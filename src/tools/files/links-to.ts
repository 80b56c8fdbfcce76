import { dirname, join } from 'node:path'
import { isWithin } from '../../domain/tools/within.ts'
import type { Root } from './inside.ts'

// Same limit as the kernel's.
const maxLinks = 40

/** Links inside the root that a path leads through, and where it stops to exist if that is inside. */
export async function linksTo(root: Root, path: string): Promise<string[]> {
  const { links, missing } = await followLinks(root, path)
  return missing !== undefined && isWithin(missing, root.path) ? [...links, missing] : links
}

/** Where a path leads through links. */
interface LinkTrail {
  /** Links inside the root. */
  links: string[]
  /** Real path, or what it would be; undefined for a loop. */
  end?: string
  /** First missing component. */
  missing?: string
}

export async function followLinks(root: Root, path: string): Promise<LinkTrail> {
  const found: string[] = []
  const names = path.split('/').filter(Boolean)
  let here = '/'
  for (let links = 0; links <= maxLinks; ) {
    const name = names.shift()
    if (name === undefined) return { links: found, end: here }
    if (name === '..') {
      here = dirname(here)
      continue
    }
    const next = join(here, name)
    const stats = await findOrNothing(root, next)
    if (!stats) return { links: found, end: join(next, ...names), missing: next }
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
  return { links: found }
}

/** An unreachable path counts as missing. */
async function findOrNothing({ disk }: Root, path: string) {
  try {
    return await disk.find(path)
  } catch {
    return undefined
  }
}
