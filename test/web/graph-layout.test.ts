import { describe, expect, test } from 'vitest'
import { layoutGraph, nodeSize } from '../../web/src/pages/plan/graph-layout.ts'
import { timeScale } from '../../web/src/pages/run/time-scale.ts'

/** Tasks in layers of 25, each after one or two of the layer before. */
const many = Array.from({ length: 500 }, (_, at) => {
  const before = (Math.floor(at / 25) - 1) * 25 + 1
  return { id: at + 1, dependsOn: at < 25 ? [] : [...new Set([before + ((at * 7) % 25), before + ((at * 11) % 25)])] }
})

describe('the layout of a plan', () => {
  test('puts each task to the right of all that it depends on', () => {
    const { places } = layoutGraph(many)
    for (const { id, dependsOn } of many)
      for (const before of dependsOn)
        expect(places.get(before)?.x).toBeLessThan(places.get(id)?.x ?? Number.NEGATIVE_INFINITY)
  })

  test('places no two tasks over each other', () => {
    const places = [...layoutGraph(many).places.values()]
    const layers = Map.groupBy(places, ({ x }) => x)
    for (const layer of layers.values()) {
      const tops = layer.map(({ y }) => y).sort((a, b) => a - b)
      for (const [at, top] of tops.slice(1).entries())
        expect(top - (tops[at] ?? 0)).toBeGreaterThanOrEqual(nodeSize.height)
    }
    expect(places).toHaveLength(500)
  })

  test('leads an edge over several layers from its first task to its last', () => {
    const { edges, places } = layoutGraph([
      { id: 1, dependsOn: [] },
      { id: 2, dependsOn: [1] },
      { id: 3, dependsOn: [2] },
      { id: 4, dependsOn: [1, 3] },
    ])
    const long = edges.find(({ from, to }) => from === 1 && to === 4)
    expect(long?.points[0]?.x).toBe((places.get(1)?.x ?? 0) + nodeSize.width)
    expect(long?.points.at(-1)?.x).toBe(places.get(4)?.x)
    expect(long?.points).toHaveLength(6)
  })

  test('keeps the order of tasks when one is added', () => {
    const tasks = [1, 2, 3].map((id) => ({ id, dependsOn: [] }))
    const first = layoutGraph([...tasks].reverse())
    const next = layoutGraph([...tasks, { id: 4, dependsOn: [] }], first)
    const order = [...next.places].filter(([id]) => id < 4).sort(([, a], [, b]) => a.y - b.y)
    expect(order.map(([id]) => id)).toEqual([3, 2, 1])
  })

  test('survives tasks that wait for each other', () => {
    const { places } = layoutGraph([
      { id: 1, dependsOn: [2] },
      { id: 2, dependsOn: [1] },
    ])
    expect(places.size).toBe(2)
  })
})

describe('the time of runs', () => {
  test('shows a pause of hours as short as one of half a minute', () => {
    const hours = 3 * 3_600_000
    const { breaks, place } = timeScale([0, 1000, 2000, 2000 + hours, 3000 + hours, 33_000 + hours])
    expect(breaks.map(({ from, to }) => to - from)).toEqual([hours, 30_000])
    const [first, second] = breaks
    expect((first?.end ?? 0) - (first?.start ?? 0)).toBeCloseTo((second?.end ?? 0) - (second?.start ?? 0))
    expect(place(1000)).toBeCloseTo(place(2000) / 2)
    expect([place(0), place(33_000 + hours)]).toEqual([0, 1])
  })
})
