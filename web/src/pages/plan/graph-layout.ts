/** A task with the tasks that must be done before it. */
interface GraphNode {
  id: number
  dependsOn: readonly number[]
}

export interface Point {
  x: number
  y: number
}

/** An edge with the points that it passes, from the right of one task to the left of the other. */
interface GraphEdge {
  from: number
  to: number
  points: Point[]
}

export interface GraphLayout {
  /** Upper left corner of each task. */
  places: Map<number, Point>
  edges: GraphEdge[]
  width: number
  height: number
}

export const nodeSize = { width: 190, height: 62 } as const
const gap = { x: 64, y: 18 } as const
const sweeps = 8

/** A task, or the place in a layer that an edge over several layers passes. */
interface Cell {
  /** Undefined for such a place. */
  id: number | undefined
  before: Cell[]
  after: Cell[]
  order: number
  y: number
}

/**
 * Places tasks in layers from left to right: each one layer after the last of those that it depends on. Within a layer,
 * tasks are sorted by the places of their neighbours. `previous` is an earlier layout, whose order is kept where
 * possible, so that a plan that grows does not jump.
 */
export function layoutGraph(nodes: readonly GraphNode[], previous?: GraphLayout): GraphLayout {
  const { layers, cells } = cellsOf(nodes, layersOf(nodes))
  for (const layer of layers) sortLayer(layer, (cell) => previous?.places.get(cell.id ?? -1)?.y ?? cell.order)
  for (let sweep = 0; sweep < sweeps; sweep++) {
    if (sweep % 2 === 0) for (const layer of layers) sortLayer(layer, (cell) => meanOrder(cell, cell.before))
    else for (const layer of layers.toReversed()) sortLayer(layer, (cell) => meanOrder(cell, cell.after))
  }
  placeCells(layers)
  return collect(nodes, layers, cells)
}

/** Layer of each task. Tasks of a cycle, which the engine does not make, stand in the first layer. */
function layersOf(nodes: readonly GraphNode[]): Map<number, number> {
  const known = new Set(nodes.map(({ id }) => id))
  const layers = new Map(nodes.map(({ id }) => [id, 0]))
  const missing = new Map(nodes.map(({ id, dependsOn }) => [id, dependsOn.filter((each) => known.has(each)).length]))
  const after = new Map<number, number[]>()
  for (const { id, dependsOn } of nodes) for (const from of dependsOn) after.set(from, [...(after.get(from) ?? []), id])
  const ready = nodes.filter(({ id }) => missing.get(id) === 0).map(({ id }) => id)
  // Grows while it is read.
  for (const id of ready)
    for (const next of after.get(id) ?? []) {
      layers.set(next, Math.max(layers.get(next) ?? 0, (layers.get(id) ?? 0) + 1))
      const left = (missing.get(next) ?? 1) - 1
      missing.set(next, left)
      if (left === 0) ready.push(next)
    }
  return layers
}

function cellsOf(nodes: readonly GraphNode[], layerOf: Map<number, number>) {
  const layers: Cell[][] = []
  const cells = new Map<number, Cell>()
  const add = (layer: number, id: number | undefined) => {
    layers[layer] ??= []
    const cell: Cell = { id, before: [], after: [], order: layers[layer].length, y: 0 }
    layers[layer].push(cell)
    return cell
  }
  for (const { id } of nodes) cells.set(id, add(layerOf.get(id) ?? 0, id))
  for (const { id, dependsOn } of nodes)
    for (const from of dependsOn) {
      const [start, end] = [cells.get(from), cells.get(id)]
      if (!start || !end) continue
      let last = start
      for (let layer = (layerOf.get(from) ?? 0) + 1; layer < (layerOf.get(id) ?? 0); layer++) {
        const passed = add(layer, undefined)
        join(last, passed)
        last = passed
      }
      join(last, end)
    }
  return { layers, cells }
}

function join(from: Cell, to: Cell): void {
  from.after.push(to)
  to.before.push(from)
}

