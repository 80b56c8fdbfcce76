import type { Millis } from '../../domain/clock.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { CommandVersions, ReadContent } from '../../domain/tools/touched.ts'
import { recordsOfFolder } from '../../store/rows/files/found-files.ts'
import type { Reading } from '../../store/store.ts'
import { readFingerprint } from '../../tools/files/fingerprint.ts'
import { hasEntry } from './file-now.ts'

/** Max files, and bytes of files, that one survey records. */
const maxFound = 300
const maxFoundBytes = 2 * 2 ** 20
/** Clocks of file systems are coarser than ours. */
const slackMs = 50

/** Files that the survey before a command found in another state than the last one recorded. */
export interface UnrecordedFiles {
  found: { path: string; hash: string | null; content?: ReadContent; changedAt: Millis | null }[]
  /** Whether `found` has all such files. */
  isComplete: boolean
}

/**
 * Compares what a command found with the last records of the folder: a file that the user or another program changed, moved or made
 * in between is recorded as it was at that time, before further changes can hide it.
 */
export async function findUnrecorded(
  rows: Reading,
  { folder, versions, before: { marks, contents } }: CommandVersions,
  protect: ProtectedPlaces,
): Promise<UnrecordedFiles> {
  const { hashes, isCut, since } = await recordsOfFolder(rows, folder)
  const isRecorded = new Set(hashes.values())
  let isComplete = !isCut
  let hasUnread = false
  const found: UnrecordedFiles['found'] = []
  for (const [path, mark] of marks) {
    const { isFile, changedAt } = readFingerprint(mark)
    const content = contents.get(path)
    // Files of a folder that is moved keep their times.
    const isOld = !hashes.has(path) && changedAt + slackMs < since && !(content && isRecorded.has(content.sha256))
    if (isFile && isOld && !content) hasUnread = true
    if (!isFile || isOld || (content && hashes.get(path) === content.sha256)) continue
    if (content) found.push({ path, hash: content.sha256, content, changedAt })
    else isComplete = false
  }
  const created = new Set(versions.flatMap(({ path, before }) => (before === null ? path : [])))
  for (const [path, hash] of hashes) {
    if (hash === null || marks.has(path)) continue
    // Surveys skip ignored files: a missing one may still exist.
    if (created.has(path) || !(await hasEntry({ folder, path, protect })))
      found.push({ path, hash: null, changedAt: null })
    else isComplete = false
    // An unread file may be this one, moved.
    if (hasUnread) isComplete = false
  }
  // Newest first: work is likeliest to continue with these.
  const time = ({ changedAt }: { changedAt: Millis | null }) => changedAt ?? Number.MAX_SAFE_INTEGER
  found.sort((a, b) => time(b) - time(a))
  let bytes = 0
  const kept = found.filter(({ content }, at) => {
    bytes += content?.bytes?.length ?? 0
    return at < maxFound && bytes <= maxFoundBytes
  })
  return { found: kept, isComplete: isComplete && kept.length === found.length }
}
