import { join } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import { compareVersions, type FileVersion } from '../../store/rows/files/file-versions.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { isSignificantLine } from '../../tools/guard/shared-lines.ts'
import { hashIn } from '../files/file-now.ts'
import { hashLine, unpackLineHashes } from '../files/line-hashes.ts'
import { linesOfBoth } from '../files/line-map.ts'
import { linesIn } from '../files/match-lines.ts'
import {
  ambiguousCopy,
  findHolders,
  findSourcesByTime,
  isEarlier,
  maxSimilarVersions,
  replacedOwnVersions,
  traceHolders,
  traceInVersion,
  traceSources,
  wasReplacedUnrecorded,
} from './content-holders.ts'
import type { DiskState } from './disk-state.ts'
import { anyEqualLine, newLine, possibleOrigins } from './possible-origins.ts'
import {
  type LineAuthor,
  type MovedFile,
  mergeTracedLines,
  type TracedLine,
  type Tracer,
  unknownAuthor,
} from './traced-line.ts'

/** Clocks of file systems are coarser than ours. */
const slackMs = 10
/** Shorter texts may be equal by chance. */
const minLines = 2
const minLetters = 40
/** Share of lines that a file which was moved and changed has in common with the original. */
const minShare = 2 / 3
/** Min lines in common with a file that still exists: fewer may be a header that many files have. */
const minCopied = 8

/** Lines traced to other files; `hasExactMatch` if one of these had exactly this content. */
interface ManualOrigins {
  traced: TracedLine[]
  hasExactMatch: boolean
  /** For each line of the content, whether it has at most three characters, such as "}". */
  isTrivial: boolean[]
}

/**
 * Authors of the lines of a file that the user or another program moved or copied, found by its content: other files had the same, or
 * much of it. Undefined if there is no such file. `unmatched`: author of lines that no other file had.
 */
export async function manualOrigins(
  tracer: Tracer,
  file: MovedFile,
  hash: string,
  lines: readonly number[],
  unmatched: LineAuthor,
): Promise<ManualOrigins | undefined> {
  const bytes = await tracer.contents.get(hash)
  const text = bytes && decodeText(bytes)
  if (!bytes || text === undefined) return undefined
  const isTrivial = linesIn(text).map((line) => !isSignificantLine(line))
  // Half of what was there is left: it may have been edited instead of being replaced by another file.
  const isEdited = (file.kept?.size ?? 0) * 2 >= isTrivial.length
  const isShort = significantLines(text).size < minLines || text.length < minLetters
  const holders = await findHolders(tracer, file, hash)
  if (holders.length > 0 && !isShort) {
    const sources = await findSourcesByTime(tracer, file, holders)
    const { all, isCut } = sources
      ? await traceSources(tracer, file, sources, lines)
      : await traceHolders(tracer, file, holders, lines)
    const mayBeCommand = unmatched.by === 'unknown' && !(await areGone(tracer, holders))
    const isDoubtful = mayBeCommand || (!sources && (await mayBeRestored(tracer, file, holders)))
    const written: TracedLine = { author: unmatched, transfers: [] }
    const traced = lines.map((line, at) => {
      const doubts = isDoubtful && !file.kept?.has(line) ? [written] : []
      const found = all.flatMap((each) => each[at] ?? [])
      return withUnknownActor(mergeOrUnknown([...doubts, ...found], isCut), unmatched)
    })
    return { traced, hasExactMatch: true, isTrivial }
  }
  const all: (LineMatch | undefined)[][] = []
  const short = await versionsWithShortContent(tracer, holders, text)
  const { similar, isCut } = await similarVersions(tracer, file, text)
  for (const { version, shared, isWeak, isReplaced } of [...short, ...similar]) {
    const isMoved = await areGone(tracer, [version])
    const isUnlikely = !isMoved && (shared < minCopied || unmatched.by === 'unknown')
    const isDoubtful = isWeak || isReplaced || isUnlikely || isEdited
    const content = await tracer.contents.get(version.after ?? '', version)
    const both = content && linesOfBoth(content, bytes)
    const origins = both ? possibleOrigins(both.oldLines, both.newLines) : []
    const before = [...new Set(lines.flatMap((line) => origins[line] ?? []))].filter((line) => line >= 0)
    const traced = await traceInVersion(tracer, file, version, before)
    const byLine = new Map(before.map((line, at) => [line, traced[at]]))
    all.push(
      lines.map((line) => {
        const from = origins[line] ?? []
        const tracedOrigins = from.flatMap((each) => (each === anyEqualLine ? anyLine : (byLine.get(each) ?? [])))
        return tracedOrigins.length === 0
          ? undefined
          : { origins: tracedOrigins, isSure: !isDoubtful && !from.includes(newLine) }
      }),
    )
  }
  if (isCut) all.push(lines.map(() => ({ origins: [uncomparedLine], isSure: false })))
  if (all.length === 0) return undefined
  const traced = lines.map((_, at) => {
    const matches = all.flatMap((each) => each[at] ?? [])
    // Unless the line must come from one of these files, it may have been written here.
    const written = matches.some(({ isSure }) => isSure) ? [] : [{ author: unmatched, transfers: [] }]
    const found = matches.flatMap(({ origins }) => origins)
    return withUnknownActor(mergeTracedLines([...written, ...found], { since: null, why: ambiguousLine }), unmatched)
  })
  return { traced, hasExactMatch: false, isTrivial }
}

