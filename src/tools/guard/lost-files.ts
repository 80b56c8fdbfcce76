import type { CommandVersion } from '../../domain/tools/touched.ts'
import { distinctLines, isMadeOf, lineCounts } from './shared-lines.ts'

/** A file that a command removed, or from which it removed lines. */
interface LostFile {
  path: string
  /** Lines that it no longer has, or has fewer times. */
  lines: ReadonlySet<string>
  /** How often it had each line. */
  counts: ReadonlyMap<string, number>
}

/** A lost file that a new content may be made of. */
interface LostSource extends LostFile {
  /** A large part of it is in the new content. */
  isMainSource: boolean
}

/** A line that more files have does not tell where a content comes from, unless a file has the same name. */
const maxHolders = 20
/** Share of a file's lost lines that another file must have for them to count as moved there, and min length of one of them. */
const minShare = 0.25
const minLetters = 16

/** Files that a command removed or shortened, as possible sources of those that it left. */
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

  /** Files that a new content may be made of. One whose whole content is in another file now was moved there, or backed up. */
  sourcesOf(path: string, lines: ReadonlySet<string>): LostSource[] {
    /** For each lost file, how many of its lost lines the new content has. */
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
      const isMainSource = isMadeOf(lines, file.lines)
      if (file.path === path || (isHeldElsewhere && !isMainSource) || shared === 0) return []
      // A file that still exists must have lost a good part of these lines to this one, or its whole content, however short.
      if (file.isPresent && !isWhole && (shared < minShare * file.lines.size || !hasLongLine(file.lines, lines)))
        return []
      return { ...file, isMainSource }
    })
  }

  /** The only file that a new content is made of; an empty path if there are several candidates. */
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
    // A blank line may come from anywhere: only one more than the other file had shows that this one kept its own.
    const isOwnLine = (line: string) =>
      line.trim() === '' ? (newCounts.get(line) ?? 0) > (only?.counts.get(line) ?? 0) : lines.has(line)
    return only && mainSources.length === 1 && others.length === 0 && ![...own].some(isOwnLine) ? only.path : ''
  }
}

function hasLongLine(lost: ReadonlySet<string>, lines: ReadonlySet<string>): boolean {
  return [...lost].some((line) => line.trim().length >= minLetters && lines.has(line))
}

/** Of similar files, such as those of a folder that was moved, the one with the same name, if it has all the lines. */
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

/** The path with the most trailing names in common; undefined if two have as many. */
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
