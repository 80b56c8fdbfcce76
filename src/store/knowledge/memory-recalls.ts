import type { Millis } from '../../domain/clock.ts'
import { citedMemories } from '../../domain/memory.ts'
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

/** Memories that runs created, were given or searched for, and whether each was forgotten since. */
export async function memoriesOfRuns(
  rows: Reading,
  runIds: readonly string[],
): Promise<{ runId: string; memoryId: number; isForgotten: boolean }[]> {
  if (runIds.length === 0) return []
  const used: { runId: string; memoryId: number }[] = []
  for (const table of memoryTables) {
    const created = rows.build
      .selectFrom(table as 'memories')
      .select(['id', 'run_id'])
      .where('run_id', 'in', runIds)
    used.push(...(await rows.all(created)).map((row) => ({ runId: row.run_id ?? '', memoryId: row.id })))
  }
  const given = rows.build.selectFrom('memory_recalls').select(['run_id', 'memory_id']).where('run_id', 'in', runIds)
  used.push(...(await rows.all(given)).map((row) => ({ runId: row.run_id, memoryId: row.memory_id })))
  used.push(...(await memoriesQueriedIn(rows, runIds)))
  const forgotten = await forgottenOf(rows, [...new Set(used.map(({ memoryId }) => memoryId))])
  return used.map((each) => ({ ...each, isForgotten: forgotten.has(each.memoryId) }))
}

/** Both have the same columns. */
const memoryTables = ['memories', 'memories_archive'] as const

/** Memories that searches of these runs found: their journals have the answers. */
async function memoriesQueriedIn(
  rows: Reading,
  runIds: readonly string[],
): Promise<{ runId: string; memoryId: number }[]> {
  const answers = await rows.all(
    rows.build
      .selectFrom('steps')
      .select(['run_id', 'payload_json'])
      .where('run_id', 'in', runIds)
      .where('kind', '=', 'ended')
      .where('payload_json', 'like', '%[id:%'),
  )
  return answers.flatMap(({ run_id, payload_json }) => {
    const { name } = JSON.parse(payload_json) as { name: string }
    if (name !== 'memory_query' && name !== 'recall') return []
    return citedMemories(payload_json).map((memoryId) => ({ runId: run_id, memoryId }))
  })
}

async function forgottenOf(rows: Reading, ids: readonly number[]): Promise<Set<number>> {
  const found = new Set<number>()
  if (ids.length === 0) return found
  for (const table of memoryTables) {
    const query = rows.build
      .selectFrom(table as 'memories')
      .select('id')
      .where('id', 'in', ids)
    for (const { id } of await rows.all(query.where('forgotten_at', 'is not', null))) found.add(id)
  }
  return found
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
