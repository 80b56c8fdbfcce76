import type { Millis } from '../domain/clock.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'

/** What a run was shown of what is known. */
export interface Shown {
  memoryId: number
  rank: number
  /** Words that made it fit; none where its meaning did. */
  words: string[]
}

/** Notes what a run was shown; what was of use is new again. */
export async function noteRecalls(tx: Tx, runId: string, shown: readonly Shown[], now: Millis): Promise<void> {
  for (const { memoryId, rank, words } of shown) {
    await tx.run(insert({ runId, memoryId, rank, words: words.join(' ') }))
    await tx.run(tx.build.updateTable('memories').set({ recalled_at: now }).where('id', '=', memoryId))
  }
}

/** What a run was shown, best first. */
export async function recallsIn(rows: Reading, runId: string): Promise<Shown[]> {
  const found = await rows.all(
    rows.build.selectFrom('memory_recalls').selectAll().where('run_id', '=', runId).orderBy('rank', 'desc'),
  )
  return found.map(({ memory_id, rank, words }) => ({
    memoryId: memory_id,
    rank,
    words: words === '' ? [] : words.split(' '),
  }))
}

/** What runs kept or were shown, and what of it was forgotten since. */
export async function knownInRuns(
  rows: Reading,
  runIds: readonly string[],
): Promise<{ runId: string; memoryId: number; isForgotten: boolean }[]> {
  if (runIds.length === 0) return []
  const kept = await rows.all(
    rows.build.selectFrom('memories').select(['id', 'run_id', 'forgotten_at']).where('run_id', 'in', runIds),
  )
  const shown = await rows.all(
    rows.build
      .selectFrom('memory_recalls')
      .leftJoin('memories', 'memories.id', 'memory_recalls.memory_id')
      .select(['memory_recalls.run_id', 'memory_id', 'forgotten_at'])
      .where('memory_recalls.run_id', 'in', runIds),
  )
  return [
    ...kept.map((row) => ({ runId: row.run_id ?? '', memoryId: row.id, isForgotten: row.forgotten_at !== null })),
    ...shown.map((row) => ({ runId: row.run_id, memoryId: row.memory_id, isForgotten: row.forgotten_at !== null })),
  ]
}

/** Runs that were shown a memory. */
export async function recallsOf(rows: Reading, memoryId: number): Promise<string[]> {
  const found = await rows.all(
    rows.build.selectFrom('memory_recalls').select('run_id').where('memory_id', '=', memoryId).orderBy('run_id'),
  )
  return found.map(({ run_id }) => run_id)
}

/** The last runs that were shown a memory, newest first. */
export async function newestReminded(rows: Reading, memoryId: number, limit: number): Promise<string[]> {
  return (await rows.all(newest({ memoryId, limit }))).map(({ run_id }) => run_id)
}

const newest = statement((db, arg: { memoryId: number; limit: number }) =>
  db
    .selectFrom('memory_recalls')
    .select('run_id')
    .where('memory_id', '=', arg.memoryId)
    .orderBy('run_id', 'desc')
    .limit(arg.limit),
)

const insert = statement((db, arg: { runId: string; memoryId: number; rank: number; words: string }) =>
  db
    .insertInto('memory_recalls')
    .values({ run_id: arg.runId, memory_id: arg.memoryId, rank: arg.rank, words: arg.words })
    .onConflict((taken) => taken.columns(['run_id', 'memory_id']).doNothing()),
)
