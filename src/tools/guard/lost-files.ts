import type { CommandVersion } from '../../domain/tools/touched.ts'
import { distinctLines, isMadeOf, lineCounts } from './shared-lines.ts'

/** A file of whose content a command took something away: it is gone, or has another content instead. */
interface LostFile {
  path: string
  /** Lines that are no longer there, or not as often. */
  lines: ReadonlySet<string>
  /** How often it had each line. */
  counts: ReadonlyMap<string, number>
}

/** A lost file that a new content is made of, or may be. */
interface LostSource extends LostFile {
  isMainSource: boolean
  /** All of it is in the new content, and nothing else, however short it is. */
  isWhole: boolean
}

/** A line that more files have does not tell where a content is from. */
const maxHolders = 20
/** Share of the lines that a file lost and that must be in another one to have been moved there, and letters of one of them. */
const minShare = 0.25
const minLetters = 16

/** The files that a command took away, as possible sources of those that it left. */
export class LostFiles {
  readonly #lost: (LostFile & { isPresent: boolean; currentHolders: string[] })[] = []
  readonly #byLine = new Map<string, LostFile[]>()

  constructor(versions: readonly Pick<CommandVersion, 'path' | 'before' | 'after'>[]) {
    const currentHolders = Map.groupBy(versions, ({ after }) => after?.sha256)
    for (const { path, before, after } of versions) {
      if (!before?.bytes || after?.sha256 === before.sha256) continue
      const [counts, kept] = [lineCounts(before.bytes), lineCounts(after?.bytes)]
      const paths = (currentHolders.get(before.sha256) ?? []).map((each) => each.path)
      const isLost = ([line, count]: [string, number]) => paths.length > 0 || count > (kept.get(line) ?? 0)
      const lines = new Set([...counts].filter(isLost).map(([line]) => line))
      if (lines.size === 0) continue
      this.#lost.push({ path, lines, counts, isPresent: after !== null, currentHolders: paths })
    }
    for (const file of this.#lost)
      for (const line of file.lines) {
        const known = this.#byLine.get(line)
        if (known) known.push(file)
        else this.#byLine.set(line, [file])
      }
  }

  /** Files that a new content is made of, or may be. A file whose whole content is now elsewhere was moved. */
  sourcesOf(path: string, lines: ReadonlySet<string>): LostSource[] {
    /** Number of lines that each has lost and that are here. */
    const holders = new Map<LostFile, number>()
    for (const line of lines) {
      const found = this.#byLine.get(line) ?? []
      const likely = found.length > maxHolders ? found.filter((each) => commonSuffixLength(each.path, path) > 0) : found
      for (const each of likely) holders.set(each, (holders.get(each) ?? 0) + 1)
    }
    return this.#lost.flatMap((file) => {
      const shared = holders.get(file) ?? 0
      const isHeldElsewhere = file.currentHolders.some((holder) => holder !== path && holder !== file.path)
      const isWhole = file.currentHolders.includes(path)
      if (file.path === path || isHeldElsewhere || shared === 0) return []
      // Of a file that is still there a good part of what it lost is here now, or all of it, however short.
      if (file.isPresent && !isWhole && (shared < minShare * file.lines.size || !hasLongLine(file.lines, lines)))
        return []
      return { ...file, isMainSource: isMadeOf(lines, file.lines), isWhole }
    })
  }

  /** The one file that a new content is made of; an empty path if others come into question, too. */
  originOf({ path, before, after }: Pick<CommandVersion, 'path' | 'before' | 'after'>): string | undefined {
    const lines = distinctLines(after?.bytes)
    const own = distinctLines(before?.bytes)
    const sources = this.sourcesOf(path, lines)
    const mainSources = narrowSources(
      path,
      lines,
      sources.filter(({ isMainSource }) => isMainSource),
    )
    const counts = [lineCounts(before?.bytes), ...mainSources.map((each) => each.counts)]
    const newCounts = lineCounts(after?.bytes)
    const isExplained = (line: string) =>
      (newCounts.get(line) ?? 0) <= counts.reduce((sum, each) => sum + (each.get(line) ?? 0), 0)
    const others = sources.filter(
      ({ isMainSource, lines: lost }) =>
        !isMainSource && [...lost].some((line) => lines.has(line) && !isExplained(line)),
    )
    const [only] = mainSources
    if (!only && others.length === 0) return undefined
    return only &&
      mainSources.length === 1 &&
      others.length === 0 &&
      ![...own].some((line) => line.trim() !== '' && lines.has(line))
      ? only.path
      : ''
  }
}

function hasLongLine(lost: ReadonlySet<string>, lines: ReadonlySet<string>): boolean {
  return [...lost].some((line) => line.trim().length >= minLetters && lines.has(line))
}

/** Of files that are alike, as some of a folder that was moved are, the one with the same name, if it has all the lines. */
function narrowSources(
  path: string,
  lines: ReadonlySet<string>,
  sources: readonly LostSource[],
): readonly LostSource[] {
  const named = nearestName(path, sources)
  const best = sources.find((each) => each.path === named)
  if (!best || commonSuffixLength(best.path, path) === 0) return sources
  const isInBest = (line: string) => !lines.has(line) || best.lines.has(line)
  return sources.every((each) => [...each.lines].every(isInBest)) ? [best] : sources
}

/** The one whose path ends most alike; undefined if two do. */
export function nearestName(path: string, all: readonly { path: string }[]): string | undefined {
  const scored = all.map((each) => ({ path: each.path, score: commonSuffixLength(each.path, path) }))
  const [best, next] = scored.sort((a, b) => b.score - a.score)
  return best && (!next || best.score > next.score) ? best.path : undefined
}

function commonSuffixLength(a: string, b: string): number {
  const [x, y] = [a.split('/').reverse(), b.split('/').reverse()]
  let same = 0
  while (same < x.length && x[same] === y[same]) same++
  return same
}
