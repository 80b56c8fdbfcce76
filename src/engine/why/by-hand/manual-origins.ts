import { join } from 'node:path'
import type { FileVersion } from '../../../store/rows/files/file-versions.ts'
import { decodeText } from '../../../tools/files/text-kind.ts'
import { isSignificantLine } from '../../../tools/guard/shared-lines.ts'
import { linesOfBoth } from '../../files/line-map.ts'
import { linesIn } from '../../files/match-lines.ts'
import { anyEqualLine, newLine, possibleOrigins } from '../../files/possible-origins.ts'
import {
  type LineAuthor,
  type MovedFile,
  mergeTracedLines,
  type TracedLine,
  type Tracer,
  unknownAuthor,
} from '../traced-line.ts'
import {
  ambiguousCopy,
  findHolders,
  findSourcesByTime,
  traceHolders,
  traceInVersion,
  traceSources,
} from './content-holders.ts'
import { wereSwapped } from './file-since.ts'
import { similarVersions, versionsWithShortContent } from './similar-versions.ts'
import { isShortText } from './telling-lines.ts'

/** Lines traced to other files; `hasExactMatch` if one of these had exactly this content. */
interface ManualOrigins {
  traced: TracedLine[]
  hasExactMatch: boolean
  /** The content is known to come from these files. */
  isProved: boolean
  /** Another file has all lines that the content kept, and more of it: it may have replaced this one. */
  mayBeReplaced: boolean
  /** For each line of the content, whether it has at most three characters, such as "}". */
  isTrivial: boolean[]
}

/**
 * Authors of the lines of a file that the user or another program moved or copied: it is another file that was renamed, or other
 * files had the same content, or much of it. Only the first two prove where a line is from. Undefined if there is no such file.
 * `unmatched`: author of lines that no other file had.
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
  const content: AskedContent = { bytes, text, texts: linesIn(text), lines, unmatched }
  const isTrivial = content.texts.map((line) => !isSignificantLine(line))
  const holders = await findHolders(tracer, file, hash)
  const sources = file.renamed ? undefined : await findSourcesByTime(tracer, file, holders)
  // A short content may be equal by chance, unless times prove the copy.
  if (!file.renamed && holders.length > 0 && (sources || !isShortText(text))) {
    const { traced, isProved } = await traceEqualContent(tracer, file, { holders, sources }, content)
    return { traced, isProved, hasExactMatch: true, mayBeReplaced: false, isTrivial }
  }
  const found = await traceSimilarContent(tracer, file, holders, content)
  return found && { ...found, isProved: false, hasExactMatch: false, isTrivial }
}

/** A content, the lines of it that are asked about, and the author of those that no other file had. */
interface AskedContent {
  bytes: Buffer
  text: string
  texts: readonly string[]
  lines: readonly number[]
  unmatched: LineAuthor
}

/** Traces lines in versions with the same content. */
async function traceEqualContent(
  tracer: Tracer,
  file: MovedFile,
  { holders, sources }: { holders: readonly FileVersion[]; sources: readonly FileVersion[] | undefined },
  { texts, lines, unmatched }: AskedContent,
): Promise<Pick<ManualOrigins, 'traced' | 'isProved'>> {
  const { all, isCut } = sources
    ? await traceSources(tracer, file, sources, lines)
    : await traceHolders(tracer, file, holders, lines)
  const mayBeCommand = unmatched.by === 'unknown' && !(await areGone(tracer, holders))
  // Without a proof both may be from elsewhere: a licence, a template, the output of a generator.
  const isProved = !mayBeCommand && (sources !== undefined || (await wereSwapped(tracer, file, holders)))
  const origins: (readonly (TracedLine | undefined)[])[] = []
  for (const each of all) {
    const wanted = lines.map((line) => texts[line] ?? '')
    origins.push(await withoutReadLines(tracer, file, each, wanted, texts))
  }
  const written: TracedLine = { author: unmatched, transfers: [] }
  const traced = lines.map((line, at) => {
    const doubts = !isProved && !file.kept?.has(line) ? [written] : []
    const found = origins.flatMap((each) => each[at] ?? [])
    return found.length === 0 ? written : withUnknownActor(mergeOrUnknown([...doubts, ...found], isCut), unmatched)
  })
  return { traced, isProved }
}

