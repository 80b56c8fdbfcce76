import type { Moment, Row } from '../evidence.ts'
import { callSteps, type Expect } from '../facts.ts'

/** I3: a call begins once and ends at most once. Holds at any moment. */
export function checkSteps(moment: Moment, expect: Expect): void {
  for (const kind of ['begun', 'ended'] as const) {
    const seen = new Set<string>()
    for (const { runId, id } of callSteps(moment, kind)) {
      const call = `${runId}/${id}`
      expect(!seen.has(call), 'I3', `call ${call} has ${kind} twice`)
      seen.add(call)
    }
  }
}

/** I5: the turns of a session are a chain, and its head is the last. Holds at any moment. */
export function checkChains({ rows }: Moment, expect: Expect): void {
  for (const session of rows.sessions) {
    const chain = rows.threads.filter(({ segment_id }) => segment_id === session['segment_id'])
    chain.forEach((thread, at) => {
      expect(thread['depth'] === at + 1, 'I5', `session ${session['label']} has depth ${thread['depth']} at ${at + 1}`)
      const parent = chain[at - 1]?.['turn_id'] ?? null
      expect(thread['parent_turn_id'] === parent, 'I5', `turn ${thread['turn_id']} does not follow the one before it`)
    })
    const last = (chain.at(-1) ?? forkOf(rows, session))?.['turn_id'] ?? null
    expect(session['head_turn_id'] === last, 'I5', `the head of ${session['label']} is not its last turn`)
  }
  const placed = new Set(rows.threads.map(({ turn_id }) => turn_id))
  const areAllPlaced = rows.turns.every(({ id }) => placed.has(id ?? null))
  expect(areAllPlaced && placed.size === rows.turns.length, 'I5', 'a turn has no place, or two')
}

/** Where a session was forked that has no turn of its own. */
function forkOf({ segments, threads }: Moment['rows'], session: Row): Row | undefined {
  const segment = segments.find(({ id }) => id === session['segment_id'])
  return threads.find(
    ({ segment_id, depth }) => segment_id === segment?.['parent_id'] && depth === segment?.['fork_depth'],
  )
}
