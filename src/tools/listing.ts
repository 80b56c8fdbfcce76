import type { Kind, OpenDirectory, PathAddress } from '../domain/path-handle.ts'
import { directHandle } from './handle.ts'
import { ignoringAt } from './ignore.ts'
import { shownName } from './shown-name.ts'

/** An entry of a directory as it is told. */
export interface Entry {
  name: string
  kind: Kind
  bytes: number
  /** Where a link leads, in words. */
  leads?: string
}

export interface Listing {
  entries: Entry[]
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
    const entries: Entry[] = []
    for (const { name, kind } of seen.slice(0, mostEntries)) {
      const leads = kind === 'link' ? await whereTo(directory, name) : undefined
      const bytes = kind === 'file' ? await directory.bytes(name).catch(() => 0) : 0
      entries.push({ name: shownName(name), kind, bytes, ...(leads !== undefined && { leads }) })
    }
    return { entries, more: seen.length - entries.length, atLeast: read > mostRead, ignored }
  })
}

async function whereTo(directory: OpenDirectory, name: string): Promise<string> {
  const handle = directory.at(name)
  const sight = await handle.look().catch(() => undefined)
  if (sight?.kind === 'outside') return 'out of the folder'
  if (!sight || sight.kind === 'missing') return 'nowhere'
  return `to ${shownName(sight.names.join('/') || '.')}${sight.kind === 'directory' ? '/' : ''}`
}
