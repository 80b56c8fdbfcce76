import { join } from 'node:path'
import type { Millis } from '../../../domain/clock.ts'
import { compareVersions, type FileVersion, versionsWithContent } from '../../../store/rows/files/file-versions.ts'
import {
  isBefore,
  type LineTransfer,
  type MovedFile,
  type TracedFile,
  type TracedLine,
  type Tracer,
} from '../traced-line.ts'

/** Max versions that are compared as possible origins. */
export const maxSimilarVersions = 8
/** Max versions with the same content that are read. */
const maxHoldersRead = 40

/**
 * Versions of other files that left this content, all of them: each may be the work of another run. Of the file itself those that the
 * user or another program may have moved away and back.
 */
export async function findHolders({ rows }: Tracer, file: MovedFile, hash: string): Promise<FileVersion[]> {
  const found = await versionsWithContent(rows, hash, maxHoldersRead)
  const others = found.filter((each) => join(each.folder, each.path) !== file.path && isEarlier(each, file))
  return [...others, ...replacedOwnVersions(file).filter(({ after }) => after === hash)]
}

/** Earlier versions of the file itself whose content may have been moved away and back, or restored after a removal. */
export function replacedOwnVersions(file: MovedFile): FileVersion[] {
  if (file.since === undefined) return []
  const wasRemoved = (at: number) => file.versions[at + 1]?.after === null
  return file.versions.filter(
    (each, at) => (wasReplacedUnrecorded(file.versions, at) || wasRemoved(at)) && isEarlier(each, file),
  )
}

/** Whether the version at this index was replaced without a record before the next one was made. */
export function wasReplacedUnrecorded(versions: readonly FileVersion[], at: number): boolean {
  const next = versions[at + 1]
  return next !== undefined && next.before !== versions[at]?.after
}

/** Clocks of file systems are coarser than ours. */
export const fileTimeSlackMs = 10

/** Whether a version existed when the content came to this file. */
export function isEarlier(version: FileVersion, { before, changedAt = Number.POSITIVE_INFINITY }: TracedFile): boolean {
  return isBefore(version, before) && (version.command?.since ?? version.at) <= changedAt + fileTimeSlackMs
}

/**
 * Versions that a content was moved from, or copied from with its times: when it was last modified, they were made. Those whose time is not
 * known are among them. Undefined if times do not tell: a content that is written here is modified when its file is changed.
 */
export async function findSourcesByTime(
  tracer: Tracer,
  file: MovedFile,
  holders: readonly FileVersion[],
): Promise<FileVersion[] | undefined> {
  const { changedAt = 0, modifiedAt } = file
  if (modifiedAt === undefined || modifiedAt + fileTimeSlackMs >= changedAt) return undefined
  if (holders.length >= maxHoldersRead) return undefined
  const [any] = holders
  const own = file.versions.filter((each) => each.after === any?.after && !each.found && isEarlier(each, file))
  const sources: FileVersion[] = []
  let isAnyKnown = false
  for (const version of [...holders, ...own.filter((each) => !holders.includes(each))]) {
    const isMade = await isMadeAt(tracer, version, modifiedAt)
    isAnyKnown ||= isMade === true
    if (isMade !== false) sources.push(version)
  }
  return isAnyKnown ? sources : undefined
}

/** Records have whole milliseconds, and programs that copy times may lose another fraction. */
const sameTimeMs = 2

/** Whether the content that a version left was last modified at this time; undefined if that is not known. */
async function isMadeAt(tracer: Tracer, version: FileVersion, time: Millis): Promise<boolean | undefined> {
  if (version.modifiedAt !== undefined) {
    // A content that is older than its command was unpacked, or copied with its times: others may have done the same.
    const isWritten = version.modifiedAt >= (version.command?.since ?? 0) - fileTimeSlackMs
    return Math.abs(version.modifiedAt - time) < sameTimeMs ? isWritten || undefined : false
  }
  if (version.command || version.found) return undefined
  if (time < version.at - fileTimeSlackMs) return false
  const end = await tracer.calls.endOf(version)
  return end === Number.MAX_SAFE_INTEGER ? undefined : time <= end + fileTimeSlackMs
}

