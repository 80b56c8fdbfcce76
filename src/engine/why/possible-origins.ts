import { matchLines } from '../files/match-lines.ts'

/** Stands among the origins of a line that may be new. */
export const isNew = -1
/** Stands among the origins of a line that may be any of the equal ones, which are too many. */
export const isAny = -2

/** Max equal lines that are listed for one line. */
export const maxEqual = 100
/** Max cells of the table of a comparison; above it every equal line comes into question. */
const maxCells = 1_500_000

/**
 * For each line of the second text the lines of the first one that it may be, and -1 if it may be new: contents alone do not
 * tell which of several equal lines stayed and which one was added. A line that was there and is no longer in order may have been
 * moved. The first origin is the likeliest.
 */
export function possibleOrigins(old: string[], fresh: string[]): number[][] {
  const [inOld, inFresh] = [placesOf(old), placesOf(fresh)]
  const matched = matchLines(old, fresh)
  let shortest: ((line: number) => number[]) | undefined
  return fresh.map((text, line) => {
    const equal = inOld.get(text) ?? []
    const from = matched[line] ?? isNew
    if (from === isNew) return equal.length > maxEqual ? [isNew, isAny] : [isNew, ...equal]
    if (equal.length === 1 && inFresh.get(text)?.length === 1) return [from]
    shortest ??= shortestOrigins(old, fresh, matched) ?? (() => [isNew, isAny])
    const all = [...new Set([from, ...shortest(line)])]
    return all.length > maxEqual ? [isNew, isAny] : all
  })
}

/** Where each line of a text stands. */
export function placesOf(lines: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>()
  for (const [at, line] of lines.entries()) {
    const known = places.get(line)
    if (known) known.push(at)
    else places.set(line, [at])
  }
  return places
}

/**
 * The origins that a line has in any longest common subsequence; undefined if the texts are too large. The table has only the
 * diagonals that such a sequence can touch, which a common subsequence bounds that is known already.
 */
function shortestOrigins(
  oldLines: readonly string[],
  freshLines: readonly string[],
  matched: readonly number[],
): ((line: number) => number[]) | undefined {
  const { start, end } = changedPart(oldLines, freshLines)
  const [oldEnd, freshEnd] = [oldLines.length - end, freshLines.length - end]
  const old = sharedPlaces(oldLines, freshLines).filter((at) => at >= start && at < oldEnd)
  const fresh = sharedPlaces(freshLines, oldLines).filter((at) => at >= start && at < freshEnd)
  const [n, m] = [old.length, fresh.length]
  const known = matched.filter((from, at) => from !== isNew && at >= start && at < freshEnd).length
  const [removed, added] = [n - known, m - known]
  const width = removed + added + 1
  if ((n + 1) * width > maxCells) return undefined
  const isEqual = (i: number, j: number) => oldLines[old[i] ?? -1] === freshLines[fresh[j] ?? -1]
  const ahead = new Band(n, removed, added)
  for (let i = n; i >= 0; i--)
    for (let j = Math.min(m, i + added); j >= Math.max(0, i - removed); j--) {
      if (i < n && j < m && isEqual(i, j)) ahead.set(i, j, ahead.get(i + 1, j + 1) + 1)
      else if (i < n || j < m) ahead.set(i, j, Math.max(ahead.get(i + 1, j), ahead.get(i, j + 1)))
      else ahead.set(i, j, 0)
    }
  const behind = new Band(n, removed, added)
  for (let i = 0; i <= n; i++)
    for (let j = Math.max(0, i - removed); j <= Math.min(m, i + added); j++) {
      if (i > 0 && j > 0 && isEqual(i - 1, j - 1)) behind.set(i, j, behind.get(i - 1, j - 1) + 1)
      else if (i > 0 || j > 0) behind.set(i, j, Math.max(behind.get(i - 1, j), behind.get(i, j - 1)))
      else behind.set(i, j, 0)
    }
  const best = ahead.get(0, 0)
  const indexes = new Map(fresh.map((line, j) => [line, j]))
  return (line) => {
    const j = indexes.get(line)
    if (j === undefined) return []
    const origins: number[] = []
    let mayBeNew = false
    for (let i = Math.max(0, j - added); i <= Math.min(n, j + 1 + removed); i++) {
      if (i < n && isEqual(i, j) && behind.get(i, j) + 1 + ahead.get(i + 1, j + 1) === best) origins.push(old[i] ?? -1)
      mayBeNew ||= behind.get(i, j) + ahead.get(i, j + 1) === best
    }
    return mayBeNew ? [...origins, isNew] : origins
  }
}

/**
 * How many lines at the start and at the end of both texts are the same in every longest common subsequence: those up to a line that
 * occurs once in each text. Another sequence would leave that line out and could take no more of the others than these do.
 */
function changedPart(old: readonly string[], fresh: readonly string[]): { start: number; end: number } {
  const [inOld, inFresh] = [placesOf(old), placesOf(fresh)]
  const isOnce = (line: string) => inOld.get(line)?.length === 1 && inFresh.get(line)?.length === 1
  const shorter = Math.min(old.length, fresh.length)
  let [start, end] = [0, 0]
  for (let at = 0; at < shorter && old[at] === fresh[at]; at++) if (isOnce(old[at] ?? '')) start = at + 1
  for (let at = 1; at <= shorter - start && old.at(-at) === fresh.at(-at); at++) if (isOnce(old.at(-at) ?? '')) end = at
  return { start, end }
}

/** Places of the lines that the other text has, too. */
function sharedPlaces(lines: readonly string[], others: readonly string[]): number[] {
  const known = new Set(others)
  return lines.flatMap((line, at) => (known.has(line) ? at : []))
}

/** The diagonals of a table around its main one. */
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

/** Less than any sum of lengths can make good. */
const outOfBand = -1_000_000_000