/** Traces lines in the file that this one was before it was renamed, and in versions that have some of them. */
async function traceSimilarContent(
  tracer: Tracer,
  file: MovedFile,
  holders: readonly FileVersion[],
  { bytes, text, lines, unmatched }: AskedContent,
): Promise<Pick<ManualOrigins, 'traced' | 'mayBeReplaced'> | undefined> {
  const short = await versionsWithShortContent(tracer, holders, text)
  const { similar, isCut } = await similarVersions(tracer, file, text)
  const others = [...short, ...similar].filter(({ version }) => version !== file.renamed)
  const all: (LineMatch | undefined)[][] = []
  let mayBeReplaced = false
  for (const other of [...(file.renamed ? [{ version: file.renamed }] : []), ...others]) {
    const { version, isUnread } = other
    const content = isUnread ? undefined : await tracer.contents.get(version.after ?? '', version)
    const both = content && linesOfBoth(content, bytes)
    const uncompared = { origins: [{ author: uncomparedAuthor(version), transfers: [] }], isSure: false }
    const origins = both && possibleOrigins(both.oldLines, both.newLines)
    mayBeReplaced ||= other.hasKept === true && (other.mayBeHere || hasMore(origins, file, both?.newLines))
    all.push(
      both && origins
        ? await matchLinesOf(tracer, file, version, { ...both, origins }, lines)
        : lines.map(() => uncompared),
    )
  }
  if (isCut) all.push(lines.map(() => ({ origins: [uncomparedLine], isSure: false })))
  if (all.length === 0) return undefined
  const traced = lines.map((line, at) => {
    const matches = all.flatMap((each) => each[at] ?? [])
    const sure = matches.filter(({ isSure }) => isSure)
    // Unless the line must come from the renamed file, or was there before, it may have been written here.
    const isOld = sure.length > 0 || (matches.length > 0 && file.kept?.has(line))
    const written = isOld ? [] : [{ author: unmatched, transfers: [] }]
    const found = (sure.length > 0 ? sure : matches).flatMap(({ origins }) => origins)
    return withUnknownActor(mergeTracedLines([...written, ...found], { since: null, why: ambiguousLine }), unmatched)
  })
  return { traced, mayBeReplaced }
}

/** Whether a content has more significant lines of the new one in their order than the version before. */
function hasMore(origins: readonly number[][] = [], { kept }: MovedFile, newLines: readonly string[] = []): boolean {
  const significant = newLines.flatMap((text, line) => (isSignificantLine(text) ? line : []))
  const isKept = (line: number) => origins[line]?.includes(newLine) === false
  return significant.filter(isKept).length > significant.filter((line) => kept?.has(line)).length
}

/** Possible origins of each line in one version. */
async function matchLinesOf(
  tracer: Tracer,
  file: MovedFile,
  version: FileVersion,
  { oldLines, newLines, origins }: { oldLines: string[]; newLines: string[]; origins: readonly number[][] },
  lines: readonly number[],
): Promise<(LineMatch | undefined)[]> {
  const isRenamed = version === file.renamed
  const before = [...new Set(lines.flatMap((line) => origins[line] ?? []))].filter((line) => line >= 0)
  const traced = await traceInVersion(tracer, file, version, before, { isRenamed })
  const texts = before.map((line) => oldLines[line] ?? '')
  const found = isRenamed ? traced : await withoutReadLines(tracer, file, traced, texts, newLines)
  const byLine = new Map(before.map((line, at) => [line, found[at]]))
  return lines.map((line) => {
    const from = origins[line] ?? []
    const all = from.flatMap((each) => (each === anyEqualLine ? anyLine : (byLine.get(each) ?? [])))
    return all.length === 0 ? undefined : { origins: all, isSure: isRenamed && !from.includes(newLine) }
  })
}

/**
 * Leaves out lines of runs that had read them in this very file before they wrote them elsewhere: they were here first, and the user's
 * if no run has written to the file. If it has a line more often than it was read, some may be the run's. `all`: the lines of the file.
 */
async function withoutReadLines(
  tracer: Tracer,
  { path, versions }: MovedFile,
  traced: readonly (TracedLine | undefined)[],
  texts: readonly string[],
  all: readonly string[],
): Promise<readonly (TracedLine | undefined)[]> {
  if (versions.some(({ found, runId }) => !found && runId !== null)) return traced
  const left: (TracedLine | undefined)[] = []
  const counts = Map.groupBy(all, (text) => text.trim())
  for (const [at, each] of traced.entries()) {
    const version = each && toolVersionOf(each.author)
    const given = version && (await tracer.calls.givenBefore(version))
    const text = texts[at] ?? ''
    const count = counts.get(text.trim())?.length ?? 0
    left.push(given && given.timesRead(path, text) >= Math.max(1, count) ? undefined : each)
  }
  return left
}

/** The version by which a tool wrote a line; undefined if another author did. */
function toolVersionOf(author: LineAuthor): FileVersion | undefined {
  const isTool = author.by === 'version' && !author.version.command && author.version.runId !== null
  return isTool ? author.version : undefined
}

/** Author of lines that may come from a content which is not known. */
function uncomparedAuthor({ runId }: FileVersion): LineAuthor {
  return unknownAuthor(
    null,
    'the file came there by hand, and one whose content is not known may be it',
    runId === null ? [] : [runId],
  )
}

/** Possible origins of a line in another file. */
interface LineMatch {
  origins: TracedLine[]
  /** The line must come from there: the file does, and had the line at the same position. */
  isSure: boolean
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

const ambiguousLine = 'the file came there by hand, and another one had this line'
const anyLine: TracedLine = { author: unknownAuthor(null, ambiguousLine), transfers: [] }
const uncomparedLine: TracedLine = {
  author: unknownAuthor(null, 'the folder has more recorded changes than can be compared'),
  transfers: [],
}
