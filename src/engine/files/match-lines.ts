import { editScript, shortestScript } from '../../tools/files/unified-diff.ts'

/** Lines as editors count them, with either line ending, with or without one at the end. */
export function linesIn(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/**
 * For each line of the second text, its index in the first; -1 for a new one: a longest common subsequence, as every shortest
 * difference has one. Texts that differ in too much are matched by the lines that occur once in each, as in a patience diff, so that
 * a mostly rewritten text keeps its authors where it is unchanged.
 */
export function matchLines(old: string[], fresh: string[]): number[] {
  const from = new Array<number>(fresh.length).fill(-1)
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) from[start] = start++
  let end = 0
  const shorter = Math.min(old.length, fresh.length) - start
  while (end < shorter && old.at(-1 - end) === fresh.at(-1 - end)) {
    end++
    from[fresh.length - end] = old.length - end
  }
  const [oldEnd, freshEnd] = [old.length - end, fresh.length - end]
  const match = (a: LineBounds, b: LineBounds, script: typeof shortestScript) =>
    matchBetween(old.slice(...a), fresh.slice(...b), script, (x, y) => {
      from[b[0] + y] = a[0] + x
    })
  if (match([start, oldEnd], [start, freshEnd], shortestScript)) return from
  let [a, b] = [start, start]
  for (const [oldAt, freshAt] of [...anchors(old, fresh, start, oldEnd, freshEnd), [oldEnd, freshEnd] as const]) {
    match([a, oldAt], [b, freshAt], editScript)
    if (freshAt < freshEnd) from[freshAt] = oldAt
    ;[a, b] = [oldAt + 1, freshAt + 1]
  }
  return from
}

/** Lines of a text: the first, and the one behind the last. */
type LineBounds = [start: number, end: number]

/** Matches the lines that both texts have, by a diff; false if that gave up. */
function matchBetween(
  old: string[],
  fresh: string[],
  script: typeof shortestScript,
  onMatch: (old: number, fresh: number) => void,
): boolean {
  const [a, b] = [sharedWith(fresh, old), sharedWith(old, fresh)]
  const signs = script(
    a.map(({ line }) => line),
    b.map(({ line }) => line),
  )
  let [x, y] = [0, 0]
  for (const { sign } of signs ?? []) {
    if (sign === ' ') onMatch(a[x]?.at ?? -1, b[y]?.at ?? -1)
    if (sign !== '+') x++
    if (sign !== '-') y++
  }
  return signs !== undefined
}

function sharedWith(others: string[], lines: string[]): { line: string; at: number }[] {
  const known = new Set(others)
  return lines.flatMap((line, at) => (known.has(line) ? { line, at } : []))
}

type Pair = readonly [old: number, fresh: number]

/** Longest sequence of lines that occur once in each text, in the same order in both. */
function anchors(old: string[], fresh: string[], start: number, oldEnd: number, freshEnd: number): Pair[] {
  const [inOld, inFresh] = [uniqueLines(old, start, oldEnd), uniqueLines(fresh, start, freshEnd)]
  const pairs: Pair[] = []
  for (const [line, at] of inFresh) {
    const before = inOld.get(line)
    if (at >= 0 && before !== undefined && before >= 0) pairs.push([before, at])
  }
  return longestIncreasing(pairs)
}

/** Index of each line, in text order; -1 for one that occurs more than once. */
export function uniqueLines(lines: string[], from: number, to: number): Map<string, number> {
  const found = new Map<string, number>()
  for (let at = from; at < to; at++) {
    const line = lines[at] ?? ''
    found.set(line, found.has(line) ? -1 : at)
  }
  return found
}

/** Longest increasing subsequence: pairs come in the order of the second text, and are kept in that of the first. */
function longestIncreasing(pairs: Pair[]): Pair[] {
  // For each length, the smallest pair that a sequence of that length can end with.
  const ends: number[] = []
  const before = new Array<number>(pairs.length).fill(-1)
  for (const [at, [old]] of pairs.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((pairs[ends[middle] ?? 0]?.[0] ?? 0) < old) low = middle + 1
      else high = middle
    }
    before[at] = ends[low - 1] ?? -1
    ends[low] = at
  }
  const row: Pair[] = []
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) {
    const pair = pairs[at]
    if (pair) row.push(pair)
  }
  return row.reverse()
}
