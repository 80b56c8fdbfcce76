import { type LineMap, lineBefore } from '../files/line-map.ts'
import { isAny, isNew, maxEqual, placesOf } from './possible-origins.ts'

/**
 * What the lines of a content may be that a command put in another order: a line that its map does not follow may be each equal one
 * that was left over. It may be new as well, unless the content has exactly the lines that it had. Undefined if the order has not changed.
 */
export function reorderedOrigins(old: string[], fresh: string[], map: LineMap): number[][] | undefined {
  const isPermuted = hasSameLines(old, fresh)
  if (!isPermuted && !map.some(({ from }, at) => from < (map[at - 1]?.from ?? 0))) return undefined
  const before = fresh.map((_, line) => lineBefore(map, line))
  const followed = new Set(before)
  const places = placesOf(old)
  return fresh.map((text, line) => {
    const from = before[line]
    if (from !== undefined) return [from]
    const left = (places.get(text) ?? []).filter((each) => !followed.has(each))
    if (left.length > maxEqual) return [isNew, isAny]
    return isPermuted ? left : [isNew, ...left]
  })
}

function hasSameLines(old: readonly string[], fresh: readonly string[]): boolean {
  return old.length === fresh.length && old.toSorted().join('\n') === fresh.toSorted().join('\n')
}