function sortLayer(layer: Cell[], key: (cell: Cell) => number): void {
  const keys = new Map(layer.map((cell) => [cell, key(cell)]))
  layer.sort((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0) || a.order - b.order)
  for (const [order, cell] of layer.entries()) cell.order = order
}

function meanOrder(cell: Cell, neighbours: readonly Cell[]): number {
  return neighbours.length === 0 ? cell.order : mean(neighbours.map(({ order }) => order))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Draws each cell towards the middle of its neighbours without changing the order of a layer. */
function placeCells(layers: Cell[][]): void {
  const step = (cell: Cell) => (cell.id === undefined ? gap.y : nodeSize.height + gap.y)
  for (const layer of layers) {
    let y = 0
    for (const cell of layer) {
      cell.y = y
      y += step(cell)
    }
    for (const cell of layer) cell.y -= y / 2
  }
  for (let sweep = 0; sweep < sweeps; sweep++)
    for (const layer of sweep % 2 === 0 ? layers : layers.toReversed()) {
      const wanted = layer.map((cell) => {
        const around = sweep % 2 === 0 ? cell.before : cell.after
        return around.length === 0 ? cell.y : mean(around.map(({ y }) => y))
      })
      spread(layer, wanted, step)
    }
}

/** Places a layer as near as possible to where each cell should be: neighbours that would overlap move as one block. */
function spread(layer: Cell[], wanted: readonly number[], step: (cell: Cell) => number): void {
  interface Block {
    sum: number
    count: number
    height: number
    cells: Cell[]
  }
  const blocks: Block[] = []
  for (const [at, cell] of layer.entries()) {
    let block: Block = { sum: wanted[at] ?? 0, count: 1, height: step(cell), cells: [cell] }
    for (let above = blocks.at(-1); above && top(above) + above.height > top(block); above = blocks.at(-1)) {
      blocks.pop()
      block = {
        sum: above.sum + block.sum - above.height * block.count,
        count: above.count + block.count,
        height: above.height + block.height,
        cells: [...above.cells, ...block.cells],
      }
    }
    blocks.push(block)
  }
  for (const block of blocks) {
    let y = top(block)
    for (const cell of block.cells) {
      cell.y = y
      y += step(cell)
    }
  }

  function top({ sum, count }: Block): number {
    return sum / count
  }
}

function collect(nodes: readonly GraphNode[], layers: Cell[][], cells: Map<number, Cell>): GraphLayout {
  const all = layers.flat()
  const least = Math.min(0, ...all.map(({ y }) => y))
  const most = Math.max(0, ...all.map(({ id, y }) => y + (id === undefined ? 0 : nodeSize.height)))
  const layerOf = new Map(layers.flatMap((layer, at) => layer.map((cell) => [cell, at] as const)))
  const left = (cell: Cell) => (layerOf.get(cell) ?? 0) * (nodeSize.width + gap.x)
  const place = (cell: Cell) => ({ x: left(cell), y: cell.y - least })
  const places = new Map([...cells].map(([id, cell]) => [id, place(cell)]))
  const edges = nodes.flatMap(({ id }) => {
    const cell = cells.get(id)
    return (cell?.before ?? []).map((last) => edgeTo(id, cell as Cell, last, place))
  })
  return {
    places,
    edges,
    width: layers.length * (nodeSize.width + gap.x) - gap.x,
    height: most - least,
  }
}

/** Walks back over the places that an edge passes to the task that it begins at. */
function edgeTo(to: number, cell: Cell, last: Cell, place: (cell: Cell) => Point): GraphEdge {
  const end = place(cell)
  const points = [{ x: end.x, y: end.y + nodeSize.height / 2 }]
  let at = last
  for (let passed = place(at); at.id === undefined; passed = place(at)) {
    points.unshift({ x: passed.x, y: passed.y }, { x: passed.x + nodeSize.width, y: passed.y })
    const [before] = at.before
    if (!before) break
    at = before
  }
  const start = place(at)
  points.unshift({ x: start.x + nodeSize.width, y: start.y + nodeSize.height / 2 })
  return { from: at.id ?? to, to, points }
}