/** Possible origins of a line in another file. */
interface LineMatch {
  origins: TracedLine[]
  /** The line must come from there: the content does, and has the line at the same position. */
  isSure: boolean
}

/**
 * Whether a content may have been restored instead of copied: none of these versions still existed, or this file had the content before.
 * The latter does not count if another file is known to have had it just then: restoring it cannot be told from copying it.
 */
async function mayBeRestored(tracer: Tracer, file: MovedFile, holders: readonly FileVersion[]): Promise<boolean> {
  const [any] = holders
  const had = ({ before, after }: FileVersion) => before === any?.after || after === any?.after
  const hadItBefore = file.versions.some((each) => had(each) && isEarlier(each, file) && !isSameState(each, file))
  let mayBeCopied = false
  for (const version of holders) {
    const versions = await tracer.versions.of(join(version.folder, version.path))
    const own = versions.find((each) => compareVersions(each, version) === 0)
    if (own && (await wasThereThen(own, versions, file, tracer.disk))) return false
    mayBeCopied ||= !own || !(await wasReplacedEarlier(own, versions, file, tracer.disk))
  }
  return hadItBefore || !mayBeCopied
}

/** Whether a record is of the state in question: commands that run at the same time find the same one. */
function isSameState({ found }: FileVersion, { changedAt }: MovedFile): boolean {
  return found !== undefined && changedAt !== undefined && found.changedAt === Math.ceil(changedAt)
}

/** Whether a version is known to have been there, unchanged, when the content came to the moved file. */
async function wasThereThen(
  version: FileVersion,
  versions: readonly FileVersion[],
  { changedAt }: MovedFile,
  disk: DiskState,
): Promise<boolean> {
  if (changedAt === undefined) return false
  for (const next of versions.slice(versions.indexOf(version) + 1)) {
    if (next.before !== version.after) return false
    if ((next.command?.since ?? next.at) > changedAt + slackMs) return true
    if (next.after !== version.after) return false
  }
  const now = await disk.read(version)
  return now?.kind === 'file' && now.sha256 === version.after && now.times.changedAt < changedAt
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
  if (next) return next.found?.changedAt ?? (next.command?.since ?? next.at) + slackMs
  const now = await disk.read(version)
  const isReplaced = now?.kind === 'file' && now.sha256 !== version.after && !isSwapped(now.sha256)
  return isReplaced ? now.times.changedAt : undefined
}

/** Drops "by hand" where it is unknown who changed the file: a command may have moved or copied the line. */
function withUnknownActor({ author, transfers: [first, ...rest] }: TracedLine, unmatched: LineAuthor): TracedLine {
  if (!first || unmatched.by !== 'unknown') return { author, transfers: first ? [first, ...rest] : [] }
  const how = first.how === 'moved by hand' ? 'moved' : 'copied'
  return { author, transfers: [{ ...first, how }, ...rest] }
}

/** Whether the files of these versions no longer exist, and no command is recorded that moved or removed them. */
async function areGone(tracer: Tracer, versions: readonly FileVersion[]): Promise<boolean> {
  for (const { folder, path } of versions) {
    if (await tracer.disk.has({ folder, path })) return false
    const last = (await tracer.versions.of(join(folder, path))).at(-1)
    if (last?.after === null) return false
  }
  return true
}

/** Merges a line of several files with the same content; unknown if not all of them were read. */
function mergeOrUnknown(all: readonly TracedLine[], isCut: boolean): TracedLine {
  const why = ambiguousCopy
  const doubt: TracedLine = { author: { by: 'unknown', since: null, why, runIds: [] }, transfers: [] }
  return mergeTracedLines(isCut ? [...all, doubt] : all, { since: null, why })
}

/** A version that has lines of a text; a weak one has too few to be the likely origin. */
interface SimilarVersion {
  version: FileVersion
  /** Number of significant lines in both. */
  shared: number
  isWeak: boolean
  /** Its file had another content when the text was written, as far as records tell. */
  isReplaced: boolean
}

const ambiguousLine = 'the file came there by hand, and another one had this line'
const anyLine: TracedLine = { author: unknownAuthor(null, ambiguousLine), transfers: [] }
const uncomparedLine: TracedLine = {
  author: unknownAuthor(null, 'the folder has more recorded changes than can be compared'),
  transfers: [],
}

/**
 * Versions with lines of this text, of the file itself and of all others; `isCut` if not all were looked at. A file that still is as
 * recorded was not moved; a few lines copied from it count as written by the user or program that copied them.
 */
