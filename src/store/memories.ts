import { type Selectable, sql } from 'kysely'
import type { Millis } from '../domain/clock.ts'
import type { Memory, MemoryDraft } from '../domain/memory.ts'
import { wordCounts } from '../domain/words.ts'
import { dropVectors } from './memory-vectors.ts'
import { raw } from './raw.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'
import type { MemoryColumns, Tables } from './tables.ts'

const firstScore = 1

/** Only one process at a time decides what something new means for what is known. */
export async function holdMemories(tx: Tx): Promise<void> {
  await tx.all(memoryLock({}))
}

/** Writes a memory together with the words it is found by. */
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

/** Part of a list: so many, below a number. */
interface Page {
  limit: number
  before?: number
}

/** Those that count, newest first. */
export function listMemories(rows: Reading, page: Page): Promise<Memory[]> {
  return listIn(rows, 'memories', page)
}

/** Those in the archive that were neither replaced nor forgotten, newest first. */
export function listArchived(rows: Reading, page: Page): Promise<Memory[]> {
  return listIn(rows, 'memories_archive', page)
}

async function listIn(rows: Reading, table: 'memories' | 'memories_archive', { limit, before }: Page) {
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

/** The number of the newest: about how many there are. Undefined while there are none. */
export async function newestMemory(rows: Reading): Promise<number | undefined> {
  return (await rows.first(newest({})))?.id
}

/** How many are where they are found, those that do not count any more included. */
export async function countMemories(rows: Reading): Promise<number> {
  const row = await rows.first(rows.build.selectFrom('memories').select(({ fn }) => fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

/** Older ones whose place this one took, also those that are in the archive. */
export async function supersededBy(rows: Reading, id: number): Promise<Memory[]> {
  const here = await rows.all(rows.build.selectFrom('memories').selectAll().where('superseded_by', '=', id))
  const away = await rows.all(rows.build.selectFrom('memories_archive').selectAll().where('superseded_by', '=', id))
  return [...here, ...away].map(memoryFrom).sort((a, b) => a.id - b.id)
}

/** What was said before stays readable; no search finds it any more. */
export async function supersede(tx: Tx, id: number, by: number): Promise<void> {
  await tx.run(tx.build.updateTable('memories').set({ superseded_by: by }).where('id', '=', id))
  await unindexMemory(tx, id)
  await dropVectors(tx, id)
}

/** Wipes what it said; that there was something stays known, so that what points to it leads somewhere. */
export async function wipeMemory(tx: Tx, id: number, at: Millis): Promise<void> {
  const gone = { content: '', tags_json: '[]', keywords_json: '[]', forgotten_at: at }
  await tx.run(tx.build.updateTable('memories').set(gone).where('id', '=', id))
  await tx.run(tx.build.updateTable('memories_archive').set(gone).where('id', '=', id))
  await unindexMemory(tx, id)
  await dropVectors(tx, id)
}

export async function addScore(tx: Tx, id: number, by: number): Promise<number | undefined> {
  const row = await tx.first(
    tx.build
      .updateTable('memories')
      .set({ score: sql<number>`score + ${by}` })
      .where('id', '=', id)
      .returning('score'),
  )
  return row?.score
}

/** Words or tags that are added to one that is there already. */
export async function widenMemory(tx: Tx, memory: Pick<Memory, 'id' | 'content' | 'tags' | 'keywords'>): Promise<void> {
  const { id, tags, keywords } = memory
  const now = { tags_json: JSON.stringify(tags), keywords_json: JSON.stringify(keywords) }
  await tx.run(tx.build.updateTable('memories').set(now).where('id', '=', id))
  await unindexMemory(tx, id)
  await indexMemory(tx, id, memory)
}

/** Puts the oldest that counts least out of the way. Answers how many. */
export async function archiveMemories(tx: Tx, count: number): Promise<number> {
  const least = await tx.all(
    tx.build.selectFrom('memories').select('id').orderBy('score').orderBy('recalled_at').orderBy('id').limit(count),
  )
  for (const { id } of least) await archiveMemory(tx, id)
  return least.length
}

/** Puts one out of the way: it keeps its number, and no search finds it. */
export async function archiveMemory(tx: Tx, id: number): Promise<void> {
  const row = await tx.first(byId({ id }))
  if (!row) return
  await tx.run(tx.build.insertInto('memories_archive').values(row))
  await unindexMemory(tx, id)
  await dropVectors(tx, id)
  await tx.run(tx.build.deleteFrom('memories').where('id', '=', id))
}

/** Brings one back from there: whoever changes it means to use it. */
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
  db.selectFrom('memories').select('id').orderBy('id', 'desc').limit(sql.lit(1)),
)

const insertWord = statement((db, arg: { word: string; id: number; hits: number }) =>
  db.insertInto('memory_words').values({ word: arg.word, memory_id: arg.id, hits: arg.hits }),
)

export function memoryFrom(row: Selectable<Tables['memories']> | ({ id: number } & MemoryColumns)): Memory {
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
    recalledAt: row.recalled_at,
    supersededBy: row.superseded_by,
    forgottenAt: row.forgotten_at,
  }
}
