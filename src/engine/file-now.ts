import type { OpenFile, PathAddress } from '../domain/path-handle.ts'
import { hashOf } from '../tools/change-file.ts'
import { pathHandle } from '../tools/handle.ts'

/** Larger files are not read to explain them. */
export const mostExplained = 5 * 1024 * 1024

/** What lies at a path now. */
export type FileNow =
  | { kind: 'file'; path: string; bytes: Buffer; sha256: string }
  | { kind: 'large'; path: string; size: number }
  | { kind: 'missing' | 'outside' | 'directory' | 'other' }

/** Looks by a handle, as tools do: nothing outside the folder is read, whatever links say. */
export async function fileNow(address: PathAddress): Promise<FileNow> {
  const handle = pathHandle(address)
  const sight = await handle.look()
  if (sight.kind !== 'file') return { kind: sight.kind }
  if (sight.bytes > mostExplained) return { kind: 'large', path: sight.path, size: sight.bytes }
  const bytes = await handle.openFile(allOf)
  return { kind: 'file', path: sight.path, bytes, sha256: hashOf(bytes) }
}

/** The hash of a file as it is now; null when it is not there, undefined when that cannot be told. */
export async function hashNow(address: PathAddress): Promise<string | null | undefined> {
  try {
    const now = await fileNow(address)
    if (now.kind === 'file') return now.sha256
    return now.kind === 'missing' ? null : undefined
  } catch {
    return undefined
  }
}

async function allOf(file: OpenFile): Promise<Buffer> {
  const into = Buffer.alloc(file.bytes)
  let filled = 0
  for (let count = -1; filled < into.length && count !== 0; filled += count)
    count = await file.read(into.subarray(filled), filled)
  return into.subarray(0, filled)
}
