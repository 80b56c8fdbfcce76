import type { Millis } from '../../domain/clock.ts'
import type { FileTimes } from '../../domain/tools/path-handle.ts'
import type { CommandVersions, ReadContent } from '../../domain/tools/touched.ts'
import { lastHashes } from '../../store/rows/files/found-files.ts'
import type { Reading } from '../../store/store.ts'

/** Max files, and bytes of files, that one survey records. */
const maxFound = 300
const maxFoundBytes = 2 * 2 ** 20
/** Clocks of file systems are coarser than ours. */
const slackMs = 10

/** A file that the survey before a command found with another content than the last one recorded. */
export interface UnrecordedFile {
  path: string
  content: ReadContent
  times: FileTimes
}

/**
 * Compares what a command found with the last records of the folder: a file that the user or another program changed since is known as
 * it was then, whatever becomes of it before the next record. So is a new file with a recorded content: it was moved or copied there.
 * `hashes`: of the last record of each file.
 */
export async function findUnrecorded(
  rows: Reading,
  { folder, before: { contents } }: CommandVersions,
  since: Millis,
): Promise<{ found: UnrecordedFile[]; hashes: ReadonlyMap<string, string | null> }> {
  const hashes = await lastHashes(rows, folder)
  const changed = [...contents].filter(([path, { sha256, bytes }]) => bytes && hashes.get(path) !== sha256)
  const known = changed.filter(([path]) => hashes.has(path))
  const recorded = new Set([...hashes.values(), ...known.map(([, { sha256 }]) => sha256)])
  const copies = changed.filter(([path, { sha256 }]) => !hashes.has(path) && recorded.has(sha256))
  const found = [...known, ...copies].flatMap(([path, content]): UnrecordedFile[] => {
    const { times } = content
    // Another command may have changed it while this one surveyed.
    return times && times.changedAt + slackMs < since ? [{ path, content, times }] : []
  })
  // Work usually goes on with what was changed last.
  found.sort((a, b) => b.times.changedAt - a.times.changedAt)
  let bytes = 0
  const stored = found.filter(({ content }, at) => {
    bytes += content.bytes?.length ?? 0
    return at < maxFound && bytes <= maxFoundBytes
  })
  return { found: stored, hashes }
}
