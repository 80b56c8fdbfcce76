import { join } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import { type FileVersion, versionsOfCall, versionsOfFile } from '../../store/rows/files/file-versions.ts'
import { LostFiles } from '../../tools/guard/lost-files.ts'
import { distinctLines, isMadeOf, isSignificantLine, lineCounts } from '../../tools/guard/shared-lines.ts'
import { namesInFolders } from '../files/file-author.ts'
import { linesOfBoth } from '../files/line-map.ts'
import { onlyPlaceOf } from '../files/match-lines.ts'
import { anyEqualLine, newLine, possibleOrigins } from '../files/possible-origins.ts'
import { isBefore, type LineAuthor, mergeTracedLines, type TracedLine, type Tracer } from './traced-line.ts'

/** A content that a command may have made of several files, and how its lines are traced in them. */
interface Merge {
  version: FileVersion
  /** Author of lines that no file had before. */
  author: LineAuthor
  since: Millis
  /** Traces lines in the previous content of the file itself. */
  own(lines: readonly number[]): Promise<TracedLine[]>
  /** Traces lines in files that had the same content. */
  same(lines: readonly number[]): Promise<TracedLine[] | undefined>
  /** Traces lines in the previous content of another file. */
  other(path: string, hash: string, lines: readonly number[]): Promise<TracedLine[]>
  /** Whether the command has taken lines from another file, instead of writing the same. */
  isTransferProved(path: string): Promise<boolean>
  /** Whether the command has this line of the content in its own text. */
  isInCommand(line: number): boolean
}

/** A previous content that lines of the new one may come from. */
interface OriginContent {
  /** For each line of the new content its possible origins in this one. */
  origins: number[][]
  /** A large part of this content is in the new one. */
  isMainSource: boolean
  isOwn: boolean
  /** It is the previous content of the file, or the command is known to have taken lines from there. */
  isProved: boolean
  /** Where all lines of this content stand together in the new one, if they do so once: first line, and the one behind the last. */
  whole: { from: number; to: number } | undefined
  /** For each line, whether it is in a block of consecutive lines that this content has, too. */
  isInMatchingBlock: boolean[]
  /** For each line, whether it is long, and occurs once in the new content: a chance match is unlikely. */
  isUniqueByLength: boolean[]
  traced: Map<number, TracedLine>
}

/** Shorter blocks of lines may be equal by chance. */
const minLines = 2
const minLetters = 40
/** The same for a whole content, of any number of lines, and for a single line. */
const minLettersWhole = 16

/**
 * Authors of the lines of a content that a command may have made of several files: of its own file's previous content, and of files
 * that the command removed or shortened. A line keeps its author if all its possible origins agree on one, and a step of the command has
 * taken it from there. Undefined if no such content is stored.
 */
export async function mergedOrigins(
  tracer: Tracer,
  merge: Merge,
  lines: readonly number[],
): Promise<TracedLine[] | undefined> {
  if (!merge.version.command?.origin) return traceUnreadMove(tracer, merge, lines)
  const sources = await sourcesOf(tracer, merge, lines)
  if (sources.length === 0) return merge.same(lines)
  const written: TracedLine = { author: merge.author, transfers: [] }
  const doubt = { since: merge.since, why: 'a command moved and changed files, and several of them had this line' }
  return lines.map((line) => {
    const withLine = sources.filter(({ origins }) => origins[line]?.some((from) => from !== newLine))
    const joined = joinedOrigin(withLine, line)
    if (joined) return joined
    const likely = withLine.filter(({ isOwn, isMainSource }) => isOwn || isMainSource)
    const inBlock = withLine.filter(({ isInMatchingBlock }) => isInMatchingBlock[line])
    const isInLikelyBlock = inBlock.some((each) => likely.includes(each))
    const isInAll = sources.every((each) => !each.isMainSource || (likely.includes(each) && isAnchored(each, line)))
    const isTaken = likely.some((each) => !each.isOwn && each.isProved && each.isUniqueByLength[line])
    const isKept = isInLikelyBlock || (isInAll && likely.length > 0) || (isTaken && !merge.isInCommand(line))
    // If several files contain the line, prefer the one whose neighbouring lines match too; even more so if it cannot be new there.
    const notNew = inBlock.filter(({ origins }) => !origins[line]?.includes(newLine))
    const from = !isInLikelyBlock ? withLine : notNew.length > 0 ? notNew : inBlock
    const found = from.flatMap(({ origins, traced }) => tracedOf(origins[line], traced))
    const isProved = from.some((each) => each.isProved)
    if (found.length === 0 || (!isProved && merge.isInCommand(line))) return written
    return mergeTracedLines(isKept && isProved ? found : [...found, written], doubt)
  })
}

/**
 * Where a line comes from if the command put whole contents behind each other: each that has the line stands somewhere as a whole, and
 * one of them around it.
 */
function joinedOrigin(withLine: readonly OriginContent[], line: number): TracedLine | undefined {
  if (!withLine.every(({ isProved, whole }) => isProved && whole)) return undefined
  const [only, other] = withLine.filter(({ whole }) => whole && whole.from <= line && line < whole.to)
  return only?.whole && !other ? only.traced.get(line - only.whole.from) : undefined
}

/**
 * Whether a line is at the same position as in a source, or is long enough to be the same line at another one. Blank lines and "}" at
 * other positions prove nothing.
 */
function isAnchored({ origins, isUniqueByLength }: OriginContent, line: number): boolean {
  return isUniqueByLength[line] === true || origins[line]?.includes(newLine) === false
}

/** Max removed files whose versions are read. */
const maxUnread = 100

/**
 * Traces a content that a command left while it removed unread files: it may be one of these, moved. Undefined if all removed files
 * had been read.
 */
