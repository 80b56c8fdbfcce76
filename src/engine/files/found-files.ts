import type { Millis } from '../../domain/clock.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { CommandVersions, ReadContent } from '../../domain/tools/touched.ts'
import { lastHashes } from '../../store/rows/files/found-files.ts'
import type { Reading } from '../../store/store.ts'
import { readFingerprint } from '../../tools/files/fingerprint.ts'
import { hasEntry } from './file-now.ts'

/** Max files, and bytes of files, that one survey records. */
const maxFound = 300
const maxFoundBytes = 2 * 2 ** 20

/** A file that the survey before a command found in another state than the last one recorded; gone, or with this content. */
export interface UnrecordedFile {
  path: string
  hash: string | null
  content?: ReadContent
  changedAt: Millis | null
}

/**
 * Compares what a command found with the last records of the folder: a file that the user or another program changed or removed since
 * is known as it was then, whatever becomes of it before the next record. So is a new file with a recorded content: it was moved or
 * copied there.
 */
export async function findUnrecorded(
  rows: Reading,
  { folder, versions, before: { marks, contents } }: CommandVersions,
  protect: ProtectedPlaces,
): Promise<UnrecordedFile[]> {
  const hashes = await lastHashes(rows, folder)
  const changed = [...contents].filter(([path, { sha256, bytes }]) => bytes?.length && hashes.get(path) !== sha256)
  const known = changed.filter(([path]) => hashes.has(path))
  const recorded = new Set([...hashes.values(), ...known.map(([, { sha256 }]) => sha256)])
  const copies = changed.filter(([path, { sha256 }]) => !hashes.has(path) && recorded.has(sha256))
  const found = [...known, ...copies].map(([path, content]): UnrecordedFile => {
    const { changedAt } = readFingerprint(marks.get(path) ?? '')
    return { path, hash: content.sha256, content, changedAt }
  })
  const created = new Set(versions.flatMap(({ path, before }) => (before === null ? path : [])))
  for (const [path, hash] of hashes) {
    if (hash === null || marks.has(path)) continue
    // A survey passes over ignored files.
    if (created.has(path) || !(await hasEntry({ folder, path, protect })))
      found.push({ path, hash: null, changedAt: null })
  }
  // Work usually goes on with what was changed last.
  const time = ({ changedAt }: UnrecordedFile) => changedAt ?? Number.MAX_SAFE_INTEGER
  found.sort((a, b) => time(b) - time(a))
  let bytes = 0
  return found.filter(({ content }, at) => {
    bytes += content?.bytes?.length ?? 0
    return at < maxFound && bytes <= maxFoundBytes
  })
}
