import { join } from 'node:path'
import type { Millis } from '../../../domain/clock.ts'
import { compareVersions, type FileVersion } from '../../../store/rows/files/file-versions.ts'
import { hashIn } from '../../files/file-now.ts'
import type { DiskState } from '../disk-state.ts'
import type { MovedFile, Tracer } from '../traced-line.ts'

/** Whether a file that had this content got the one that was here, at the time when this one came here. */
export async function wereSwapped(tracer: Tracer, file: MovedFile, holders: readonly FileVersion[]): Promise<boolean> {
  for (const version of holders) {
    const path = join(version.folder, version.path)
    if (path === file.path) continue
    const versions = await tracer.versions.of(path)
    // Of a session in another folder it has another name, and is not among them.
    const own = versions.find((each) => compareVersions(each, version) === 0)
    if (own && (await wasSwapped(own, versions, file, tracer.disk))) return true
  }
  return false
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
