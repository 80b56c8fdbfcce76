import { sql } from 'kysely'
import type { Millis } from '../domain/clock.ts'
import { raw } from './raw.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'

/** Someone whose vectors are kept. */
export interface KeptEmbedder {
  id: number
  dimensions: number
  /** Vectors of sentences that have nothing to do with anything here. */
  yardstick: string[]
}

/** A memory's vector in the order in which they were committed. */
export interface KeptVector {
  seq: number
  memoryId: number
  vector: string
}

export async function findEmbedder(rows: Reading, name: string): Promise<KeptEmbedder | undefined> {
  const row = await rows.first(byName({ name }))
  return row && { id: row.id, dimensions: row.dimensions, yardstick: JSON.parse(row.yardstick) }
}

/** Which one has this name now; cheap enough to be asked each time. */
export async function embedderNamed(rows: Reading, name: string): Promise<number | undefined> {
  return (await rows.first(idByName({ name })))?.id
}

/** Notes that somebody's vectors are in use; of two processes that meet it at the same time, one writes it down. */
export async function keepEmbedder(
  tx: Tx,
  { name, dimensions, yardstick }: { name: string } & Omit<KeptEmbedder, 'id'>,
  now: Millis,
): Promise<void> {
  await tx.run(
    tx.build
      .insertInto('embedders')
      .values({ name, dimensions, yardstick: JSON.stringify(yardstick), used_at: now })
      .onConflict((known) => known.column('name').doUpdateSet({ used_at: now })),
  )
}

/** Under its name somebody gives other vectors now: what it gave before is nobody's, and removed in time. */
export async function retireEmbedder(tx: Tx, id: number): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('embedders')
      .set({ name: sql<string>`name || ${` (until ${id})`}`, used_at: 0 })
      .where('id', '=', id),
  )
}

/** Removes vectors that nobody has used since, so many at a time. Answers how many. */
export async function dropUnused(tx: Tx, since: Millis, most: number): Promise<number> {
  const unused = tx.build.selectFrom('embedders').select('id').where('used_at', '<', since)
  const some = tx.build.selectFrom('memory_vectors').select('seq').where('embedder_id', 'in', unused).limit(most)
  const gone = await tx.run(tx.build.deleteFrom('memory_vectors').where('seq', 'in', some))
  if (gone < most) await tx.run(tx.build.deleteFrom('embedders').where('used_at', '<', since))
  return gone
}

/** Those that count and have no vector of this embedder, newest first, above one number and up to another. */
export function memoriesWithout(
  rows: Reading,
  embedderId: number,
  { above, upTo, limit }: { above: number; upTo: number; limit: number },
): Promise<{ id: number; content: string }[]> {
  return rows.all(without({ embedderId, above, upTo, limit }))
}

/**
 * Keeps vectors of memories that count and still say what was asked for: they may have been forgotten meanwhile. Whoever
 * writes for one embedder waits for the others, so that numbers are in the order of commits. Answers how many.
 */
export async function keepVectors(
  tx: Tx,
  embedderId: number,
  made: readonly { memoryId: number; content: string; vector: string }[],
): Promise<number> {
  const known = tx.build.selectFrom('embedders').select('id').where('id', '=', embedderId)
  if (!(await tx.first(known.modifyEnd(tx.dialect.lockRows)))) return 0
  let kept = 0
  for (const { memoryId, content, vector } of made.toSorted((a, b) => a.memoryId - b.memoryId)) {
    const memory = tx.build
      .selectFrom('memories')
      .select('content')
      .where('id', '=', memoryId)
      .where('superseded_by', 'is', null)
      .where('forgotten_at', 'is', null)
    // Held until the end: who forgets it after this finds the vector, and who did so before is seen.
    const row = await tx.first(memory.modifyEnd(tx.dialect.lockRows))
    if (row?.content === content) kept += await tx.run(insert({ embedderId, memoryId, vector }))
  }
  return kept
}

/** What was kept after a number, in order. */
export async function vectorsAfter(rows: Reading, embedderId: number, seq: number, limit: number) {
  const found = await rows.all(after({ embedderId, seq, limit }))
  return found.map((row): KeptVector => ({ seq: row.seq, memoryId: row.memory_id, vector: row.vector }))
}

/** So many memories are newer than the one with this number; undefined while there are not so many. */
export async function memoryBefore(rows: Reading, newer: number): Promise<number | undefined> {
  const query = rows.build.selectFrom('memories').select('id').orderBy('id', 'desc').offset(newer).limit(1)
  return (await rows.first(query))?.id
}

/** What no longer counts is not found by its meaning either. */
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
