import type { TaskLine } from '../../api/wire.ts'
import type { GraphLayout } from './graph-layout.ts'

/** The task that an arrow key goes to: along an edge to the left and right, within the layer up and down. */
export function neighbourOf(
  tasks: readonly TaskLine[],
  { places }: GraphLayout,
  from: number | undefined,
  direction: string,
): number | undefined {
  const here = from === undefined ? undefined : places.get(from)
  const current = tasks.find(({ id }) => id === from)
  if (!here || !current) return tasks[0]?.id
  const candidates = (
    direction === 'Left'
      ? current.dependsOn
      : direction === 'Right'
        ? tasks.filter(({ dependsOn }) => dependsOn.includes(current.id)).map(({ id }) => id)
        : tasks.map(({ id }) => id)
  ).flatMap((id) => {
    const place = places.get(id)
    return place && id !== from ? [{ id, ...place }] : []
  })
  const fitting = candidates.filter(({ x, y }) => {
    if (direction === 'Up') return x === here.x && y < here.y
    if (direction === 'Down') return x === here.x && y > here.y
    return true
  })
  const [nearest] = fitting.toSorted((a, b) => Math.abs(a.y - here.y) - Math.abs(b.y - here.y))
  return nearest?.id ?? from
}
