import type { Kind, OpenDirectory, PathAddress } from '../domain/path-handle.ts'
import { directHandle } from './handle.ts'
import { ignoringAt } from './ignore.ts'
import { shownName } from './shown-name.ts'

export interface Listing {
  /** Each entry as it is told: lines are passed on by threads for less than what they are made of. */
  entries: string[]
  /** Entries that are not told because there are too many. */
  more: number
  /** Whether there were so many that not even all were counted. */
  atLeast: boolean
  /** Entries that ignore files hide. */
  ignored: number
}

const mostEntries = 1000
const mostRead = 20_000

/** What is in a directory: directories first, by name, without what ignore files hide. */
export async function listDirectory(address: PathAddress): Promise<Listing> {
  return directHandle(address).openDirectory(async (directory) => {
    const ignoring = await ignoringAt(directHandle({ ...address, path: '.' }), directory)
    const seen: { name: string; kind: Kind }[] = []
    let ignored = 0
    let read = 0
    for await (const entry of directory.entries()) {
      if (++read > mostRead) break
      if (ignoring.hides(entry.name, entry.kind === 'directory')) ignored++
      else seen.push(entry)
    }
    seen.sort((a, b) => Number(b.kind === 'directory') - Number(a.kind === 'directory') || (a.name < b.name ? -1 : 1))
    const told = seen.slice(0, mostEntries)
    const sizes = await directory.bytes(told.map(({ name }) => name))
    const entries: string[] = []
    for (const [at, { name, kind }] of told.entries()) {
      const leads = kind === 'link' ? await whereTo(directory, name) : ''
      entries.push(lineOf(shownName(name), kind, sizes[at] ?? 0, leads))
    }
    return { entries, more: seen.length - entries.length, atLeast: read > mostRead, ignored }
  })
}

function lineOf(name: string, kind: Kind, bytes: number, leads: string): string {
  if (kind === 'directory') return `${name}/`
  if (kind === 'file') return `${name}  ${bytes} bytes`
  return kind === 'link' ? `${name}  link that leads ${leads}` : `${name}  device, pipe or socket`
}

async function whereTo(directory: OpenDirectory, name: string): Promise<string> {
  const handle = directory.at(name)
  const sight = await handle.look().catch(() => undefined)
  if (sight?.kind === 'outside') return 'out of the folder'
  if (!sight || sight.kind === 'missing') return 'nowhere'
  return `to ${shownName(sight.names.join('/') || '.')}${sight.kind === 'directory' ? '/' : ''}`
}
