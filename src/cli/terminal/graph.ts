/** A node of the tree to draw. */
interface GraphNode {
  id: string
  parentId: string | null
}

/** One line of the drawing; `node` is set on the line that stands for a turn. */
interface GraphLine<N> {
  lanes: string
  node?: N
}

/**
 * Draws a tree as `git log --graph` does: newest first, one lane per branch, lanes join where branches part.
 * The nodes may come in any order; children are drawn above their parents.
 */
export function drawGraph<N extends GraphNode>(nodes: N[]): GraphLine<N>[] {
  const drawn: GraphLine<N>[] = []
  /** For each lane the id of the node that it leads to. */
  let lanes: (string | null)[] = []
  for (const node of newestFirst(nodes)) {
    let lane = lanes.indexOf(node.id)
    if (lane === -1) lane = lanes.push(node.id) - 1
    for (let other = lanes.lastIndexOf(node.id); other > lane; other = lanes.lastIndexOf(node.id)) {
      drawn.push({ lanes: joinLine(lanes.length, lane, other) })
      lanes.splice(other, 1)
    }
    drawn.push({ lanes: lanes.map((_, each) => (each === lane ? '*' : '|')).join(' '), node })
    lanes[lane] = node.parentId
    if (node.parentId !== null) continue
    if (lane < lanes.length - 1) drawn.push({ lanes: closeLine(lanes.length, lane) })
    lanes = lanes.filter((_, each) => each !== lane)
  }
  return drawn
}

/** The line on which the lanes to the right of an ended one move up. */
function closeLine(count: number, ended: number): string {
  return Array.from({ length: count }, (_, lane) => (lane < ended ? '| ' : lane === ended ? ' ' : '/ '))
    .join('')
    .trimEnd()
}

/** The line on which lane `from` runs into lane `to`; lanes to the right of it move up by one. */
function joinLine(count: number, to: number, from: number): string {
  const cells: string[] = Array.from({ length: count * 2 - 1 }, (_, column) => (column % 2 === 0 ? '|' : ' '))
  for (let column = to * 2 + 1; column < from * 2 - 1; column += 1) if (column % 2 === 1) cells[column] = '_'
  for (let lane = from; lane < count; lane++) {
    cells[lane * 2] = ' '
    cells[lane * 2 - 1] = '/'
  }
  return cells.join('').trimEnd()
}

/** Newest first by the order given, except that no parent comes before its children. */
function newestFirst<N extends GraphNode>(nodes: N[]): N[] {
  const known = new Map(nodes.map((node) => [node.id, node]))
  const waiting = new Map<string, number>()
  for (const { parentId } of nodes) if (parentId !== null) waiting.set(parentId, (waiting.get(parentId) ?? 0) + 1)
  const age = new Map(nodes.map((node, index) => [node.id, index]))
  const ready = nodes.filter(({ id }) => !waiting.has(id))
  const order: N[] = []
  while (ready.length > 0) {
    ready.sort((a, b) => (age.get(a.id) ?? 0) - (age.get(b.id) ?? 0))
    const node = ready.pop() as N
    order.push(node)
    const parent = node.parentId === null ? undefined : known.get(node.parentId)
    if (!parent) continue
    const left = (waiting.get(parent.id) ?? 1) - 1
    waiting.set(parent.id, left)
    if (left === 0) ready.push(parent)
  }
  return order
}
