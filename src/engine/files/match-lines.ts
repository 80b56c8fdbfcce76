import { editScript, shortestScript } from '../../tools/files/unified-diff.ts'

/** Lines as editors count them: either line ending, and none needed at the end. */
export function linesIn(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** Where all lines of a part stand together among others, if they do so exactly once. */
export function onlyPlaceOf(part: readonly string[], lines: readonly string[]): number | undefined {
  const [sought, text] = [joined(part), joined(lines)]
  const at = text.indexOf(sought)
  if (part.length === 0 || at < 0 || text.includes(sought, at + 1)) return undefined
  return text.slice(0, at).split('\n').length - 1
}

/** Whether all lines of a part stand together among others. */
export function standTogether(part: readonly string[], lines: readonly string[]): boolean {
  return joined(lines).includes(joined(part))
}

/** Each line between two line breaks. */
function joined(lines: readonly string[]): string {
  return `\n${lines.join('\n')}\n`
}

/**
 * For each new line its index among the old ones, or -1: a longest common subsequence. Texts that differ too much for that are
 * matched by the lines that occur once in each, as in a patience diff, so that a mostly rewritten text keeps its authors where it is
 * unchanged.
 */
export function matchLines(oldLines: readonly string[], newLines: readonly string[]): number[] {
  const from = new Array<number>(newLines.length).fill(-1)
  let start = 0
  while (start < oldLines.length && start < newLines.length && oldLines[start] === newLines[start])
    from[start] = start++
  let end = 0
  const shorter = Math.min(oldLines.length, newLines.length) - start
  while (end < shorter && oldLines.at(-1 - end) === newLines.at(-1 - end)) {
    end++
    from[newLines.length - end] = oldLines.length - end
  }
  const [oldEnd, newEnd] = [oldLines.length - end, newLines.length - end]
  const match = (a: LineBounds, b: LineBounds, script: typeof shortestScript) =>
    matchBetween(oldLines.slice(...a), newLines.slice(...b), script, (x, y) => {
      from[b[0] + y] = a[0] + x
    })
  if (match([start, oldEnd], [start, newEnd], shortestScript)) return from
  let [a, b] = [start, start]
  for (const [oldAt, newAt] of [...findAnchors(oldLines, newLines, start, oldEnd, newEnd), [oldEnd, newEnd] as const]) {
    match([a, oldAt], [b, newAt], editScript)
    if (newAt < newEnd) from[newAt] = oldAt
    ;[a, b] = [oldAt + 1, newAt + 1]
  }
  return from
}

/** First line of a range, and the one after its last. */
type LineBounds = [start: number, end: number]

/** Matches lines by a diff; false if the diff gave up. */
function matchBetween(
  oldLines: readonly string[],
  newLines: readonly string[],
  script: typeof shortestScript,
  onMatch: (oldLine: number, newLine: number) => void,
): boolean {
  const [a, b] = [sharedLines(newLines, oldLines), sharedLines(oldLines, newLines)]
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

/** Lines that the other text has as well, with their indexes. */
function sharedLines(others: readonly string[], lines: readonly string[]): { line: string; at: number }[] {
  const known = new Set(others)
  return lines.flatMap((line, at) => (known.has(line) ? { line, at } : []))
}

type Pair = readonly [oldLine: number, newLine: number]

/** Longest sequence of lines that occur once in each text, in the same order in both. */
function findAnchors(
  oldLines: readonly string[],
  newLines: readonly string[],
  start: number,
  oldEnd: number,
  newEnd: number,
): Pair[] {
  const [inOld, inNew] = [uniqueLines(oldLines, start, oldEnd), uniqueLines(newLines, start, newEnd)]
  const pairs: Pair[] = []
  for (const [line, at] of inNew) {
    const before = inOld.get(line)
    if (at >= 0 && before !== undefined && before >= 0) pairs.push([before, at])
  }
  return longestIncreasing(pairs)
}

/** Index of each line, in text order; -1 for one that occurs more than once. */
export function uniqueLines(lines: readonly string[], from: number, to: number): Map<string, number> {
  const found = new Map<string, number>()
  for (let at = from; at < to; at++) {
    const line = lines[at] ?? ''
    found.set(line, found.has(line) ? -1 : at)
  }
  return found
}

/** Longest subsequence of pairs, which are in the order of the new text, that is in the order of the old text, too. */
function longestIncreasing(pairs: Pair[]): Pair[] {
  // For each length, the smallest pair that a sequence of that length can end with.
  const ends: number[] = []
  const before = new Array<number>(pairs.length).fill(-1)
  for (const [at, [oldLine]] of pairs.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((pairs[ends[middle] ?? 0]?.[0] ?? 0) < oldLine) low = middle + 1
      else high = middle
    }
    before[at] = ends[low - 1] ?? -1
    ends[low] = at
  }
  const sequence: Pair[] = []
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) {
    const pair = pairs[at]
    if (pair) sequence.push(pair)
  }
  return sequence.reverse()
}
