import { type Selectable, sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import { type Memory, type MemoryDraft, maxUntrustedScore } from '../../domain/memory.ts'
import { wordCounts } from '../../domain/text/words.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import { dropVectors } from './memory-vectors.ts'

const firstScore = 1
const hiddenPage = 500
const contentPage = 500

/** Takes the memory lock: only one process at a time compares a new memory with the existing ones. */
export async function lockMemories(tx: Tx): Promise<void> {
  await tx.all(memoryLock({}))
}

/** Inserts a memory and its search words. */
export async function insertMemory(tx: Tx, draft: MemoryDraft, now: Millis): Promise<number> {
  const row = await tx.first(
    tx.build
      .insertInto('memories')
      .values({
        content: draft.content,
        tags_json: JSON.stringify(draft.tags ?? []),
        keywords_json: JSON.stringify(draft.keywords ?? []),
        score: firstScore,
        source: draft.source,
        integrity: draft.label.integrity,
        sources_json: JSON.stringify(draft.label.sources),
        run_id: draft.runId ?? null,
        turn_id: draft.turnId ?? null,
        task_id: draft.taskId ?? null,
        result_id: draft.resultId ?? null,
        narrative_id: null,
        created_at: now,
        recalled_at: now,
        superseded_by: null,
        forgotten_at: null,
      })
      .returning('id'),
  )
  const id = Number(row?.id)
  await indexMemory(tx, id, draft)
  return id
}

export async function findMemory(rows: Reading, id: number): Promise<Memory | undefined> {
  const row = (await rows.first(byId({ id }))) ?? (await rows.first(archivedById({ id })))
  return row && memoryFrom(row)
}

export async function memoriesOf(rows: Reading, ids: readonly number[]): Promise<Map<number, Memory>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(rows.build.selectFrom('memories').selectAll().where('id', 'in', ids))
  return new Map(found.map((row) => [row.id, memoryFrom(row)]))
}

/** Page of a list: at most `limit` ids below `before`. */
interface PageBounds {
  limit: number
  before?: number
}

/** Active memories (neither replaced, forgotten nor archived), newest first. */
export function listMemories(rows: Reading, page: PageBounds): Promise<Memory[]> {
  return listIn(rows, 'memories', page)
}

/** Archived memories that were neither replaced nor forgotten, newest first. */
export function listArchived(rows: Reading, page: PageBounds): Promise<Memory[]> {
  return listIn(rows, 'memories_archive', page)
}

