import type { Millis } from '../../domain/clock.ts'
import type { PathAddress } from '../../domain/tools/path-handle.ts'
import type { ReadContent } from '../../domain/tools/touched.ts'
import type { FileThreads } from '../files/file-threads.ts'
import { readFingerprint } from '../files/fingerprint.ts'

/** Max files, and bytes of files, that are read before a command; the rest is read before the next ones. */
const maxFilesRead = 600
const maxBytesRead = 8 * 2 ** 20
/** Max bytes of contents that a process holds, for all folders. */
const maxBytesHeld = 48 * 2 ** 20
/** Max files whose hashes a process knows. */
const maxFilesKnown = 40_000

interface KnownContent {
  mark: string
  content: ReadContent
}

/**
 * Contents of the files of folders, kept between commands: what a command changes is gone when it has ended. A file is read
 * again only when its fingerprint has changed.
 */
export class KnownContents {
  readonly #threads: FileThreads
  /** By folder and path, the longest unused first. */
  readonly #known = new Map<string, KnownContent>()
  #bytes = 0

  constructor(threads: FileThreads) {
    this.#threads = threads
  }

  /**
   * Contents of the files with these fingerprints, as far as they could be read. One that was changed since its fingerprint was taken
   * is as it was read: what it had before is gone, and a content that it has had is better than none.
   */
  async of(
    folder: PathAddress,
    marks: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<Map<string, ReadContent>> {
    const found = new Map<string, ReadContent>()
    const unread: { path: string; size: number; changedAt: Millis }[] = []
    for (const [path, mark] of marks) {
      const { isFile, ...file } = readFingerprint(mark)
      if (!isFile) continue
      const known = this.#known.get(keyOf(folder, path))
      if (known?.mark !== mark) unread.push({ path, ...file })
      else found.set(path, known.content)
    }
    if (unread.length === 0) return found
    // What was changed last is what work goes on with.
    unread.sort((a, b) => b.changedAt - a.changedAt)
    const paths: string[] = []
    let bytes = 0
    for (const { path, size } of unread) {
      bytes += size
      if (paths.length >= maxFilesRead || bytes > maxBytesRead) break
      paths.push(path)
    }
    const read = await this.#threads.perform({ contents: { folder, paths } }, signal)
    if (read === 'late') return found
    for (const { path, mark, times, sha256, bytes } of read) {
      const content = { sha256, times, ...(bytes && { bytes: Buffer.from(bytes) }) }
      found.set(path, content)
      this.#keep(keyOf(folder, path), { mark, content })
    }
    return found
  }

  #keep(key: string, known: KnownContent): void {
    this.#bytes += contentBytes(known) - contentBytes(this.#known.get(key))
    this.#known.delete(key)
    this.#known.set(key, known)
    for (const [oldest, { content }] of this.#known) {
      if (this.#bytes <= maxBytesHeld && this.#known.size <= maxFilesKnown) break
      this.#bytes -= content.bytes?.length ?? 0
      this.#known.delete(oldest)
    }
  }
}

function contentBytes(known: KnownContent | undefined): number {
  return known?.content.bytes?.length ?? 0
}

function keyOf({ folder }: PathAddress, path: string): string {
  return `${folder}\0${path}`
}
