import type { TaskLine } from '../domain/plan-views.ts'

/** Tasks in the order in which they can be done: each layer needs nothing but the layers before it. */
export function layersOf(tasks: readonly TaskLine[]): TaskLine[][] {
  const layers: TaskLine[][] = []
  // A task that is not in the plan any more holds up nobody.
  let left = [...tasks]
  while (left.length > 0) {
    const waiting = new Set(left.map(({ id }) => id))
    const layer = left.filter(({ dependsOn }) => !dependsOn.some((needed) => waiting.has(needed)))
    // Tasks that wait for each other cannot be ordered, and are shown all the same.
    layers.push(layer.length > 0 ? layer : left)
    left = layer.length > 0 ? left.filter((task) => !layer.includes(task)) : []
  }
  return layers
}

/** `after 1, 2, 5–9`: long rows of neighbours are told by their ends. */
export function afterWords(ids: readonly number[]): string {
  if (ids.length === 0) return ''
  const rows: [first: number, last: number][] = []
  for (const id of ids.toSorted((a, b) => a - b)) {
    const row = rows.at(-1)
    if (row && row[1] === id - 1) row[1] = id
    else rows.push([id, id])
  }
  const words = rows.flatMap(([first, last]) =>
    last - first < 3 ? Array.from({ length: last - first + 1 }, (_, n) => `${first + n}`) : [`${first}–${last}`],
  )
  return `after ${words.join(', ')}`
}