/** Traces lines of a content in each version that left it, and in versions of the same files that found it. */
export async function traceHolders(
  tracer: Tracer,
  file: TracedFile,
  holders: readonly FileVersion[],
  lines: readonly number[],
  version?: FileVersion,
): Promise<{ all: TracedLine[][]; isCut: boolean }> {
  const left = withoutAmbiguousCopies(holders)
  const found = await versionsThatFound(tracer, file, holders)
  const all: TracedLine[][] = []
  for (const each of left.slice(0, maxSimilarVersions))
    all.push(await traceInVersion(tracer, file, each, lines, { version }))
  for (const each of found.slice(0, maxSimilarVersions))
    all.push(await traceInVersion(tracer, file, each, lines, { version, side: 'before' }))
  return { all, isCut: holders.length >= maxHoldersRead || Math.max(left.length, found.length) > maxSimilarVersions }
}

/** Traces lines of a content in the versions that it is known to come from, by their times. */
export async function traceSources(
  tracer: Tracer,
  file: TracedFile,
  sources: readonly FileVersion[],
  lines: readonly number[],
): Promise<{ all: TracedLine[][]; isCut: boolean }> {
  const all: TracedLine[][] = []
  for (const each of sources.slice(0, maxSimilarVersions))
    all.push(await traceInVersion(tracer, file, each, lines, { isProved: true }))
  return { all, isCut: sources.length > maxSimilarVersions }
}

/** Skip ambiguous copies: their content is already among the other versions. */
function withoutAmbiguousCopies(holders: readonly FileVersion[]): readonly FileVersion[] {
  const others = holders.filter(({ before, command }) => before !== null || command?.origin?.path !== '')
  return others.length > 0 ? others : holders
}

/** Versions of the same files that found this content without a record of it: it may have been copied from there. */
async function versionsThatFound(
  tracer: Tracer,
  file: TracedFile,
  holders: readonly FileVersion[],
): Promise<FileVersion[]> {
  const found: FileVersion[] = []
  for (const [whole, [any]] of Map.groupBy(holders, ({ folder, path }) => join(folder, path))) {
    const versions = await tracer.versions.of(whole)
    for (const [at, version] of versions.entries()) {
      const isRecorded = version.found !== undefined || (at > 0 && versions[at - 1]?.after === version.before)
      if (version.before === any?.after && !isRecorded && isEarlier(version, file)) found.push(version)
    }
  }
  return found
}

interface TransferFacts {
  /** Of the command that copied the lines, if any. */
  version?: FileVersion | undefined
  /** Whether the content is the one that the other file's version left, or the one that it found. */
  side?: 'before' | 'after'
  /** The content is known to come from just this version. */
  isProved?: boolean
  /** The other file is known to be this one, renamed. */
  isRenamed?: boolean
}

/** Traces lines in the content that a version of another file left, or found. */
export async function traceInVersion(
  tracer: Tracer,
  { transferCount }: TracedFile,
  from: FileVersion,
  lines: readonly number[],
  { version, side = 'after', isProved = false, isRenamed = false }: TransferFacts = {},
): Promise<TracedLine[]> {
  const { folder, path, at, command } = from
  const whole = join(folder, path)
  const all = await tracer.versions.of(whole)
  const isRemoved = all.at(-1)?.after === null
  const isThere = !isRenamed && (isRemoved || (await tracer.disk.has(from)))
  const how: LineTransfer['how'] = version ? 'copied' : isThere ? 'copied by hand' : 'moved by hand'
  const versions = all.filter((each) => compareVersions(each, from) < (side === 'after' ? 1 : 0))
  const end = { hash: from[side], at: side === 'after' ? at : (command?.since ?? at) }
  const source: TracedFile = {
    path: whole,
    versions,
    all,
    transferCount: transferCount + 1,
    end,
    before: from,
    ...(side === 'before' && from.replaced),
  }
  const traced = await tracer.traceFrom({ how, path: whole, ...(version && { version }) }, source, lines)
  return isProved ? traced : traced.map(markAmbiguousCopy)
}

/** Marks a line of an ambiguous copy as unknown: the copying command is not its only possible author. */
function markAmbiguousCopy(line: TracedLine): TracedLine {
  const { author } = line
  if (author.by !== 'version' || author.version.command?.origin?.path !== '') return line
  return {
    author: { by: 'unknown', since: null, why: ambiguousCopy, runIds: [author.version.runId ?? ''] },
    transfers: [],
  }
}

export const ambiguousCopy = 'it was copied by hand, and several versions had the same content'