async function listIn(rows: Reading, table: 'memories' | 'memories_archive', { limit, before }: PageBounds) {
  // Both have the same columns.
  let query = rows.build
    .selectFrom(table as 'memories')
    .selectAll()
    .where('superseded_by', 'is', null)
    .where('forgotten_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(limit)
  if (before !== undefined) query = query.where('id', '<', before)
  return (await rows.all(query)).map(memoryFrom)
}

/** Highest memory id, which is about their number; undefined while there are none. */
export async function newestMemory(rows: Reading): Promise<number | undefined> {
  return (await rows.first(newest({})))?.id ?? undefined
}

/** Number of memories outside the archive, replaced and forgotten ones included. */
export async function countMemories(rows: Reading): Promise<number> {
  const row = await rows.first(rows.build.selectFrom('memories').select(({ fn }) => fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

/** Memories that this one replaced, archived ones included. */
export async function supersededBy(rows: Reading, id: number): Promise<Memory[]> {
  const active = await rows.all(rows.build.selectFrom('memories').selectAll().where('superseded_by', '=', id))
  const archived = await rows.all(rows.build.selectFrom('memories_archive').selectAll().where('superseded_by', '=', id))
  return [...active, ...archived].map(memoryFrom).sort((a, b) => a.id - b.id)
}

/** Memories that no search finds and that still have their words: archived and replaced ones, page by page. */
export async function* hiddenMemories(rows: Reading): AsyncIterable<Memory> {
  for (const table of ['memories', 'memories_archive'] as const)
    for (let after = 0; ; ) {
      // Both have the same columns.
      const all = rows.build
        .selectFrom(table as 'memories')
        .selectAll()
        .where('forgotten_at', 'is', null)
      const hidden = table === 'memories' ? all.where('superseded_by', 'is not', null) : all
      const page = await rows.all(hidden.where('id', '>', after).orderBy('id').limit(hiddenPage))
      yield* page.map(memoryFrom)
      const last = page.at(-1)
      if (!last) break
      after = last.id
    }
}

/** Contents of all memories, replaced and archived ones included, page by page. */
export async function* allContents(rows: Reading): AsyncIterable<string> {
  for (const table of ['memories', 'memories_archive'] as const)
    for (let after = 0; ; ) {
      // Both have the same columns.
      const all = rows.build.selectFrom(table as 'memories').select(['id', 'content'])
      const page = await rows.all(all.where('id', '>', after).orderBy('id').limit(contentPage))
      for (const { content } of page) yield content
      const last = page.at(-1)
      if (!last) break
      after = last.id
    }
}

/** Marks a memory as replaced: it stays readable, but no search finds it. */
export async function supersede(tx: Tx, id: number, by: number): Promise<void> {
  await tx.run(tx.build.updateTable('memories').set({ superseded_by: by }).where('id', '=', id))
  await unindexMemory(tx, id)
  await dropVectors(tx, id)
}

/** Deletes the content of a memory and keeps the row, so that references to it still resolve. */
export async function wipeMemory(tx: Tx, id: number, at: Millis): Promise<void> {
  const wiped = { content: '', tags_json: '[]', keywords_json: '[]', forgotten_at: at }
  await tx.run(tx.build.updateTable('memories').set(wiped).where('id', '=', id))
  await tx.run(tx.build.updateTable('memories_archive').set(wiped).where('id', '=', id))
  await unindexMemory(tx, id)
  await dropVectors(tx, id)
}

/** Changes a score. That of an untrusted memory stays low, however often it is repeated: only trust can raise it. */
export async function addScore(tx: Tx, id: number, by: number): Promise<number | undefined> {
  const row = await tx.first(
    tx.build
      .updateTable('memories')
      .set({
        score: sql<number>`CASE WHEN integrity = 'untrusted' AND score + ${by} > ${sql.lit(maxUntrustedScore)}
          THEN ${sql.lit(maxUntrustedScore)} ELSE score + ${by} END`,
      })
      .where('id', '=', id)
      .returning('score'),
  )
  return row?.score
}

/** Records that a memory was said again. */
export async function noteSaidAgain(tx: Tx, id: number, at: Millis): Promise<void> {
  await tx.run(tx.build.updateTable('memories').set({ said_at: at }).where('id', '=', id))
}

/** Sets the tags and keywords of a memory and reindexes it. */
export async function retagMemory(tx: Tx, memory: Pick<Memory, 'id' | 'content' | 'tags' | 'keywords'>): Promise<void> {
  const { id, tags, keywords } = memory
  const columns = { tags_json: JSON.stringify(tags), keywords_json: JSON.stringify(keywords) }
  await tx.run(tx.build.updateTable('memories').set(columns).where('id', '=', id))
  await reindexMemory(tx, memory)
}

/** Replaces the words that a memory is found by. */
export async function reindexMemory(
  tx: Tx,
  memory: Pick<Memory, 'id' | 'content' | 'tags' | 'keywords'>,
): Promise<void> {
  await unindexMemory(tx, memory.id)
  await indexMemory(tx, memory.id, memory)
}

/**
 * Archives memories, untrusted ones first, so that they push no trusted one out; then by the lowest score, least recently
 * recalled first. Of equal ones those from `imported` on go first: an import pushes out nothing of one's own. Returns how
 * many.
 */
export async function archiveMemories(
  tx: Tx,
  count: number,
  imported: number = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const least = await tx.all(
    tx.build
      .selectFrom('memories')
      .select('id')
      .orderBy('integrity', 'desc')
      .orderBy('score')
      .orderBy(({ case: when }) => when().when('id', '>=', imported).then(0).else(1).end())
      .orderBy('recalled_at')
      .orderBy('id')
      .limit(count),
  )
  for (const { id } of least) await archiveMemory(tx, id)
  return least.length
}

/** Archives a memory: it keeps its id, but no search finds it. */
export async function archiveMemory(tx: Tx, id: number): Promise<void> {
  const row = await tx.first(byId({ id }))
  if (!row) return
  await tx.run(tx.build.insertInto('memories_archive').values(row))
  await unindexMemory(tx, id)
  await dropVectors(tx, id)
  await tx.run(tx.build.deleteFrom('memories').where('id', '=', id))
}

/** Moves a memory back from the archive, for a change of it. */
export async function unarchiveMemory(tx: Tx, id: number): Promise<void> {
  const row = await tx.first(archivedById({ id }))
  if (!row) return
  await tx.run(tx.build.insertInto('memories').values(row))
  await tx.run(tx.build.deleteFrom('memories_archive').where('id', '=', id))
  await indexMemory(tx, id, memoryFrom(row))
}

export async function isArchived(rows: Reading, id: number): Promise<boolean> {
  return (await rows.first(archivedById({ id }))) !== undefined
}

async function indexMemory(
  tx: Tx,
  id: number,
  { content, tags = [], keywords = [] }: Pick<MemoryDraft, 'content' | 'tags' | 'keywords'>,
): Promise<void> {
  for (const [word, hits] of wordCounts([content, ...tags, ...keywords].join('\n')))
    await tx.run(insertWord({ word, id, hits }))
}

async function unindexMemory(tx: Tx, id: number): Promise<void> {
  await tx.run(tx.build.deleteFrom('memory_words').where('memory_id', '=', id))
}

const memoryLock = statement((db, _arg: object, dialect) => raw<object>(db, dialect.memoryLock))

const byId = statement((db, arg: { id: number }) => db.selectFrom('memories').selectAll().where('id', '=', arg.id))

const archivedById = statement((db, arg: { id: number }) =>
  db.selectFrom('memories_archive').selectAll().where('id', '=', arg.id),
)

const newest = statement((db, _: object) =>
  db.selectFrom('memories').select(({ fn }) => fn.max<number | null>('id').as('id')),
)

const insertWord = statement((db, arg: { word: string; id: number; hits: number }) =>
  db.insertInto('memory_words').values({ word: arg.word, memory_id: arg.id, hits: arg.hits }),
)

export function memoryFrom(row: Selectable<Tables['memories'] | Tables['memories_archive']>): Memory {
  return {
    id: row.id,
    content: row.content,
    tags: JSON.parse(row.tags_json),
    keywords: JSON.parse(row.keywords_json),
    score: row.score,
    source: row.source,
    label: { integrity: row.integrity, sources: JSON.parse(row.sources_json) },
    runId: row.run_id,
    turnId: row.turn_id,
    taskId: row.task_id,
    resultId: row.result_id,
    narrativeId: row.narrative_id,
    createdAt: row.created_at,
    saidAt: row.said_at ?? row.created_at,
    recalledAt: row.recalled_at,
    supersededBy: row.superseded_by,
    forgottenAt: row.forgotten_at,
  }
}
