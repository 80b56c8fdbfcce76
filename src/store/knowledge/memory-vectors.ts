import { sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'

/** An embedder whose vectors are stored. */
export interface StoredEmbedder {
  id: number
  dimensions: number
  /** Vectors of unrelated sentences: the similarity baseline. */
  baselineVectors: string[]
}

/** Vector of a memory; `seq` is in commit order. */
export interface StoredVector {
  seq: number
  memoryId: number
  vector: string
}

export async function findEmbedder(rows: Reading, name: string): Promise<StoredEmbedder | undefined> {
  const row = await rows.first(byName({ name }))
  return row && { id: row.id, dimensions: row.dimensions, baselineVectors: JSON.parse(row.yardstick) }
}

/** Id of the embedder with this name; cheap enough to call each time. */
export async function findEmbedderId(rows: Reading, name: string): Promise<number | undefined> {
  return (await rows.first(idByName({ name })))?.id
}

/** Inserts an embedder, or updates its last use; safe when two processes do it at once. */
export async function saveEmbedder(
  tx: Tx,
  { name, dimensions, baselineVectors }: { name: string } & Omit<StoredEmbedder, 'id'>,
  now: Millis,
): Promise<void> {
  await tx.run(
    tx.build
      .insertInto('embedders')
      .values({ name, dimensions, yardstick: JSON.stringify(baselineVectors), used_at: now })
      .onConflict((known) => known.column('name').doUpdateSet({ used_at: now })),
  )
}

/** Retires an embedder whose vectors have changed: its old vectors are no longer used and are removed later. */
export async function retireEmbedder(tx: Tx, id: number): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('embedders')
      .set({ name: sql<string>`name || ${` (until ${id})`}`, used_at: 0 })
      .where('id', '=', id),
  )
}

/** Removes up to `limit` vectors of embedders not used since then; returns how many. */
export async function dropUnusedVectors(tx: Tx, since: Millis, limit: number): Promise<number> {
  const unused = tx.build.selectFrom('embedders').select('id').where('used_at', '<', since)
  const some = tx.build.selectFrom('memory_vectors').select('seq').where('embedder_id', 'in', unused).limit(limit)
  const removed = await tx.run(tx.build.deleteFrom('memory_vectors').where('seq', 'in', some))
  if (removed < limit) await tx.run(tx.build.deleteFrom('embedders').where('used_at', '<', since))
  return removed
}

/** Active memories without a vector of this embedder, newest first, within an id range. */
export function memoriesWithoutVector(
  rows: Reading,
  embedderId: number,
  { above, upTo, limit }: { above: number; upTo: number; limit: number },
): Promise<{ id: number; content: string }[]> {
  return rows.all(without({ embedderId, above, upTo, limit }))
}

/**
 * Stores vectors of memories that are active and unchanged since they were embedded; returns how many. Writers for one
 * embedder are serialized, so that `seq` is in commit order.
 */
export async function saveVectors(
  tx: Tx,
  embedderId: number,
  made: readonly { memoryId: number; content: string; vector: string }[],
): Promise<number> {
  const known = tx.build.selectFrom('embedders').select('id').where('id', '=', embedderId)
  if (!(await tx.first(known.modifyEnd(tx.dialect.lockRows)))) return 0
  let saved = 0
  for (const { memoryId, content, vector } of made.toSorted((a, b) => a.memoryId - b.memoryId)) {
    const memory = tx.build
      .selectFrom('memories')
      .select('content')
      .where('id', '=', memoryId)
      .where('superseded_by', 'is', null)
      .where('forgotten_at', 'is', null)
    // Locked until COMMIT: a transaction that forgets the memory either finds the vector or is seen here.
    const row = await tx.first(memory.modifyEnd(tx.dialect.lockRows))
    if (row?.content === content) saved += await tx.run(insert({ embedderId, memoryId, vector }))
  }
  return saved
}

/** Vectors stored after a `seq`, in order. */
export async function vectorsAfter(rows: Reading, embedderId: number, seq: number, limit: number) {
  const found = await rows.all(after({ embedderId, seq, limit }))
  return found.map((row): StoredVector => ({ seq: row.seq, memoryId: row.memory_id, vector: row.vector }))
}

/** Id of the memory that exactly `newer` memories are newer than; undefined if there are not that many. */
export async function nthNewestMemoryId(rows: Reading, newer: number): Promise<number | undefined> {
  const query = rows.build.selectFrom('memories').select('id').orderBy('id', 'desc').offset(newer).limit(1)
  return (await rows.first(query))?.id
}

/** Removes the vectors of a memory that is no longer active. */
export async function dropVectors(tx: Tx, memoryId: number): Promise<void> {
  await tx.run(dropOf({ memoryId }))
}

const byName = statement((db, arg: { name: string }) =>
  db.selectFrom('embedders').select(['id', 'dimensions', 'yardstick']).where('name', '=', arg.name),
)

const idByName = statement((db, arg: { name: string }) =>
  db.selectFrom('embedders').select('id').where('name', '=', arg.name),
)

const without = statement((db, arg: { embedderId: number; above: number; upTo: number; limit: number }) =>
  raw<{ id: number; content: string }>(
    db,
    sql`SELECT id, content FROM memories
        WHERE id > ${arg.above} AND id <= ${arg.upTo} AND superseded_by IS NULL AND forgotten_at IS NULL
        AND NOT EXISTS (
          SELECT 1 FROM memory_vectors WHERE memory_id = memories.id AND embedder_id = ${arg.embedderId})
        ORDER BY id DESC LIMIT ${arg.limit}`,
  ),
)

const insert = statement((db, arg: { embedderId: number; memoryId: number; vector: string }) =>
  db
    .insertInto('memory_vectors')
    .values({ embedder_id: arg.embedderId, memory_id: arg.memoryId, vector: arg.vector })
    .onConflict((known) => known.columns(['memory_id', 'embedder_id']).doNothing()),
)

const after = statement((db, arg: { embedderId: number; seq: number; limit: number }) =>
  db
    .selectFrom('memory_vectors')
    .select(['seq', 'memory_id', 'vector'])
    .where('embedder_id', '=', arg.embedderId)
    .where('seq', '>', arg.seq)
    .orderBy('seq')
    .limit(arg.limit),
)

const dropOf = statement((db, arg: { memoryId: number }) =>
  db.deleteFrom('memory_vectors').where('memory_id', '=', arg.memoryId),
)
