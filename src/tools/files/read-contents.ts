import { basename, dirname } from 'node:path'
import type { FileTimes, PathAddress } from '../../domain/tools/path-handle.ts'
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

/** A file as it was read, with the fingerprint that it had then. */
export interface FileRead {
  path: string
  mark: string
  times: FileTimes
  sha256: string
  /** Absent if it is binary. */
  bytes?: Uint8Array
}

/** Reads files and their hashes, except those that are too large, gone, linked twice or no files. Runs in a worker thread. */
export async function readContents({ folder, paths }: FilesToRead): Promise<FileRead[]> {
  const found: FileRead[] = []
  for (const [directory, names] of Map.groupBy(paths, dirname))
    await syncHandle({ ...folder, path: directory })
      .openDirectory(async (opened) => {
        for (const path of names) {
          const read = await opened.content(basename(path), maxBytes).catch(() => undefined)
          if (!read) continue
          const { mark, times, bytes } = read
          const isText = !('binary' in kindOfText(bytes.subarray(0, headBytes)))
          found.push({ path, mark, times, sha256: hashOf(bytes), ...(isText && { bytes }) })
        }
      })
      .catch(() => undefined)
  return found
}
