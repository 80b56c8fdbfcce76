/** A turn's place in the drawing of the tree: newest first, as `git log --graph` draws it. */
export interface LaneRow {
  id: string
  lane: number
  /** Lanes that pass this row. */
  through: number[]
  /** Lanes of later turns that were forked from this one: they end here. */
  joins: number[]
  /** A later turn follows it in its lane. */
  hasChild: boolean
  /** An earlier turn precedes it. */
  hasParent: boolean
}

/** Further lanes are drawn as the last one. */
export const maxLanes = 14

/** Places turns in lanes, newest first. The path to `first` gets the first lane. */
export function placeInLanes(turns: readonly { id: string; parentId: string | null }[], first?: string): LaneRow[] {
  /** The turn that each lane leads to; null for a free lane. */
  const leadsTo: (string | null)[] = first === undefined ? [] : [first]
  /** Lanes that have begun: a reserved one has no line yet. */
  const begun = new Set<number>()
  return turns.map(({ id, parentId }) => {
    const arriving = leadsTo.flatMap((wanted, lane) => (wanted === id ? [lane] : []))
    const lane = arriving[0] ?? freeLane(leadsTo)
    const joins = arriving.filter((other) => other !== lane && begun.has(other))
    const hasChild = begun.has(lane)
    for (const other of arriving) {
      leadsTo[other] = null
      begun.delete(other)
    }
    leadsTo[lane] = parentId
    if (parentId !== null) begun.add(lane)
    const through = [...begun].filter((other) => other !== lane)
    return { id, lane, through, joins, hasChild, hasParent: parentId !== null }
  })
}

function freeLane(leadsTo: readonly (string | null)[]): number {
  const free = leadsTo.indexOf(null)
  return free < 0 ? leadsTo.length : free
}
