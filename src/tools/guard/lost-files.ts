import type { CommandVersion } from '../../domain/tools/touched.ts'
import { distinctLines, lineCounts, overlapOf } from './shared-lines.ts'

/** A file whose content a command took away: it is gone, or has another content instead. */
interface LostFile {
  path: string
  /** Lines that are no longer there, without blank ones. */
  lines: ReadonlySet<string>
  /** How often it had each line. */
  counts: ReadonlyMap<string, number>
}

/** A lost file that a new content is made of, or may be. */
interface LostSource extends LostFile {
  isMuch: boolean
  /** All of it is in the new content, and nothing else, however short it is. */
  isWhole: boolean
}

/** A line that more files have does not tell where a content is from. */
const maxHolders = 20
/** Share of the lines of a file that is still there which it must have lost. */
const minLost = 0.5

/** The files that a command took away, as possible sources of those that it left. */
export class LostFiles {
  readonly #lost: (LostFile & { isThere: boolean; takers: string[] })[] = []
  readonly #byLine = new Map<string, LostFile[]>()

  constructor(versions: readonly Pick<CommandVersion, 'path' | 'before' | 'after'>[]) {
    const takers = Map.groupBy(versions, ({ after }) => after?.sha256)
    for (const { path, before, after } of versions) {
      if (!before?.bytes || after?.sha256 === before.sha256) continue
      const old = distinctLines(before.bytes)
      const kept = distinctLines(after?.bytes)
      const paths = (takers.get(before.sha256) ?? []).map((each) => each.path)
      const lines = paths.length > 0 ? old : new Set([...old].filter((line) => !kept.has(line)))
      if (lines.size === 0 || lines.size < minLost * old.size) continue
      this.#lost.push({ path, lines, counts: lineCounts(before.bytes), isThere: after !== null, takers: paths })
    }
    for (const file of this.#lost)
      for (const line of file.lines) {
        const known = this.#byLine.get(line)
        if (known) known.push(file)
        else this.#byLine.set(line, [file])
      }
  }

  /** Files that a new content is made of, or may be. One whose content is whole in another file now was moved there. */
  sourcesOf(path: string, lines: ReadonlySet<string>): LostSource[] {
    const holders = new Set<LostFile>()
    for (const line of lines) {
      const found = this.#byLine.get(line) ?? []
      const likely = found.length > maxHolders ? found.filter((each) => sharedEnd(each.path, path) > 0) : found
      for (const each of likely) holders.add(each)
    }
    return this.#lost.flatMap(({ isThere, takers, ...file }, at) => {
      const isTaken = takers.some((taker) => taker !== path && taker !== file.path)
      if (file.path === path || isTaken || !holders.has(this.#lost[at] as LostFile)) return []
      const likeness = overlapOf(file.lines, lines)
      // Of a file that is still there much is lost, or all of it is here now, however short.
      const isWhole = takers.includes(path)
      const isLikely = likeness === 'much' || !isThere || isWhole
      return likeness === 'none' || !isLikely ? [] : { ...file, isMuch: likeness === 'much', isWhole }
    })
  }

  /** The one file that a new content is made of; an empty path if others come into question, too. */
  originOf({ path, before, after }: Pick<CommandVersion, 'path' | 'before' | 'after'>): string | undefined {
    const lines = distinctLines(after?.bytes)
    const own = distinctLines(before?.bytes)
    const sources = this.sourcesOf(path, lines)
    const much = nearest(
      path,
      lines,
      sources.filter(({ isMuch }) => isMuch),
    )
    const counts = [lineCounts(before?.bytes), ...much.map((each) => each.counts)]
    const fresh = lineCounts(after?.bytes)
    const isExplained = (line: string) =>
      (fresh.get(line) ?? 0) <= counts.reduce((sum, each) => sum + (each.get(line) ?? 0), 0)
    const others = sources.filter(
      ({ isMuch, lines: lost }) => !isMuch && [...lost].some((line) => lines.has(line) && !isExplained(line)),
    )
    const [only] = much
    if (!only && others.length === 0) return undefined
    return only && much.length === 1 && others.length === 0 && ![...own].some((line) => lines.has(line))
      ? only.path
      : ''
  }
}

/** Of files that are alike, as some of a folder that was moved are, the one with the same name, if it has all the lines. */
function nearest(path: string, lines: ReadonlySet<string>, sources: readonly LostSource[]): readonly LostSource[] {
  const named = nearestName(path, sources)
  const best = sources.find((each) => each.path === named)
  if (!best || sharedEnd(best.path, path) === 0) return sources
  const isInBest = (line: string) => !lines.has(line) || best.lines.has(line)
  return sources.every((each) => [...each.lines].every(isInBest)) ? [best] : sources
}

/** The one whose path ends most alike; undefined if two do. */
export function nearestName(path: string, all: readonly { path: string }[]): string | undefined {
  const scored = all.map((each) => ({ path: each.path, score: sharedEnd(each.path, path) }))
  const [best, next] = scored.sort((a, b) => b.score - a.score)
  return best && (!next || best.score > next.score) ? best.path : undefined
}

function sharedEnd(a: string, b: string): number {
  const [x, y] = [a.split('/').reverse(), b.split('/').reverse()]
  let same = 0
  while (same < x.length && x[same] === y[same]) same++
  return same
}
