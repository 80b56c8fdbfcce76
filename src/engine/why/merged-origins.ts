import { join } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import { type FileVersion, versionsOfCall, versionsOfFile } from '../../store/rows/files/file-versions.ts'
import { LostFiles } from '../../tools/guard/lost-files.ts'
import { distinctLines, isDistinctive, isMadeOf, lineCounts } from '../../tools/guard/shared-lines.ts'
import { namesInFolders } from '../files/file-author.ts'
import { linesOfBoth } from '../files/line-map.ts'
import { isAny, isNew, possibleOrigins } from './possible-origins.ts'
import { agreedLine, isBefore, type LineAuthor, type TracedLine, type Tracer } from './traced-line.ts'

/** A content that a command left, and how its lines are followed further. */
interface Merge {
  version: FileVersion
  /** Author of the lines that no file had. */
  author: LineAuthor
  since: Millis
  /** Follows lines in what the file itself had before. */
  own(lines: readonly number[]): Promise<TracedLine[]>
  /** Follows lines in files that had the same content. */
  same(lines: readonly number[]): Promise<TracedLine[] | undefined>
  /** Follows lines in what another file had before. */
  other(path: string, hash: string, lines: readonly number[]): Promise<TracedLine[]>
}

/** A content that lines of the new one may be from. */
interface OriginContent {
  /** For each line of the new content the lines that it may be. */
  origins: number[][]
  /** The new content is made of this one, as far as their lines tell. */
  isMuch: boolean
  isOwn: boolean
  isWhole: boolean
  /** Lines that stand in a row with others that were there. */
  isSolid: boolean[]
  /** Lines of so many letters that few others are equal, and none in the new content. */
  isLong: boolean[]
  traced: Map<number, TracedLine>
}

/** Shorter rows of lines may be the same by chance. */
const minLines = 2
const minLetters = 40
/** Letters of a text that is there from its first line to its last, however few lines it has. */
const minLettersWhole = 16

/**
 * Authors of the lines of a content that a command made of several files, or may have: what the file itself had before and those
 * that the command took away. A line is whose it was where all that it may be from agree. Undefined if no such content is stored.
 */
export async function mergedOrigins(
  tracer: Tracer,
  merge: Merge,
  lines: readonly number[],
): Promise<TracedLine[] | undefined> {
  if (!merge.version.command?.origin) return movedUnread(tracer, merge, lines)
  const sources = await sourcesOf(tracer, merge, lines)
  if (sources.length === 0) return merge.same(lines)
  const written: TracedLine = { author: merge.author, passages: [] }
  const doubt = { since: merge.since, why: 'a command moved and changed files, and several of them had this line' }
  return lines.map((line) => {
    const having = sources.filter(({ origins }) => origins[line]?.some((from) => from !== isNew))
    const sure = having.filter(({ isOwn, isMuch }) => isOwn || isMuch)
    const solid = having.filter(({ isSolid }) => isSolid[line])
    const isInRow = solid.some((each) => sure.includes(each))
    const isInAll = sources.every((each) => !each.isMuch || (sure.includes(each) && isAnchored(each, line)))
    const isKept = isInRow || (isInAll && sure.length > 0)
    // Of files that all have a "}" it is that of the one whose lines stand around it, the more so if it cannot be new there.
    const firm = solid.filter(({ origins }) => !origins[line]?.includes(isNew))
    const from = !isInRow ? having : firm.length > 0 ? firm : solid
    const found = from.flatMap(({ origins, traced }) => tracedOf(origins[line], traced))
    if (found.length === 0) return written
    return agreedLine(isKept ? found : [...found, written], doubt)
  })
}

/**
 * Whether a line is in its place among those that a source had, or is so long that it is the same in another place. Blank ones and
 * "}" are in many places, and say nothing there.
 */
function isAnchored({ origins, isLong }: OriginContent, line: number): boolean {
  return isLong[line] === true || origins[line]?.includes(isNew) === false
}