async function similarVersions(
  tracer: Tracer,
  file: MovedFile,
  text: string,
): Promise<{ similar: SimilarVersion[]; isCut: boolean }> {
  const lines = significantLines(text)
  const newLines = new Set(linesIn(text).filter((_, at) => !file.kept?.has(at)))
  const own = new Set(replacedOwnVersions(file))
  const ofOwn = own.size === 0 ? [] : await similarVersionsOf(tracer, file, file.versions, lines)
  const similar = ofOwn.filter(({ version }) => own.has(version))
  const { files, isCut } = await tracer.index.filesWith(file.path, lines, newLines)
  for (const { name, shared, sharedNew, hasGap } of files) {
    const mayHaveMoved = hasGap || !(await tracer.disk.has(name))
    const mayBeStrong = shared >= minShare * lines.size
    if (!mayBeStrong && !mayHaveMoved && sharedNew === 0) continue
    const versions = await tracer.versions.of(join(name.folder, name.path))
    const last = versions.at(-1)
    if (!mayBeStrong && !mayHaveMoved && last && (await isStillThere(last, versions, tracer.disk))) continue
    similar.push(...(await similarVersionsOf(tracer, file, versions, lines)))
  }
  return { similar, isCut }
}

/**
 * Versions of one file that a text may come from, even if the file was removed or rewritten since; else weak ones whose file the
 * user or another program may have moved.
 */
async function similarVersionsOf(
  { contents, disk }: Tracer,
  file: MovedFile,
  versions: readonly FileVersion[],
  lines: ReadonlySet<string>,
): Promise<SimilarVersion[]> {
  const earlier = versions.filter((each) => isEarlier(each, file))
  const mayHaveMovedAway = async (version: FileVersion) =>
    version === earlier.at(-1)
      ? !(await isStillThere(version, versions, disk))
      : wasReplacedUnrecorded(versions, versions.indexOf(version))
  const similar: SimilarVersion[] = []
  for (const version of versionsToCompare(earlier, lines)) {
    const bytes = version.after ? await contents.get(version.after, version) : undefined
    const oldLines = significantLines((bytes && decodeText(bytes)) ?? '')
    const shared = [...oldLines].filter((line) => lines.has(line))
    const isShort = shared.length < minLines || shared.join('').length < minLetters
    const isWeak = isShort || shared.length < minShare * Math.max(oldLines.size, lines.size)
    if (shared.length === 0 || (isWeak && !(await mayHaveMovedAway(version)))) continue
    const isReplaced = await wasReplacedEarlier(version, versions, file, disk)
    similar.push({ version, shared: shared.length, isWeak, isReplaced })
  }
  const strong = similar.filter(({ isWeak }) => !isWeak)
  return strong.length > 0 ? strong : similar
}

/** The newest versions, and of the earlier ones those that brought lines of this text: the last of them and those with the most. */
function versionsToCompare(versions: readonly FileVersion[], lines: ReadonlySet<string>): FileVersion[] {
  const newest = versions.slice(-maxSimilarVersions).reverse()
  const earlier = versions.slice(0, -maxSimilarVersions).reverse()
  const wanted = new Set(earlier.length > 0 ? [...lines].map(hashLine) : [])
  const counted = earlier.map((version) => ({ version, shared: countHashes(version.lineHashes, wanted) }))
  const sharing = counted.filter(({ shared }) => shared > 0)
  const last = sharing.slice(0, maxSimilarVersions / 2)
  const most = sharing.toSorted((a, b) => b.shared - a.shared).slice(0, maxSimilarVersions / 2)
  return [...new Set([...newest, ...[...last, ...most].map(({ version }) => version)])]
}

/** Number of these hashes that a version brought. */
function countHashes(packed: string | null, wanted: ReadonlySet<number>): number {
  return packed ? unpackLineHashes(packed).filter((hash) => wanted.has(hash)).length : 0
}

/**
 * Versions with the same short content, perhaps by chance. A file that still exists was not moved; it may have been copied if the
 * content has a significant line.
 */
async function versionsWithShortContent(
  tracer: Tracer,
  holders: readonly FileVersion[],
  text: string,
): Promise<SimilarVersion[]> {
  const found: SimilarVersion[] = []
  for (const version of holders) {
    const versions = await tracer.versions.of(join(version.folder, version.path))
    const own = versions.find((each) => compareVersions(each, version) === 0)
    const isLikely = significantLines(text).size > 0 || !own || !(await isStillThere(own, versions, tracer.disk))
    if (isLikely) found.push({ version, shared: 0, isWeak: true, isReplaced: false })
  }
  return found
}

/** Whether a file existed ever since a version, as far as records and the disk tell. */
async function isStillThere(version: FileVersion, versions: readonly FileVersion[], disk: DiskState): Promise<boolean> {
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

/** Lines of more than three characters. */
function significantLines(text: string): Set<string> {
  return new Set(linesIn(text).filter(isSignificantLine))
}
