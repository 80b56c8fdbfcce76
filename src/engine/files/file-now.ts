import { basename, dirname } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import type { FileTimes, OpenFile, PathAddress, PathHandle } from '../../domain/tools/path-handle.ts'
import { hashOf } from '../../tools/files/content-hash.ts'
import { pathHandle } from '../../tools/files/handle.ts'
import { isIgnored } from '../../tools/files/ignore.ts'

/** Larger files are not read to explain them. */
const maxExplained = 5 * 1024 * 1024

/** Current state of a path. */
export type FileNow =
  | { kind: 'file'; path: string; bytes: Buffer; sha256: string; times: FileTimes; links: number }
  | { kind: 'large'; path: string; size: number }
  | { kind: 'missing' | 'outside' | 'directory' | 'other' }

/** Reads a path through a handle, as tools do: nothing outside the folder is read, whatever links say. */
export async function fileNow(address: PathAddress): Promise<FileNow> {
  const handle = pathHandle(address)
  const stat = await handle.stat()
  if (stat.kind !== 'file') return { kind: stat.kind }
  if (stat.bytes > maxExplained) return { kind: 'large', path: stat.path, size: stat.bytes }
  const { path, times, links } = stat
  const bytes = await handle.openFile(readAll)
  return { kind: 'file', path, bytes, sha256: hashOf(bytes), times, links }
}

/** Current hash of a file; null if it does not exist, undefined if it cannot be read. */
export async function hashNow(address: PathAddress): Promise<string | null | undefined> {
  try {
    return hashIn(await fileNow(address))
  } catch {
    return undefined
  }
}

/** Hash of a file's state; null if it does not exist, undefined if it was not read. */
export function hashIn(now: FileNow): string | null | undefined {
  if (now.kind === 'file') return now.sha256
  return now.kind === 'missing' ? null : undefined
}

/** Whether a directory has an entry of this name; a link counts, wherever it leads. */
export async function hasEntry({ path, ...rest }: PathAddress): Promise<boolean> {
  try {
    return await pathHandle({ ...rest, path: dirname(path) }).openDirectory((opened) => opened.has(basename(path)))
  } catch {
    return false
  }
}

/** When a path last changed, as only the kernel sets it; undefined if it cannot be read. */
export async function changeTime(address: PathAddress): Promise<Millis | undefined> {
  const stat = await statOf(address)
  return stat && 'times' in stat ? stat.times.changedAt : undefined
}

/** Size of a file and when it last changed, in whole milliseconds; null if there is no file in the folder, undefined if the folder is not here. */
export async function fileStamp(
  address: PathAddress,
): Promise<{ bytes: number; changedAt: Millis } | null | undefined> {
  const stat = await statOf(address)
  if (stat?.kind === 'file') return { bytes: stat.bytes, changedAt: Math.trunc(stat.times.changedAt) }
  return (await statOf({ ...address, path: '.' }))?.kind === 'directory' ? null : undefined
}

/** Whether surveys pass a file over, since it is ignored; so they do if that cannot be found out. */
export async function isPassedOver({ path, ...folder }: PathAddress): Promise<boolean> {
  try {
    return await isIgnored(pathHandle({ ...folder, path: '.' }), path.split('/'))
  } catch {
    return true
  }
}

/** Absolute path without links; undefined if there is nothing. */
export async function realPath(address: PathAddress): Promise<string | undefined> {
  const stat = await statOf(address)
  return stat && 'path' in stat ? stat.path : undefined
}

async function statOf(address: PathAddress): Promise<Awaited<ReturnType<PathHandle['stat']>> | undefined> {
  try {
    return await pathHandle(address).stat()
  } catch {
    return undefined
  }
}

async function readAll(file: OpenFile): Promise<Buffer> {
  const into = Buffer.alloc(file.bytes)
  let filled = 0
  for (let count = -1; filled < into.length && count !== 0; filled += count)
    count = await file.read(into.subarray(filled), filled)
  return into.subarray(0, filled)
}