/** Max files that a command took away and whose versions are read. */
const maxUnread = 100

/**
 * A content that a command brought while it took away files that had not been read before: one of them, perhaps. Undefined if all of
 * them had been read.
 */
async function movedUnread(
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
  return lines.map(() => ({ author, passages: [] }))
}

function tracedOf(origins: readonly number[] | undefined, traced: ReadonlyMap<number, TracedLine>): TracedLine[] {
  return (origins ?? []).flatMap((from) => (from === isAny ? anyLine : (traced.get(from) ?? [])))
}

const anyLine: TracedLine = {
  author: { by: 'unknown', since: null, why: 'too many lines are equal', runIds: [] },
  passages: [],
}

async function sourcesOf(tracer: Tracer, merge: Merge, lines: readonly number[]): Promise<OriginContent[]> {
  const { version } = merge
  const after = await tracer.contents.get(version.after ?? '')
  if (!after) return []
  const found: OriginContent[] = []
  const fresh = distinctLines(after)
  const counts = lineCounts(after)
  const add = async (
    before: Buffer,
    kind: Pick<OriginContent, 'isMuch' | 'isOwn' | 'isWhole'>,
    follow: Merge['own'],
  ) => {
    const both = linesOfBoth(before, after)
    if (!both) return
    const origins = possibleOrigins(both.old, both.fresh)
    const asked = [...new Set(lines.flatMap((line) => origins[line] ?? []))].filter((line) => line >= 0)
    const traced = await follow(asked)
    const known = new Map(asked.flatMap((line, at) => (traced[at] ? [[line, traced[at]] as const] : [])))
    const isLong = both.fresh.map((text) => text.trim().length >= minLettersWhole && counts.get(text) === 1)
    found.push({ ...kind, origins, isSolid: solidLines(both, origins), isLong, traced: known })
  }
  const before = version.before ? await tracer.contents.get(version.before) : undefined
  const isMuchOwn = isMadeOf(fresh, distinctLines(before))
  if (before) await add(before, { isMuch: isMuchOwn, isOwn: true, isWhole: false }, merge.own)
  const files = await filesOfCall(tracer, version)
  for (const { path, isMuch, isWhole } of new LostFiles(files).sourcesOf(version.path, fresh)) {
    const { bytes, sha256 = '' } = files.find((each) => each.path === path)?.before ?? {}
    const whole = join(version.folder, path)
    if (bytes) await add(bytes, { isMuch, isOwn: false, isWhole }, (asked) => merge.other(whole, sha256, asked))
  }
  return found
}

/** The files that a command changed, with the contents that are stored. */
async function filesOfCall({ rows, contents }: Tracer, { runId, callId }: FileVersion) {
  const content = async (hash: string | null) => {
    if (hash === null) return null
    const bytes = hash === '' ? undefined : await contents.get(hash)
    return { sha256: hash, ...(bytes && { bytes }) }
  }
  const files = []
  for (const { path, before, after } of await versionsOfCall(rows, runId ?? '', callId ?? ''))
    files.push({ path, before: await content(before), after: await content(after) })
  return files
}

/** Whether each line stands in a row with enough others that followed each other in the old text, too. */
function solidLines({ old, fresh }: { old: string[]; fresh: string[] }, origins: readonly number[][]): boolean[] {
  const solid = new Array<boolean>(fresh.length).fill(false)
  for (let start = 0; start < fresh.length; ) {
    const [first = isNew] = origins[start] ?? []
    let end = start + 1
    while (first !== isNew && end < fresh.length && origins[end]?.[0] === first + end - start) end++
    const telling = fresh.slice(start, end).filter(isDistinctive)
    const letters = telling.join('').length
    const isWhole = end - start === old.length && letters >= minLettersWhole
    if (first !== isNew && (isWhole || (telling.length >= minLines && letters >= minLetters)))
      solid.fill(true, start, end)
    start = end
  }
  return solid
}
