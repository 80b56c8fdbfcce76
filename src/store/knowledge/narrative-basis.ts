import { sql } from 'kysely'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import { chunksOf } from './chunks.ts'

/** What one narrative rests on besides earlier narratives. */
interface NarrativeBasis {
  id: number
  memoryIds: number[]
  /** The run that wrote it: what it kept or was reminded of may be in the text. */
  runId: string | null
}

/**
 * A narrative and all that it may repeat: those that it continues and those that its run began with, over any number of
 * steps.
 */
export async function narrativeBasis(rows: Reading, id: number): Promise<NarrativeBasis[]> {
  const found = await rows.all(basis({ id }))
  return found.map((row) => ({ id: Number(row.id), memoryIds: JSON.parse(row.memory_ids), runId: row.run_id }))
}

/**
 * Whether one of these memories was forgotten or one that replaced it, which whoever is told of it learns, or one that these
 * runs kept or were reminded of.
 */
export async function isAnyForgotten(
  rows: Reading,
  citedIds: readonly number[],
  runIds: readonly string[],
): Promise<boolean> {
  const memoryIds = await withSuccessors(rows, citedIds)
  for (const table of ['memories', 'memories_archive'] as const) {
    // Both have the same columns.
    const forgotten = rows.build
      .selectFrom(table as 'memories')
      .select('id')
      .where('forgotten_at', 'is not', null)
      .limit(1)
    for (const ids of chunksOf(memoryIds)) if (await rows.first(forgotten.where('id', 'in', ids))) return true
    for (const ids of chunksOf(runIds)) {
      const shown = rows.build.selectFrom('memory_recalls').select('memory_id').where('run_id', 'in', ids)
      if (await rows.first(forgotten.where('run_id', 'in', ids))) return true
      if (await rows.first(forgotten.where('id', 'in', shown))) return true
    }
  }
  return false
}

/** Memories and all that replaced them, directly or not. */
async function withSuccessors(rows: Reading, ids: readonly number[]): Promise<number[]> {
  if (ids.length === 0) return []
  return (await rows.all(successors({ ids: JSON.stringify(ids.map(String)) }))).map(({ id }) => Number(id))
}

/** Narratives that are based on a memory, directly or by way of others, oldest first. */
export async function narrativesBasedOn(rows: Reading, memoryId: number): Promise<number[]> {
  return withDependents(rows, [...(await citingMemory(rows, memoryId)), ...(await rows.all(ofItsRuns({ memoryId })))])
}

/** Those that cite a memory, directly or by way of others: they are told with what replaced it. */
export async function narrativesCiting(rows: Reading, memoryId: number): Promise<number[]> {
  return withDependents(rows, await citingMemory(rows, memoryId))
}

async function citingMemory(rows: Reading, memoryId: number): Promise<{ id: number }[]> {
  const likely = await rows.all(citing({ memoryId, like: `%${memoryId}%` }))
  return likely.filter(({ memory_ids }) => JSON.parse(memory_ids).includes(memoryId))
}

/** Narratives and all that continue them. */
async function withDependents(rows: Reading, narratives: readonly { id: number }[]): Promise<number[]> {
  const all = new Set<number>()
  for (const { id } of narratives)
    if (!all.has(Number(id))) for (const row of await rows.all(dependents({ id: Number(id) }))) all.add(Number(row.id))
  return [...all].sort((a, b) => a - b)
}

/** The words of all narratives, oldest first, page by page. */
export async function* allNarratives(
  rows: Reading,
): AsyncIterable<{ id: number; topic: string | null; summary: string }> {
  for (let after = 0; ; ) {
    const query = rows.build.selectFrom('narratives').select(['id', 'topic', 'summary'])
    const page = await rows.all(query.where('id', '>', after).orderBy('id').limit(pageSize))
    yield* page
    const last = page.at(-1)
    if (!last || page.length < pageSize) return
    after = last.id
  }
}

