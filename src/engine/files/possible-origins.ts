import { matchLines } from './match-lines.ts'

/** Among the origins of a line: it may be new. */
export const newLine = -1
/** Among the origins of a line: it may come from any equal line, and these are too many to list. */
export const anyEqualLine = -2

/** Max equal lines that are listed as origins of one line. */
export const maxEqualLines = 100
/** Max cells of the table of a comparison; above that every equal line is a possible origin. */
const maxCells = 1_500_000

/**
 * For each new line the old lines that it may come from, and `newLine` if it may be new: contents alone do not tell which of several
 * equal lines was kept and which one was added. An equal line at another position may have been moved. The likeliest origin is first.
 */
export function possibleOrigins(oldLines: readonly string[], newLines: readonly string[]): number[][] {
  const [inOld, inNew] = [indexLines(oldLines), indexLines(newLines)]
  const matched = matchLines(oldLines, newLines)
  let inAnyLcs: ((line: number) => number[]) | undefined
  return newLines.map((text, line) => {
    const equal = inOld.get(text) ?? []
    const from = matched[line] ?? newLine
    if (from === newLine) return equal.length > maxEqualLines ? [newLine, anyEqualLine] : [newLine, ...equal]
    if (equal.length === 1 && inNew.get(text)?.length === 1) return [from]
    inAnyLcs ??= lcsOrigins(oldLines, newLines, matched) ?? (() => [newLine, anyEqualLine])
    const all = [...new Set([from, ...inAnyLcs(line)])]
    return all.length > maxEqualLines ? [newLine, anyEqualLine] : all
  })
}

/** Indexes of each line in a text. */
export function indexLines(lines: readonly string[]): Map<string, number[]> {
  const indexes = new Map<string, number[]>()
  for (const [at, line] of lines.entries()) {
    const known = indexes.get(line)
    if (known) known.push(at)
    else indexes.set(line, [at])
  }
  return indexes
}

/**
 * Origins of a line in all longest common subsequences; undefined if the texts are too large. The table has only the diagonals that
 * such a sequence can touch: the known common subsequence bounds them.
 */
export function lcsOrigins(
  oldLines: readonly string[],
  newLines: readonly string[],
  matched: readonly number[],
): ((line: number) => number[]) | undefined {
  const { start, end } = commonEnds(oldLines, newLines)
  const [oldEnd, newEnd] = [oldLines.length - end, newLines.length - end]
  const oldShared = sharedIndexes(oldLines, newLines).filter((at) => at >= start && at < oldEnd)
  const newShared = sharedIndexes(newLines, oldLines).filter((at) => at >= start && at < newEnd)
  const [n, m] = [oldShared.length, newShared.length]
  const known = matched.filter((from, at) => from !== newLine && at >= start && at < newEnd).length
  const [removed, added] = [n - known, m - known]
  const width = removed + added + 1
  if ((n + 1) * width > maxCells) return undefined
  const isEqual = (i: number, j: number) => oldLines[oldShared[i] ?? -1] === newLines[newShared[j] ?? -1]
  const suffixLengths = new Band(n, removed, added)
  for (let i = n; i >= 0; i--)
    for (let j = Math.min(m, i + added); j >= Math.max(0, i - removed); j--) {
      if (i < n && j < m && isEqual(i, j)) suffixLengths.set(i, j, suffixLengths.get(i + 1, j + 1) + 1)
      else if (i < n || j < m)
        suffixLengths.set(i, j, Math.max(suffixLengths.get(i + 1, j), suffixLengths.get(i, j + 1)))
      else suffixLengths.set(i, j, 0)
    }
  const prefixLengths = new Band(n, removed, added)
  for (let i = 0; i <= n; i++)
    for (let j = Math.max(0, i - removed); j <= Math.min(m, i + added); j++) {
      if (i > 0 && j > 0 && isEqual(i - 1, j - 1)) prefixLengths.set(i, j, prefixLengths.get(i - 1, j - 1) + 1)
      else if (i > 0 || j > 0)
        prefixLengths.set(i, j, Math.max(prefixLengths.get(i - 1, j), prefixLengths.get(i, j - 1)))
      else prefixLengths.set(i, j, 0)
    }
  const best = suffixLengths.get(0, 0)
  const indexes = new Map(newShared.map((line, j) => [line, j]))
  return (line) => {
    const j = indexes.get(line)
    if (j === undefined) return []
    const origins: number[] = []
    let mayBeNew = false
    for (let i = Math.max(0, j - added); i <= Math.min(n, j + 1 + removed); i++) {
      if (i < n && isEqual(i, j) && prefixLengths.get(i, j) + 1 + suffixLengths.get(i + 1, j + 1) === best)
        origins.push(oldShared[i] ?? -1)
      mayBeNew ||= prefixLengths.get(i, j) + suffixLengths.get(i, j + 1) === best
    }
    return mayBeNew ? [...origins, newLine] : origins
  }
}

/**
 * Number of lines at the start and at the end of both texts that every longest common subsequence matches: those up to a line that
 * occurs once in each text. A sequence that left that line out would be shorter.
 */
function commonEnds(oldLines: readonly string[], newLines: readonly string[]): { start: number; end: number } {
  const [inOld, inNew] = [indexLines(oldLines), indexLines(newLines)]
  const isUnique = (line: string) => inOld.get(line)?.length === 1 && inNew.get(line)?.length === 1
  const shorter = Math.min(oldLines.length, newLines.length)
  let [start, end] = [0, 0]
  for (let at = 0; at < shorter && oldLines[at] === newLines[at]; at++) if (isUnique(oldLines[at] ?? '')) start = at + 1
  for (let at = 1; at <= shorter - start && oldLines.at(-at) === newLines.at(-at); at++)
    if (isUnique(oldLines.at(-at) ?? '')) end = at
  return { start, end }
}

/** Indexes of the lines that the other text has, too. */
function sharedIndexes(lines: readonly string[], others: readonly string[]): number[] {
  const known = new Set(others)
  return lines.flatMap((line, at) => (known.has(line) ? at : []))
}

/** A table of which only the diagonals around the main one are stored. */
class Band {
  readonly #cells: Int32Array
  readonly #below: number
  readonly #width: number

  constructor(rows: number, below: number, above: number) {
    this.#below = below
    this.#width = below + above + 1
    this.#cells = new Int32Array((rows + 1) * this.#width).fill(outOfBand)
  }

  get(row: number, column: number): number {
    const at = column - row + this.#below
    return at < 0 || at >= this.#width ? outOfBand : (this.#cells[row * this.#width + at] ?? outOfBand)
  }

  set(row: number, column: number, value: number): void {
    this.#cells[row * this.#width + column - row + this.#below] = value
  }
}

/** So low that no sum with it can be the longest. */
const outOfBand = -1_000_000_000
