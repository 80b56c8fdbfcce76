import { join } from 'node:path'
import { compareVersions, type FileVersion } from '../../../store/rows/files/file-versions.ts'
import { birthOf } from '../../../tools/files/fingerprint.ts'
import { decodeText } from '../../../tools/files/text-kind.ts'
import { isBefore, type TracedFile, type Tracer } from '../traced-line.ts'
import type { VersionNode } from '../version-chain.ts'
import { fileTimeSlackMs } from './content-holders.ts'
import { significantLines } from './telling-lines.ts'

/** Max versions of a file whose identities are looked up in journals. */
const maxJournals = 8

/**
 * The last version of a file that this one is, renamed and perhaps changed since; undefined if there is none, or that is not known.
 * Only files that had a line of it are looked at, and its own earlier versions: it may have been moved away and back.
 */
export async function findRenamed(tracer: Tracer, file: TracedFile, hash: string): Promise<FileVersion | undefined> {
  const bytes = file.identity === undefined ? undefined : await tracer.contents.get(hash)
  const text = bytes && decodeText(bytes)
  if (text === undefined) return undefined
  const lines = significantLines(text)
  const { files } = await tracer.index.filesWith(file.path, lines, lines)
  const found: FileVersion[] = []
  for (const path of [file.path, ...files.map(({ name }) => join(name.folder, name.path))]) {
    const versions = await tracer.versions.of(path)
    const last = await findLastOf(tracer, file, versions)
    const isAway = last && (path !== file.path || (await wasReplaced(tracer, file, last, versions)))
    if (isAway) found.push(last)
  }
  return found.sort(compareVersions).at(-1)
}

/** Whether the file of a version was removed since, or another one has stood in its place. */
async function wasReplaced(
  tracer: Tracer,
  { before }: TracedFile,
  version: FileVersion,
  versions: readonly FileVersion[],
): Promise<boolean> {
  const own = await tracer.calls.identityOf(version)
  for (const later of versions.slice(versions.indexOf(version) + 1).slice(0, maxJournals)) {
    if (later.after === null && isBefore(later, before)) return true
    const identity = later.after === null ? undefined : await tracer.calls.identityOf(later)
    if (identity !== undefined && identity !== own) return true
  }
  return false
}

async function findLastOf(
  tracer: Tracer,
  file: TracedFile,
  versions: readonly FileVersion[],
): Promise<FileVersion | undefined> {
  const madeAt = file.identity === undefined ? 0 : birthOf(file.identity) + fileTimeSlackMs
  let journals = maxJournals
  for (const version of versions.toReversed()) {
    if (!isBefore(version, file.before)) continue
    // A tool makes its file after the record, and soon: only the last ones before that may be it.
    if (version.identity === undefined && (version.at > madeAt || journals-- <= 0)) continue
    if (await isSameFile(tracer, file, version)) return version
  }
  return undefined
}

/** Whether a file is the one whose content before is recorded, so that only its content was changed. */
export async function isInPlace(tracer: Tracer, file: TracedFile, { parent }: VersionNode): Promise<boolean> {
  const before = parent?.via.kind === 'version' ? parent.via.version : parent?.foundBy
  return before !== undefined && (await isSameFile(tracer, file, before)) === true
}

/** Whether a file is the one that a version left; undefined if that is not known. */
export async function isSameFile(
  tracer: Tracer,
  { identity }: TracedFile,
  version: FileVersion,
): Promise<boolean | undefined> {
  const left = identity === undefined || version.after === null ? undefined : await tracer.calls.identityOf(version)
  return left === undefined ? undefined : left === identity
}
