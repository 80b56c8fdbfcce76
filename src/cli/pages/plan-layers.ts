import type { TaskLine } from '../../api/views/plan.ts'

/** Tasks in dependency order: each layer depends only on the layers before it. */
export function layersOf(tasks: readonly TaskLine[]): TaskLine[][] {
  const layers: TaskLine[][] = []
  // Dependencies that are no longer in the plan are ignored.
  let left = [...tasks]
  while (left.length > 0) {
    const waiting = new Set(left.map(({ id }) => id))
    const layer = left.filter(({ dependsOn }) => !dependsOn.some((needed) => waiting.has(needed)))
    // Tasks in a cycle cannot be ordered; they are shown as one layer.
    layers.push(layer.length > 0 ? layer : left)
    left = layer.length > 0 ? left.filter((task) => !layer.includes(task)) : []
  }
  return layers
}

/** `after 1, 2, 5–9`: long ranges are shortened. */
export function formatDependencies(ids: readonly number[]): string {
  if (ids.length === 0) return ''
  const ranges: [first: number, last: number][] = []
  for (const id of ids.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1)
    if (range && range[1] === id - 1) range[1] = id
    else ranges.push([id, id])
  }
  const words = ranges.flatMap(([first, last]) =>
    last - first < 3 ? Array.from({ length: last - first + 1 }, (_, n) => `${first + n}`) : [`${first}–${last}`],
  )
  return `after ${words.join(', ')}`
}
