import { type LineMap, lineBefore } from '../files/line-map.ts'
import { anyEqualLine, indexLines, maxEqualLines, newLine } from './possible-origins.ts'

/**
 * Possible origins of lines that a command reordered: an unmapped line may come from any unmatched equal line. It may also be new,
 * unless the content has exactly the lines that it had before. Undefined if the order has not changed.
 */
export function reorderedOrigins(oldLines: string[], newLines: string[], map: LineMap): number[][] | undefined {
  const isPermutation = hasSameLines(oldLines, newLines)
  if (!isPermutation && !map.some(({ from }, at) => from < (map[at - 1]?.from ?? 0))) return undefined
  const before = newLines.map((_, line) => lineBefore(map, line))
  const mapped = new Set(before)
  const indexes = indexLines(oldLines)
  return newLines.map((text, line) => {
    const from = before[line]
    if (from !== undefined) return [from]
    const unmapped = (indexes.get(text) ?? []).filter((each) => !mapped.has(each))
    if (unmapped.length > maxEqualLines) return [newLine, anyEqualLine]
    return isPermutation ? unmapped : [newLine, ...unmapped]
  })
}

function hasSameLines(oldLines: readonly string[], newLines: readonly string[]): boolean {
  return oldLines.length === newLines.length && oldLines.toSorted().join('\n') === newLines.toSorted().join('\n')
}
