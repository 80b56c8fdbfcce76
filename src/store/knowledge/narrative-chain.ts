import { statement } from '../statement.ts'
import type { Reading } from '../store.ts'

/** Max narratives searched for citations of a memory, from the first one on. */
const maxSearched = 2000

/** Narratives that continue this one, oldest first. */
export async function narrativesAfter(rows: Reading, id: number): Promise<number[]> {
  return numbers(await rows.all(after({ id })))
}

/** Narratives that a run wrote, oldest first. */
export async function narrativesBy(rows: Reading, runId: string): Promise<number[]> {
  return numbers(await rows.all(by({ runId })))
}

/** Narratives that end with this turn, oldest first. */
export async function narrativesOfTurn(rows: Reading, turnId: string): Promise<number[]> {
  return numbers(await rows.all(ofTurn({ turnId })))
}

/** Runs that were given this narrative, newest first. */
export async function newestRunsRecallingNarrative(rows: Reading, id: number, limit: number): Promise<string[]> {
  return (await rows.all(recalledBy({ id, limit }))).map(({ run_id }) => run_id)
}

/** Newest narratives of all folders. */
export async function newestNarratives(rows: Reading, limit: number): Promise<number[]> {
  return numbers(await rows.all(newest({ limit })))
}

/**
 * Narratives that cite a memory, oldest first. The memory records the first of them; only a bounded number after it is
 * searched.
 */
export async function narrativesCitingSince(rows: Reading, memoryId: number, first: number | null): Promise<number[]> {
  if (first === null) return []
  const likely = await rows.all(citing({ from: first, to: first + maxSearched, like: `%${memoryId}%` }))
  return numbers(likely.filter(({ memory_ids }) => JSON.parse(memory_ids).includes(memoryId)))
}

/** Current state of a cited memory. */
interface MemoryState {
  content: string
  supersededBy: number | null
  isForgotten: boolean
  isArchived: boolean
}

/** States of the memories that exist. */
export async function memoryStatesOf(rows: Reading, ids: readonly number[]): Promise<Map<number, MemoryState>> {
  if (ids.length === 0) return new Map()
  const columns = ['id', 'content', 'superseded_by', 'forgotten_at'] as const
  const active = await rows.all(rows.build.selectFrom('memories').select(columns).where('id', 'in', ids))
  const archived = await rows.all(rows.build.selectFrom('memories_archive').select(columns).where('id', 'in', ids))
  const stateOf = (row: (typeof active)[number], isArchived: boolean): [number, MemoryState] => [
    row.id,
    { content: row.content, supersededBy: row.superseded_by, isForgotten: row.forgotten_at !== null, isArchived },
  ]
  return new Map([...active.map((row) => stateOf(row, false)), ...archived.map((row) => stateOf(row, true))])
}

function numbers(rows: { id: number }[]): number[] {
  return rows.map(({ id }) => id)
}

const after = statement((db, arg: { id: number }) =>
  db.selectFrom('narratives').select('id').where('previous_narrative_id', '=', arg.id).orderBy('id'),
)

const by = statement((db, arg: { runId: string }) =>
  db.selectFrom('narratives').select('id').where('run_id', '=', arg.runId).orderBy('id'),
)

const ofTurn = statement((db, arg: { turnId: string }) =>
  db.selectFrom('narratives').select('id').where('turn_id', '=', arg.turnId).orderBy('id'),
)

const recalledBy = statement((db, arg: { id: number; limit: number }) =>
  db
    .selectFrom('narrative_recalls')
    .select('run_id')
    .where('narrative_id', '=', arg.id)
    .orderBy('run_id', 'desc')
    .limit(arg.limit),
)

const newest = statement((db, arg: { limit: number }) =>
  db.selectFrom('narratives').select('id').orderBy('id', 'desc').limit(arg.limit),
)

const citing = statement((db, arg: { from: number; to: number; like: string }) =>
  db
    .selectFrom('narratives')
    .select(['id', 'memory_ids'])
    .where('id', '>=', arg.from)
    .where('id', '<', arg.to)
    .where('memory_ids', 'like', arg.like)
    .orderBy('id'),
)
