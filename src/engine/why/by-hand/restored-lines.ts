import { join } from 'node:path'
import type { Millis } from '../../../domain/clock.ts'
import { compareVersions, type FileVersion } from '../../../store/rows/files/file-versions.ts'
import { decodeText } from '../../../tools/files/text-kind.ts'
import { isSignificantLine } from '../../../tools/guard/shared-lines.ts'
import { hashesInRow, hashLine } from '../../files/line-hashes.ts'
import { linesIn } from '../../files/match-lines.ts'
import { newLine, possibleOrigins } from '../../files/possible-origins.ts'
import {
  isBefore,
  type MovedFile,
  mergeTracedLines,
  type TracedLine,
  type Tracer,
  unknownAuthor,
} from '../traced-line.ts'
import { isEarlier, traceInVersion } from './content-holders.ts'
import { hasWord } from './telling-lines.ts'

/** Max earlier contents that are compared, the newest first. */
const maxCompared = 8
/** Max earlier names of a file whose versions are read. */
const maxNames = 8
/** Max further versions whose runs are named. */
const maxNamed = 50

/** A content that a hand left, and the one before it, empty if there was none. */
interface ManualChange {
  hash: string
  beforeHash: string | null
  texts: readonly string[]
  before: readonly string[]
  /** Possible origins of each line in the content before; empty if there was none. */
  origins: readonly number[][]
}

/** An earlier content of the file: one that a version left, or the one before it. */
interface EarlierContent {
  version: FileVersion
  side: 'before' | 'after'
}

/**
 * Where lines come from if the user or another program has put an earlier content of the file back, or part of it, as `git checkout`
 * and the undo of an editor do. All lines of a content come into question if it explains the file at least as well as the one before
 * the change does; otherwise only those that had gone.
 */
export async function restoredLines(
  tracer: Tracer,
  file: MovedFile,
  change: ManualChange,
  lines: readonly number[],
): Promise<Map<number, TracedLine[]>> {
  const found = new Map<number, TracedLine[]>()
  const add = (line: number, traced: TracedLine) => found.set(line, [...(found.get(line) ?? []), traced])
  const returned = returnedLines(change)
  const { contents, others } = earlierContents(file, await lineageOf(tracer, file), change)
  const left = countsOf(change.before)
  const keptCount = change.origins.filter(isMatched).length
  for (const { version, side } of contents) {
    const bytes = await tracer.contents.get(version[side] ?? '', side === 'after' ? version : undefined)
    const text = bytes && decodeText(bytes)
    if (text === undefined) continue
    const earlier = linesIn(text)
    const had = countsOf(earlier)
    const origins = possibleOrigins(earlier, [...change.texts])
    const isLikely = origins.filter(isMatched).length >= keptCount
    const hadMore = (line: string) => (had.get(line) ?? 0) > (left.get(line) ?? 0)
    const wanted = lines.filter(
      (line) =>
        (isLikely && isMatched(origins[line] ?? [])) || (returned.has(line) && hadMore(change.texts[line] ?? '')),
    )
    const from = [...new Set(wanted.flatMap((line) => origins[line] ?? []))].filter((each) => each >= 0)
    const traced = await traceInVersion(tracer, file, version, from, { side })
    const byLine = new Map(from.map((each, at) => [each, traced[at]]))
    for (const line of wanted)
      for (const each of origins[line] ?? []) {
        const origin = byLine.get(each)
        // The first transfer is from the file to itself, perhaps under an earlier name.
        if (origin) add(line, { ...origin, transfers: origin.transfers.slice(1) })
      }
  }
  for (const { version, hashes } of others)
    for (const line of lines)
      if (returned.has(line) && hashes.includes(hashLine(change.texts[line] ?? ''))) add(line, uncompared(version))
  return found
}

/** A line that may have been put back. */
export function withRestored(
  traced: TracedLine | undefined,
  restored: readonly TracedLine[] | undefined,
  since: Millis,
): TracedLine {
  return mergeTracedLines([...(traced ? [traced] : []), ...(restored ?? [])], { since, why: putBack })
}

const putBack = 'the file had this line earlier, and it may have been put back'

/** Author of a line that a version brought which is not compared. */
function uncompared({ runId }: FileVersion): TracedLine {
  return { author: unknownAuthor(null, putBack, runId === null ? [] : [runId]), transfers: [] }
}

/** Lines with a word that the content has more often than the one before it. */
function returnedLines({ texts, before }: ManualChange): Set<number> {
  const [now, left] = [countsOf(texts), countsOf(before)]
  const isReturned = (text: string) => hasWord(text) && (now.get(text) ?? 0) > (left.get(text) ?? 0)
  return new Set(texts.flatMap((text, line) => (isReturned(text) ? line : [])))
}

function countsOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

/** Whether a line is part of a longest common subsequence. */
function isMatched([first = newLine]: readonly number[]): boolean {
  return first !== newLine
}

/**
 * Earlier contents of the file that are just this one; else those that brought lines which it has not kept in their order. The newest
 * are compared. `others`: the versions that are not, with the hashes of those lines that they brought.
 */
function earlierContents(
  file: MovedFile,
  lineage: readonly FileVersion[][],
  { hash, beforeHash, texts, origins }: ManualChange,
): { contents: EarlierContent[]; others: { version: FileVersion; hashes: readonly number[] }[] } {
  const added = texts.filter((text, line) => hasWord(text) && !isMatched(origins[line] ?? []))
  const wanted = new Set(added.filter(isSignificantLine).map(hashLine))
  // Short lines have no hash: any version may have had them.
  const isAnyShort = !added.every(isSignificantLine)
  const equal: EarlierContent[] = []
  const bringing: EarlierContent[] = []
  const others: { version: FileVersion; hashes: readonly number[] }[] = []
  for (const versions of lineage)
    for (let at = versions.length - 1; at >= 0; at--) {
      const version = versions[at]
      if (!version || !isEarlier(version, file)) continue
      const isFull = bringing.length >= maxCompared
      const hashes = hashesInRow(version.lineHashes, wanted)
      if (isFull && hashes.length > 0 && others.length < maxNamed) others.push({ version, hashes })
      const brings = !isFull && (hashes.length > 0 || isAnyShort)
      // What a version found is what the one before it left, unless a hand changed the file in between.
      const isKnown = version.before === versions[at - 1]?.after
      for (const side of isKnown ? (['after'] as const) : (['after', 'before'] as const)) {
        if (version[side] === beforeHash) continue
        if (version[side] === hash && equal.length < maxCompared) equal.push({ version, side })
        if (brings) bringing.push({ version, side })
      }
    }
  return equal.length > 0 ? { contents: equal, others: [] } : { contents: bringing, others }
}

/** Versions of the file under each name that it is known to have had: before the user renamed it, or commands moved it. */
async function lineageOf(tracer: Tracer, file: MovedFile): Promise<FileVersion[][]> {
  const lineage = [file.versions]
  const paths = new Set([file.path])
  const add = async (path: string, isPart: (version: FileVersion) => boolean) => {
    if (paths.has(path) || paths.size > maxNames) return
    paths.add(path)
    lineage.push((await tracer.versions.of(path)).filter(isPart))
  }
  const { renamed } = file
  if (renamed) await add(join(renamed.folder, renamed.path), (each) => compareVersions(each, renamed) <= 0)
  // The loop appends to this list.
  for (const versions of lineage)
    for (const version of versions) {
      const from = version.command?.origin?.path
      if (from) await add(join(version.folder, from), (each) => isBefore(each, version))
    }
  return lineage
}
