import type { Millis } from '../../domain/clock.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'

/** A memory that was put into the prompt of a run. */
export interface MemoryRecall {
  memoryId: number
  rank: number
  /** Words that matched; empty for a semantic match. */
  words: string[]
}

/** Records the memories that a run was given and marks them as recently recalled. */
export async function recordMemoryRecalls(
  tx: Tx,
  runId: string,
  recalled: readonly MemoryRecall[],
  now: Millis,
): Promise<void> {
  for (const { memoryId, rank, words } of recalled) {
    await tx.run(insert({ runId, memoryId, rank, words: words.join(' ') }))
    await tx.run(tx.build.updateTable('memories').set({ recalled_at: now }).where('id', '=', memoryId))
  }
}

/** Memories that a run was given, best first. */
export async function memoryRecallsIn(rows: Reading, runId: string): Promise<MemoryRecall[]> {
  const found = await rows.all(
    rows.build.selectFrom('memory_recalls').selectAll().where('run_id', '=', runId).orderBy('rank', 'desc'),
  )
  return found.map(({ memory_id, rank, words }) => ({
    memoryId: memory_id,
    rank,
    words: words === '' ? [] : words.split(' '),
  }))
}

/** Runs that were given a memory. */
export async function runsRecallingMemory(rows: Reading, memoryId: number): Promise<string[]> {
  const found = await rows.all(
    rows.build.selectFrom('memory_recalls').select('run_id').where('memory_id', '=', memoryId).orderBy('run_id'),
  )
  return found.map(({ run_id }) => run_id)
}

/** Newest runs that were given a memory, newest first. */
export async function newestRunsRecallingMemory(rows: Reading, memoryId: number, limit: number): Promise<string[]> {
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
