import { statement } from './statement.ts'
import type { Reading } from './store.ts'

/** So many narratives from the first that cites a memory on are looked through for others that do. */
const lookedThrough = 2000

/** Narratives that go on from this one, oldest first. */
export async function narrativesAfter(rows: Reading, id: number): Promise<number[]> {
  return numbers(await rows.all(after({ id })))
}

/** Narratives that a run wrote, oldest first. */
export async function narrativesBy(rows: Reading, runId: string): Promise<number[]> {
  return numbers(await rows.all(by({ runId })))
}

/** Narratives that tell of what was said up to a turn, oldest first. */
export async function narrativesOfTurn(rows: Reading, turnId: string): Promise<number[]> {
  return numbers(await rows.all(ofTurn({ turnId })))
}

/** Runs that began with it, the newest first, a bounded number. */
export async function newestBegunWith(rows: Reading, id: number, limit: number): Promise<string[]> {
  return (await rows.all(begun({ id, limit }))).map(({ run_id }) => run_id)
}

/** The newest there are, of every folder. */
export async function newestNarratives(rows: Reading, limit: number): Promise<number[]> {
  return numbers(await rows.all(newest({ limit })))
}

/**
 * Narratives that cite a memory, oldest first. A memory knows the first of them: only those soon after it are looked
 * through, whatever their number.
 */
export async function citingFrom(rows: Reading, memoryId: number, first: number | null): Promise<number[]> {
  if (first === null) return []
  const likely = await rows.all(citing({ from: first, to: first + lookedThrough, like: `%${memoryId}%` }))
  return numbers(likely.filter(({ memory_ids }) => JSON.parse(memory_ids).includes(memoryId)))
}

/** What became of a memory that something rests on. */
export interface Fate {
  content: string
  supersededBy: number | null
  isForgotten: boolean
  isArchived: boolean
}

/** Of those that there are. */
export async function fatesOf(rows: Reading, ids: readonly number[]): Promise<Map<number, Fate>> {
  if (ids.length === 0) return new Map()
  const columns = ['id', 'content', 'superseded_by', 'forgotten_at'] as const
  const here = await rows.all(rows.build.selectFrom('memories').select(columns).where('id', 'in', ids))
  const away = await rows.all(rows.build.selectFrom('memories_archive').select(columns).where('id', 'in', ids))
  const fate = (row: (typeof here)[number], isArchived: boolean): [number, Fate] => [
    row.id,
    { content: row.content, supersededBy: row.superseded_by, isForgotten: row.forgotten_at !== null, isArchived },
  ]
  return new Map([...here.map((row) => fate(row, false)), ...away.map((row) => fate(row, true))])
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

const begun = statement((db, arg: { id: number; limit: number }) =>
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
