import { join } from 'node:path'
import type { Millis } from '../../../domain/clock.ts'
import { compareVersions, type FileVersion } from '../../../store/rows/files/file-versions.ts'
import { hashIn } from '../../files/file-now.ts'
import type { DiskState } from '../disk-state.ts'
import type { MovedFile, Tracer } from '../traced-line.ts'
import { fileTimeSlackMs, isEarlier } from './content-holders.ts'

/** Whether a content may have been restored instead of copied: none of these versions still existed, or this file had the content before. */
export async function mayBeRestored(
  tracer: Tracer,
  file: MovedFile,
  holders: readonly FileVersion[],
): Promise<boolean> {
  const [any] = holders
  const had = ({ before, after }: FileVersion) => before === any?.after || after === any?.after
  if (file.versions.some((each) => had(each) && isEarlier(each, file) && !isSameState(each, file))) return true
  for (const { own, versions } of await withFiles(tracer, holders))
    if (!own || !(await wasReplacedEarlier(own, versions, file, tracer.disk))) return false
  return true
}

/** Whether a file that had this content got the one that was here, at the time when this one came here. */
export async function wereSwapped(tracer: Tracer, file: MovedFile, holders: readonly FileVersion[]): Promise<boolean> {
  for (const { own, versions } of await withFiles(tracer, holders))
    if (own && (await wasSwapped(own, versions, file, tracer.disk))) return true
  return false
}

/** Versions with all those of their files, among which they have another name if their session's folder is another one. */
async function withFiles(
  tracer: Tracer,
  holders: readonly FileVersion[],
): Promise<{ own: FileVersion | undefined; versions: FileVersion[] }[]> {
  const found = []
  for (const version of holders) {
    const versions = await tracer.versions.of(join(version.folder, version.path))
    found.push({ own: versions.find((each) => compareVersions(each, version) === 0), versions })
  }
  return found
}

/** Whether a record is of the state in question: commands that run at the same time find the same one. */
function isSameState({ found }: FileVersion, { changedAt }: MovedFile): boolean {
  return found !== undefined && changedAt !== undefined && found.changedAt === Math.ceil(changedAt)
}

/** Two files that are swapped change one after the other. */
const swapMs = 2000

/** Whether a version's file got a content that this one had, at the time when this one got the version's content. */
async function wasSwapped(
  version: FileVersion,
  versions: readonly FileVersion[],
  file: MovedFile,
  disk: DiskState,
): Promise<boolean> {
  const { changedAt } = file
  if (changedAt === undefined) return false
  const isSwap = (hash: string | null, at: Millis) => hasHad(file, hash) && Math.abs(at - changedAt) <= swapMs
  const next = versions[versions.indexOf(version) + 1]
  if (next) return next.found !== undefined && isSwap(next.after, next.found.changedAt)
  const now = await disk.read(version)
  return now?.kind === 'file' && now.sha256 !== version.after && isSwap(now.sha256, now.times.changedAt)
}

function hasHad({ versions }: MovedFile, hash: string | null): boolean {
  return versions.some(({ before, after }) => hash !== null && (before === hash || after === hash))
}

/**
 * Whether a version's file was recorded with another content before the moved file appeared, and has unrecorded changes since, or the
 * moved file had another content even later: it is unknown whether the content was copied before that, or restored afterwards.
 */
async function wasReplacedEarlier(
  version: FileVersion,
  versions: readonly FileVersion[],
  file: MovedFile,
  disk: DiskState,
): Promise<boolean> {
  const replacedAt = await replacementTime(version, versions, file, disk)
  if (replacedAt !== undefined && replacedAt < (file.changedAt ?? 0)) return true
  const isOther = ({ after }: FileVersion) => after !== null && after !== version.after
  const later = versions.slice(versions.indexOf(version) + 1).filter((each) => isEarlier(each, file))
  const replaced = later.find(isOther)
  if (!replaced) return false
  return replaced.at < (file.since ?? 0) || (await contentIfRecorded(version, versions, disk)) === undefined
}

/**
 * When a version's file was changed, as far as records and the disk tell, by the clock of the file system: a content that came to
 * another file later was not copied from it. Undefined if it was not, or is gone: then it may have been moved at any time. Two files
 * that were swapped change one after the other.
 */
async function replacementTime(
  version: FileVersion,
  versions: readonly FileVersion[],
  file: MovedFile,
  disk: DiskState,
): Promise<Millis | undefined> {
  const next = versions[versions.indexOf(version) + 1]
  const isSwapped = (hash: string | null) => file.versions.some(({ after }) => after === hash)
  if (next?.after === version.after || (next?.found && isSwapped(next.after))) return undefined
  if (next) return next.found?.changedAt ?? (next.command?.since ?? next.at) + fileTimeSlackMs
  const now = await disk.read(version)
  const isReplaced = now?.kind === 'file' && now.sha256 !== version.after && !isSwapped(now.sha256)
  return isReplaced ? now.times.changedAt : undefined
}

/** Whether a file existed ever since a version, as far as records and the disk tell. */
export async function isStillThere(
  version: FileVersion,
  versions: readonly FileVersion[],
  disk: DiskState,
): Promise<boolean> {
  return typeof (await contentIfRecorded(version, versions, disk)) === 'string'
}

/** Current hash of a file if every change since a version was recorded, null if it was removed; else undefined. */
async function contentIfRecorded(
  version: FileVersion,
  versions: readonly FileVersion[],
  disk: DiskState,
): Promise<string | null | undefined> {
  let hash = version.after
  for (const { before, after } of versions.slice(versions.indexOf(version) + 1)) {
    if (before !== hash) return undefined
    hash = after
  }
  const now = await disk.read(version)
  return now && hashIn(now) === hash ? hash : undefined
}
