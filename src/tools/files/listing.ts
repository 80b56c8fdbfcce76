import type { Kind, OpenDirectory, PathAddress } from '../../domain/tools/path-handle.ts'
import { syncHandle } from './handle.ts'
import { ignoreRulesAt } from './ignore.ts'
import { shownName } from './shown-name.ts'

export interface Listing {
  /** Rendered lines: cheaper to pass between threads than objects. */
  entries: string[]
  /** Their paths, relative to the folder. */
  paths: string[]
  /** Number of entries left out because there are too many. */
  more: number
  /** Whether there were too many to count. */
  atLeast: boolean
  /** Entries that ignore files hide. */
  ignored: number
}

const maxEntries = 1000
const maxRead = 20_000

/** Entries of a directory: directories first, by name, without ignored ones. */
export async function listDirectory(address: PathAddress): Promise<Listing> {
  return syncHandle(address).openDirectory(async (directory) => {
    const ignoring = await ignoreRulesAt(syncHandle({ ...address, path: '.' }), directory)
    const seen: { name: string; kind: Kind }[] = []
    let ignored = 0
    let read = 0
    for await (const entry of directory.entries()) {
      if (++read > maxRead) break
      if (ignoring.hides(entry.name, entry.kind === 'directory')) ignored++
      else seen.push(entry)
    }
    seen.sort((a, b) => Number(b.kind === 'directory') - Number(a.kind === 'directory') || (a.name < b.name ? -1 : 1))
    const listed = seen.slice(0, maxEntries)
    const sizes = await directory.bytes(listed.map(({ name }) => name))
    const entries: string[] = []
    for (const [at, { name, kind }] of listed.entries()) {
      const target = kind === 'link' ? await describeTarget(directory, name) : ''
      entries.push(lineOf(shownName(name), kind, sizes[at] ?? 0, target))
    }
    const paths = listed.map(({ name }) => [...directory.names, name].join('/'))
    return { entries, paths, more: seen.length - entries.length, atLeast: read > maxRead, ignored }
  })
}

function lineOf(name: string, kind: Kind, bytes: number, target: string): string {
  if (kind === 'directory') return `${name}/`
  if (kind === 'file') return `${name}  ${bytes} bytes`
  return kind === 'link' ? `${name}  link that leads ${target}` : `${name}  device, pipe or socket`
}

async function describeTarget(directory: OpenDirectory, name: string): Promise<string> {
  const handle = directory.at(name)
  const status = await handle.stat().catch(() => undefined)
  if (status?.kind === 'outside') return 'out of the folder'
  if (!status || status.kind === 'missing') return 'nowhere'
  return `to ${shownName(status.names.join('/') || '.')}${status.kind === 'directory' ? '/' : ''}`
}
