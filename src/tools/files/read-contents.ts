import { basename, dirname } from 'node:path'
import type { PathAddress } from '../../domain/tools/path-handle.ts'
import { hashOf } from './content-hash.ts'
import { syncHandle } from './handle.ts'
import { headBytes, kindOfText } from './text-kind.ts'

/** Larger files are not read. */
const maxBytes = 2 ** 20

/** Files of a folder to read. */
export interface FilesToRead {
  folder: PathAddress
  paths: string[]
}

/** A file as it was read, with the fingerprint that it had before and after. */
export interface FileRead {
  path: string
  mark: string
  sha256: string
  /** Absent if it is binary. */
  bytes?: Uint8Array
}

/** Reads files and their hashes, except those that are too large, gone or no files. Runs in a worker thread. */
export async function readContents({ folder, paths }: FilesToRead): Promise<FileRead[]> {
  const found: FileRead[] = []
  for (const [directory, names] of Map.groupBy(paths, dirname))
    await syncHandle({ ...folder, path: directory })
      .openDirectory(async (opened) => {
        for (const path of names) {
          const name = basename(path)
          const mark = await opened.mark(name).catch(() => undefined)
          const bytes = mark === undefined ? undefined : await opened.at(name).openFile(readSmall).catch(() => undefined)
          if (mark === undefined || !bytes || (await opened.mark(name).catch(() => '')) !== mark) continue
          const isText = !('binary' in kindOfText(bytes.subarray(0, headBytes)))
          found.push({ path, mark, sha256: hashOf(bytes), ...(isText && { bytes }) })
        }
      })
      .catch(() => undefined)
  return found
}

async function readSmall(file: {
  bytes: number
  read(into: Uint8Array, position: number): Promise<number>
}): Promise<Buffer | undefined> {
  if (file.bytes > maxBytes) return undefined
  const into = Buffer.allocUnsafeSlow(file.bytes)
  let filled = 0
  for (let count = -1; filled < into.length && count !== 0; filled += count)
    count = await file.read(into.subarray(filled), filled)
  return into.subarray(0, filled)
}