async function traceUnreadMove(
  { rows }: Tracer,
  { version, since, other }: Merge,
  lines: readonly number[],
): Promise<TracedLine[] | undefined> {
  const { runId, callId, after } = version
  const files = await versionsOfCall(rows, runId ?? '', callId ?? '')
  const unread = files.filter((each) => each.before === '' && each.after === null)
  if (unread.length === 0) return undefined
  const same: string[] = []
  for (const { folder, path } of unread.slice(0, maxUnread)) {
    const whole = join(folder, path)
    const last = (await versionsOfFile(rows, namesInFolders(whole), 2)).findLast((each) => isBefore(each, version))
    if (last?.after === after) same.push(whole)
  }
  const [only] = same
  if (only !== undefined && same.length === 1) return other(only, after ?? '', lines)
  const why = 'a command took away files that had not been read before'
  const author: LineAuthor = { by: 'unknown', since, why, runIds: runId === null ? [] : [runId] }
  return lines.map(() => ({ author, transfers: [] }))
}

function tracedOf(origins: readonly number[] | undefined, traced: ReadonlyMap<number, TracedLine>): TracedLine[] {
  return (origins ?? []).flatMap((from) => (from === anyEqualLine ? anyLine : (traced.get(from) ?? [])))
}

const anyLine: TracedLine = {
  author: { by: 'unknown', since: null, why: 'too many lines are equal', runIds: [] },
  transfers: [],
}

async function sourcesOf(tracer: Tracer, merge: Merge, lines: readonly number[]): Promise<OriginContent[]> {
  const { version } = merge
  const after = await tracer.contents.get(version.after ?? '')
  if (!after) return []
  const found: OriginContent[] = []
  const newLines = distinctLines(after)
  const counts = lineCounts(after)
  const add = async (
    before: Buffer,
    kind: Pick<OriginContent, 'isMainSource' | 'isOwn' | 'isProved'>,
    follow: Merge['own'],
  ) => {
    const both = linesOfBoth(before, after)
    if (!both) return
    const origins = possibleOrigins(both.oldLines, both.newLines)
    const whole = wholeIn(both)
    const inWhole = lines.flatMap((line) => (whole && whole.from <= line && line < whole.to ? line - whole.from : []))
    const possible = lines.flatMap((line) => origins[line] ?? []).filter((line) => line >= 0)
    const asked = [...new Set([...possible, ...inWhole])]
    const traced = await follow(asked)
    const known = new Map(asked.flatMap((line, at) => (traced[at] ? [[line, traced[at]] as const] : [])))
    const isUniqueByLength = both.newLines.map(
      (text) => text.trim().length >= minLettersWhole && counts.get(text) === 1,
    )
    found.push({
      ...kind,
      origins,
      whole,
      isInMatchingBlock: linesInMatchingBlocks(both, origins),
      isUniqueByLength,
      traced: known,
    })
  }
  const before = version.before ? await tracer.contents.get(version.before) : undefined
  const isOwnMainSource = isMadeOf(newLines, distinctLines(before))
  const files = await filesOfCall(tracer, version)
  const { replaced, identity } = version
  const isNewFile = identity !== replaced?.identity && files.some((each) => each.identity === replaced?.identity)
  const isOwnProved = !isNewFile || (await merge.isTransferProved(join(version.folder, version.path)))
  if (before) await add(before, { isMainSource: isOwnMainSource, isOwn: true, isProved: isOwnProved }, merge.own)
  for (const { path, isMainSource } of new LostFiles(files).sourcesOf(version.path, newLines)) {
    const { bytes, sha256 = '' } = files.find((each) => each.path === path)?.before ?? {}
    const whole = join(version.folder, path)
    if (!bytes) continue
    const isProved = await merge.isTransferProved(whole)
    await add(bytes, { isMainSource, isOwn: false, isProved }, (asked) => merge.other(whole, sha256, asked))
  }
  return found
}

function wholeIn({ oldLines, newLines }: { oldLines: string[]; newLines: string[] }): OriginContent['whole'] {
  const from = oldLines.join('').length < minLettersWhole ? undefined : onlyPlaceOf(oldLines, newLines)
  return from === undefined ? undefined : { from, to: from + oldLines.length }
}

/** Files that a command changed, with their stored contents. */
async function filesOfCall({ rows, contents }: Tracer, { runId, callId }: FileVersion) {
  const content = async (hash: string | null) => {
    if (hash === null) return null
    const bytes = hash === '' ? undefined : await contents.get(hash)
    return { sha256: hash, ...(bytes && { bytes }) }
  }
  const files = []
  for (const { path, before, after, identity = null } of await versionsOfCall(rows, runId ?? '', callId ?? ''))
    files.push({ path, before: await content(before), after: await content(after), identity })
  return files
}

/** For each new line, whether it is in a large enough block of consecutive lines that the old text has, too. */
function linesInMatchingBlocks(
  { oldLines, newLines }: { oldLines: string[]; newLines: string[] },
  origins: readonly number[][],
): boolean[] {
  const inBlock = new Array<boolean>(newLines.length).fill(false)
  for (let start = 0; start < newLines.length; ) {
    const [first = newLine] = origins[start] ?? []
    let end = start + 1
    while (first !== newLine && end < newLines.length && origins[end]?.[0] === first + end - start) end++
    const significant = newLines.slice(start, end).filter(isSignificantLine)
    const letters = significant.join('').length
    const isWhole = end - start === oldLines.length && letters >= minLettersWhole
    if (first !== newLine && (isWhole || (significant.length >= minLines && letters >= minLetters)))
      inBlock.fill(true, start, end)
    start = end
  }
  return inBlock
}
