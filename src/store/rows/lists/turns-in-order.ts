import { sql } from 'kysely'
import type { PlacedTurn, Thread } from '../../../domain/turn.ts'
import type { Reading } from '../../store.ts'
import { type PageQuery, type SessionScope, sessionConditions } from '../session-lists.ts'
import { type PlacedRow, placedFrom } from '../threads.ts'

/** A turn with the session that wrote it, and the agent that answered. */
export interface BranchTurn extends PlacedTurn {
  /** Null for turns that no session writes after any more. */
  branch: string | null
  agent: string | null
}

/** The newest turns that these sessions wrote, newest first; `after` is the id of one, and older ones follow it. */
export async function newestTurns(
  rows: Reading,
  sessions: SessionScope,
  { limit, after }: PageQuery<string>,
): Promise<BranchTurn[]> {
  const condition = sessionConditions(sessions)
  const own = rows.build.selectFrom('sessions').select('segment_id')
  let query = branchTurns(rows).limit(limit)
  if (condition) query = query.where('threads.segment_id', 'in', own.where(condition))
  if (after !== undefined) query = query.where('threads.turn_id', '<', after)
  return branchTurnsFrom(await rows.all(query))
}

/** The same of the tree that a thread belongs to. Costs one range scan per segment of the tree, however many others there are. */
export async function newestOfTree(
  rows: Reading,
  sessions: SessionScope,
  { of, limit, after }: PageQuery<string> & { of: Thread },
): Promise<BranchTurn[]> {
  const condition = sessionConditions(sessions)
  const own = rows.build.selectFrom('sessions').select('segment_id')
  let segments = rows.build.selectFrom('segments').select('id').where('id', 'in', treeSegments(of.segmentId))
  if (condition) segments = segments.where('id', 'in', own.where(condition))
  const ids: string[] = []
  for (const { id } of await rows.all(segments)) {
    let newest = rows.build.selectFrom('threads').select('turn_id').where('segment_id', '=', id)
    if (after !== undefined) newest = newest.where('turn_id', '<', after)
    ids.push(...(await rows.all(newest.orderBy('depth', 'desc').limit(limit))).map(({ turn_id }) => turn_id))
  }
  const shown = ids.sort().reverse().slice(0, limit)
  if (shown.length === 0) return []
  return branchTurnsFrom(await rows.all(branchTurns(rows).where('threads.turn_id', 'in', shown)))
}

/** Segments that have the same root as this one. */
function treeSegments(segmentId: string) {
  return sql<string>`(
    WITH RECURSIVE up (id, parent_id) AS (
      SELECT id, parent_id FROM segments WHERE id = ${segmentId}
      UNION ALL SELECT segments.id, segments.parent_id FROM segments JOIN up ON segments.id = up.parent_id
    ), down (id) AS (
      SELECT id FROM up WHERE parent_id IS NULL
      UNION ALL SELECT segments.id FROM segments JOIN down ON segments.parent_id = down.id
    )
    SELECT id FROM down)`
}

function branchTurns(rows: Reading) {
  return (
    rows.build
      .selectFrom('threads')
      .innerJoin('turns', 'turns.id', 'threads.turn_id')
      .selectAll('threads')
      .selectAll('turns')
      .select([
        sql<string | null>`(SELECT label FROM sessions WHERE sessions.segment_id = threads.segment_id LIMIT 1)`.as(
          'branch',
        ),
        sql<string | null>`(SELECT agent FROM runs WHERE runs.id = turns.run_id)`.as('agent'),
      ])
      // Ids begin with their time.
      .orderBy('threads.turn_id', 'desc')
  )
}

function branchTurnsFrom(found: object[]): BranchTurn[] {
  const all = found as (PlacedRow & Pick<BranchTurn, 'branch' | 'agent'>)[]
  return all.map(({ branch, agent, ...row }) => ({ ...placedFrom(row), branch, agent }))
}

/** What the runs of turns say of them. */
interface RunOfTurn {
  agent: string | null
  /** First run of its request. */
  rootRunId: string
  /** Why the request was stopped. */
  stopReason: string | null
}

/** These runs, by their ids. */
export async function runFactsOfTurns(rows: Reading, ids: readonly string[]): Promise<Map<string, RunOfTurn>> {
  if (ids.length === 0) return new Map()
  const query = rows.build
    .selectFrom('runs')
    .innerJoin('runs as root', 'root.id', 'runs.root_run_id')
    .select(['runs.id', 'runs.agent', 'root.id as rootRunId', 'root.cancel_reason as stopReason'])
    .where('runs.id', 'in', ids)
  return new Map((await rows.all(query)).map(({ id, ...run }) => [id, run]))
}

/** Labels of the sessions whose heads are among these turns, as far as the reader may know of them. */
export async function labelsAtHeads(
  rows: Reading,
  turnIds: readonly string[],
  filter: SessionScope,
): Promise<Map<string, string[]>> {
  if (turnIds.length === 0) return new Map()
  const condition = sessionConditions(filter)
  let query = rows.build.selectFrom('sessions').select(['head_turn_id', 'label']).orderBy('label')
  query = query.where('head_turn_id', 'in', turnIds)
  const found = await rows.all(condition ? query.where(condition) : query)
  const byHead = Map.groupBy(found, (row) => row.head_turn_id ?? '')
  return new Map([...byHead].map(([id, sessions]) => [id, sessions.map(({ label }) => label)]))
}
