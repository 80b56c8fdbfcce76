import { isSignificantLine } from '../../tools/guard/shared-lines.ts'
import { likelyPlace, placesOfBlock } from './block-places.ts'
import { matchLines, uniqueLines } from './match-lines.ts'
import { anyEqualLine, lcsOrigins, newLine } from './possible-origins.ts'

/** The lines of a new content in the old one, as far as both contents tell. */
export interface Alignment {
  /** For each new line the likeliest old one, or `newLine`. */
  from: number[]
  /** Possible origins of the lines that have several. */
  open: Map<number, number[]>
}

/**
 * Aligns the lines of two contents. A line that occurs once in both and stays in the order of the others is the same line. Between two of
 * these, equal lines may be the same in several ways: all count that keep as many lines as can be.
 */
export function alignLines(oldLines: readonly string[], newLines: readonly string[]): Alignment {
  const alignment: Alignment = { from: new Array<number>(newLines.length).fill(newLine), open: new Map() }
  for (const part of alignedParts(oldLines, newLines)) {
    const { from, open } = alignPart(part)
    const inOld = (line: number) => (line < 0 ? line : part.oldStart + line)
    for (const [at, line] of from.entries()) alignment.from[part.newStart + at] = inOld(line)
    for (const [at, options] of open) alignment.open.set(part.newStart + at, options.map(inOld))
  }
  return alignment
}

/** The lines between two that are the same, or two of these themselves. */
interface TextPart {
  old: readonly string[]
  fresh: readonly string[]
  oldStart: number
  newStart: number
}

/** Both contents in parts, in order: lines that are certainly the same, and the changed ones between them. */
export function alignedParts(oldLines: readonly string[], newLines: readonly string[]): TextPart[] {
  const parts: TextPart[] = []
  const add = (oldStart: number, oldEnd: number, newStart: number, newEnd: number) => {
    const [old, fresh] = [oldLines.slice(oldStart, oldEnd), newLines.slice(newStart, newEnd)]
    if (old.length + fresh.length > 0) parts.push({ old, fresh, oldStart, newStart })
  }
  let [oldNext, newNext] = [0, 0]
  for (const [oldAt, newAt] of findAnchors(oldLines, newLines)) {
    add(oldNext, oldAt, newNext, newAt)
    add(oldAt, oldAt + 1, newAt, newAt + 1)
    ;[oldNext, newNext] = [oldAt + 1, newAt + 1]
  }
  add(oldNext, oldLines.length, newNext, newLines.length)
  return parts
}

export function isUnchanged({ old, fresh }: TextPart): boolean {
  return old.length === fresh.length && old.every((line, at) => line === fresh[at])
}

function alignPart(part: TextPart): Alignment {
  const { old, fresh } = part
  if (isUnchanged(part)) return certain(fresh.map((_, line) => line))
  return blockPutIn(old, fresh) ?? blockTakenOut(old, fresh) ?? alignedInAnyWay(old, fresh)
}

function certain(from: number[]): Alignment {
  return { from, open: new Map() }
}

/** If one block of lines is new. */
function blockPutIn(old: readonly string[], fresh: readonly string[]): Alignment | undefined {
  const places = placesOfBlock(old, fresh)
  if (!places) return undefined
  const { first, last, count } = places
  const likely = likelyPlace(fresh, places)
  const place = likely ?? last
  const from = fresh.map((_, line) => (line < place ? line : line < place + count ? newLine : line - count))
  const block = fresh.slice(place, place + count).filter(isSignificantLine)
  // If the block has a line that stayed, too, the old ones may be in it, and new ones where they seem to be.
  if (first === last && block.some((text) => old.includes(text)))
    return withOptions(from, (line) => [...equalPlaces(old, fresh[line]), newLine])
  if (likely !== undefined) return certain(from)
  const isNew = (line: number) => Math.max(first, line - count + 1) <= Math.min(last, line)
  const optionsOf = (line: number) => [
    ...(line < last ? [line] : []),
    ...(line - count >= first ? [line - count] : []),
    ...(isNew(line) ? [newLine] : []),
  ]
  return withOptions(from, (line) => (line < first || line >= last + count ? [] : optionsOf(line)))
}