/** Adds a memory to those that a narrative rests on. */
export async function addBasis(tx: Tx, narrativeId: number, memoryId: number): Promise<void> {
  const found = await tx.first(tx.build.selectFrom('narratives').select('memory_ids').where('id', '=', narrativeId))
  const known: number[] = JSON.parse(found?.memory_ids ?? '[]')
  if (known.includes(memoryId)) return
  const ids = JSON.stringify([...known, memoryId])
  await tx.run(tx.build.updateTable('narratives').set({ memory_ids: ids }).where('id', '=', narrativeId))
  for (const table of ['memories', 'memories_archive'] as const)
    await tx.run(
      tx.build
        // Both have the same columns.
        .updateTable(table as 'memories')
        .set({ narrative_id: narrativeId })
        .where('id', '=', memoryId)
        .where((is) => is.or([is('narrative_id', 'is', null), is('narrative_id', '>', narrativeId)])),
    )
}

const pageSize = 200

const basis = statement((db, arg: { id: number }) =>
  raw<{ id: number; memory_ids: string; run_id: string | null }>(
    db,
    sql`WITH RECURSIVE basis (id) AS (
          SELECT CAST(${arg.id} AS BIGINT)
          UNION
          SELECT CASE step.kind WHEN 0 THEN told.previous_narrative_id ELSE (
            SELECT narrative_id FROM narrative_recalls WHERE narrative_recalls.run_id = told.run_id
          ) END
          FROM basis JOIN narratives AS told ON told.id = basis.id
          CROSS JOIN (SELECT 0 AS kind UNION ALL SELECT 1) AS step
        )
        SELECT narratives.id, memory_ids, run_id FROM narratives JOIN basis ON basis.id = narratives.id`,
  ),
)

const successors = statement((db, arg: { ids: string }, { textsIn }) =>
  raw<{ id: number }>(
    db,
    sql`WITH RECURSIVE later (id) AS (
          SELECT CAST(value AS BIGINT) FROM ${textsIn(arg.ids)}
          UNION
          SELECT coalesce(
            (SELECT superseded_by FROM memories WHERE memories.id = later.id),
            (SELECT superseded_by FROM memories_archive WHERE memories_archive.id = later.id)
          ) FROM later WHERE later.id IS NOT NULL
        )
        SELECT id FROM later WHERE id IS NOT NULL`,
  ),
)

/** A memory records the first narrative that cites it: no older one is read. */
const citing = statement((db, arg: { memoryId: number; like: string }) =>
  raw<{ id: number; memory_ids: string }>(
    db,
    sql`SELECT id, memory_ids FROM narratives WHERE memory_ids LIKE ${arg.like} AND id >= coalesce(
          (SELECT narrative_id FROM memories WHERE id = ${arg.memoryId}),
          (SELECT narrative_id FROM memories_archive WHERE id = ${arg.memoryId})
        )`,
  ),
)

/** Narratives of the runs that kept a memory or were reminded of it. */
const ofItsRuns = statement((db, arg: { memoryId: number }) =>
  raw<{ id: number }>(
    db,
    sql`SELECT id FROM narratives WHERE run_id IN (
          SELECT run_id FROM memory_recalls WHERE memory_id = ${arg.memoryId}
          UNION SELECT run_id FROM memories WHERE id = ${arg.memoryId} AND run_id IS NOT NULL
          UNION SELECT run_id FROM memories_archive WHERE id = ${arg.memoryId} AND run_id IS NOT NULL
        )`,
  ),
)

const dependents = statement((db, arg: { id: number }) =>
  raw<{ id: number }>(
    db,
    sql`WITH RECURSIVE later (id) AS (
          SELECT CAST(${arg.id} AS BIGINT)
          UNION
          SELECT told.id FROM later JOIN narratives AS told ON told.previous_narrative_id = later.id
            OR told.run_id IN (SELECT run_id FROM narrative_recalls WHERE narrative_id = later.id)
        )
        SELECT id FROM later`,
  ),
)
