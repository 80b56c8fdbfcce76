import { isSignificantLine } from '../../tools/guard/shared-lines.ts'
import { type Alignment, alignedParts, alignLines, isUnchanged } from './align-lines.ts'
import { uniqueLines } from './match-lines.ts'
import { anyEqualLine, indexLines, maxEqualLines, newLine } from './possible-origins.ts'

/**
 * Aligns the lines of two contents around a command, which may have put lines in another order: a long line that occurs once in both is
 * the same line, and each other line of the places that changed may be any equal one of these. It may also be new, unless both contents
 * have the same lines.
 */
export function alignReordered(oldLines: readonly string[], newLines: readonly string[]): Alignment {
  const alignment = alignLines(oldLines, newLines)
  if (!alignment.from.includes(newLine)) return alignment
  const isPermutation = hasSameLines(oldLines, newLines)
  const moved = movedLines(oldLines, newLines, isPermutation)
  if (moved.size === 0 && !isPermutation && isHardlyKept(oldLines, alignment)) return withAllNew(alignment)
  const isReordered = isPermutation || [...moved].some(([line, place]) => alignment.from[line] !== place)
  if (!isReordered) return withLostLines(alignment, oldLines, newLines)
  const changed = alignedParts(oldLines, newLines).filter((part) => !isUnchanged(part))
  const places = changed.flatMap(({ old, oldStart }) => old.map((_, at) => oldStart + at))
  const indexes = indexLines(places.map((place) => oldLines[place] ?? ''))
  for (const { fresh, newStart } of changed)
    for (const [at, text] of fresh.entries()) {
      const line = newStart + at
      const equal = (indexes.get(text) ?? []).map((each) => places[each] ?? newLine)
      const any = equal.length > maxEqualLines ? [anyEqualLine] : equal
      const place = moved.get(line)
      const options = place !== undefined ? [place] : isPermutation ? any : [...any, newLine]
      const [likely = newLine] = options
      alignment.from[line] = options.length === 1 ? likely : (alignment.from[line] ?? newLine)
      if (options.length > 1) alignment.open.set(line, options)
      else alignment.open.delete(line)
    }
  return alignment
}

/** Fewer telling lines may be equal by chance, if they are less than this share of the old content. */
const minKept = 2
const minKeptShare = 0.25

/** Whether a content has so little of the old one that another file may have been put in its place. */
function isHardlyKept(oldLines: readonly string[], { from }: Alignment): boolean {
  const kept = from.filter((line) => line !== newLine)
  const telling = kept.filter((line) => isSignificantLine(oldLines[line] ?? ''))
  return kept.length < minKeptShare * oldLines.length && telling.length < minKept
}

function withAllNew({ from, open }: Alignment): Alignment {
  for (const [line, old] of from.entries())
    if (old !== newLine) open.set(line, [...new Set([...(open.get(line) ?? [old]), newLine])])
  return { from, open }
}

/** A new line may be an equal one that was taken away in another place. */
function withLostLines({ from, open }: Alignment, oldLines: readonly string[], newLines: readonly string[]): Alignment {
  const kept = new Set(from)
  const lost = indexLines(oldLines.map((text, line) => (kept.has(line) ? '' : text)))
  for (const [line, text] of newLines.entries()) {
    if (from[line] !== newLine || open.has(line) || text === '') continue
    const equal = lost.get(text) ?? []
    if (equal.length > 0) open.set(line, [newLine, ...(equal.length > maxEqualLines ? [anyEqualLine] : equal)])
  }
  return { from, open }
}

/** Share of unique lines that both contents must have in common for lines to count as reordered. */
const minSharedRatio = 2 / 3
/** Min length of a line that is followed to another place of its file: a shorter one may be new. */
const minMovedLetters = 16

/** Old places of the lines that occur once in both contents. */
function movedLines(
  oldLines: readonly string[],
  newLines: readonly string[],
  isPermutation: boolean,
): Map<number, number> {
  const [inOld, inNew] = [uniqueLines(oldLines, 0, oldLines.length), uniqueLines(newLines, 0, newLines.length)]
  const moved = new Map<number, number>()
  const shared = [...inNew.keys()].filter((text) => inOld.has(text)).length
  // Too little in common: a rewritten file with the same header, say.
  if (shared < minSharedRatio * Math.max(inOld.size, inNew.size)) return moved
  for (const [text, at] of inNew) {
    const place = inOld.get(text) ?? -1
    const isLong = isPermutation || text.trim().length >= minMovedLetters
    if (isLong && at >= 0 && place >= 0) moved.set(at, place)
  }
  return moved
}

function hasSameLines(oldLines: readonly string[], newLines: readonly string[]): boolean {
  return oldLines.length === newLines.length && oldLines.toSorted().join('\n') === newLines.toSorted().join('\n')
}