function equalPlaces(lines: readonly string[], text: string | undefined): number[] {
  return lines.flatMap((each, line) => (each === text ? line : []))
}

/** If one block of lines is gone. */
function blockTakenOut(old: readonly string[], fresh: readonly string[]): Alignment | undefined {
  const places = placesOfBlock(fresh, old)
  if (!places) return undefined
  const { first, last, count } = places
  const likely = likelyPlace(old, places)
  const place = likely ?? last
  const from = fresh.map((_, line) => (line < place ? line : line + count))
  if (likely !== undefined) return certain(from)
  return withOptions(from, (line) => (line < first || line >= last ? [] : [line, line + count]))
}

function alignedInAnyWay(old: readonly string[], fresh: readonly string[]): Alignment {
  const from = matchLines(old, fresh)
  if (!from.some((line) => line !== newLine)) return certain(from)
  const inAnyWay = lcsOrigins(old, fresh, from)
  const inBlock = significantBlocks(old, fresh, from)
  return withOptions(from, (line) => {
    const all = inAnyWay ? inAnyWay(line) : [newLine, anyEqualLine]
    // A "}" among new lines may be new.
    return inBlock[line] === false && !all.includes(newLine) ? [...all, newLine] : all
  })
}

/** For each matched line, whether it is in a block of such lines with a telling one, or beside a line that is certainly the same. */
function significantBlocks(old: readonly string[], fresh: readonly string[], from: readonly number[]): boolean[] {
  const inBlock: boolean[] = new Array(fresh.length).fill(true)
  for (let start = 0; start < fresh.length; ) {
    const first = from[start] ?? newLine
    let end = start + 1
    while (first !== newLine && end < fresh.length && from[end] === first + end - start) end++
    const isAtEdge = (start === 0 && first === 0) || (end === fresh.length && first + end - start === old.length)
    if (first !== newLine && !isAtEdge && !fresh.slice(start, end).some(isSignificantLine))
      inBlock.fill(false, start, end)
    start = end
  }
  return inBlock
}

function withOptions(from: number[], optionsOf: (line: number) => readonly number[]): Alignment {
  const open = new Map<number, number[]>()
  for (const [line, likely] of from.entries()) {
    const options = [...new Set([likely, ...optionsOf(line)])]
    if (options.length > 1) open.set(line, options)
  }
  return { from, open }
}

type Pair = readonly [oldLine: number, newLine: number]

/**
 * Telling lines that occur once in both contents and are part of every longest sequence of such lines that has the same order in both.
 */
function findAnchors(oldLines: readonly string[], newLines: readonly string[]): Pair[] {
  const [inOld, inNew] = [uniqueLines(oldLines, 0, oldLines.length), uniqueLines(newLines, 0, newLines.length)]
  const pairs: Pair[] = []
  for (const [line, at] of inNew) {
    const before = inOld.get(line)
    if (at >= 0 && before !== undefined && before >= 0 && isSignificantLine(line)) pairs.push([before, at])
  }
  // The order of a map is that of the first places.
  pairs.sort((a, b) => a[1] - b[1])
  const places = pairs.map(([oldLine]) => oldLine)
  const before = lengthsOfIncreasing(places)
  const after = lengthsOfIncreasing(places.toReversed().map((place) => -place)).reverse()
  const longest = Math.max(0, ...before)
  const inSome = pairs.map((_, at) => (before[at] ?? 0) + (after[at] ?? 0) - 1 === longest)
  const counts = new Map<number, number>()
  for (const [at, length] of before.entries()) if (inSome[at]) counts.set(length, (counts.get(length) ?? 0) + 1)
  return pairs.filter((_, at) => inSome[at] && counts.get(before[at] ?? 0) === 1)
}

/** For each number the length of the longest increasing sequence that ends with it. */
function lengthsOfIncreasing(numbers: readonly number[]): number[] {
  /** For each length, the smallest number that a sequence of that length can end with. */
  const ends: number[] = []
  return numbers.map((number) => {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] ?? 0) < number) low = middle + 1
      else high = middle
    }
    ends[low] = number
    return low + 1
  })
}
