import { sql } from 'kysely'
import { ownerText } from '../../../domain/access/principal.ts'
import type { Millis } from '../../../domain/clock.ts'
import { type DocumentKind, documentKinds } from '../../../domain/search.ts'
import type { Session } from '../../../domain/session.ts'
import { raw } from '../../raw.ts'
import { statement, statementOfRows } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'

/** Whose a document is, and where it was made. */
export interface DocumentOwner {
  sessionId: string | null
  principal: string
}

/** A turn, a result or a passage of a file in the search index. */
export interface SearchDocument extends DocumentOwner {
  id: number
  kind: DocumentKind
  /** Id of the turn, number of the result, or absolute path of the file. */
  ref: string
  runId: string | null
  at: Millis
}

/** The owner of what is made in a session; undefined for the narrator's, which is private and not searched. */
export function ownerIn({ id, principalId, kind }: Session): DocumentOwner | undefined {
  return kind === 'narrator' ? undefined : { sessionId: id, principal: principalId }
}

/** Adds a document in the transaction that stores its text; its words are indexed later. */
export async function addDocument(tx: Tx, document: Omit<SearchDocument, 'id'>): Promise<void> {
  tx.sendLast(insertUnindexed, [{ ...document, principal: ownPrincipal(document.principal), indexed: 0 }])
}

/** Adds a document with its words. */
export async function addIndexed(
  tx: Tx,
  document: Omit<SearchDocument, 'id'>,
  words: Iterable<string>,
): Promise<number> {
  const row = await tx.first(insert({ ...document, principal: ownPrincipal(document.principal), indexed: 1 }))
  const id = Number(row?.id)
  await addWords(tx, { ...document, id }, words)
  return id
}

/** The newest documents without words, for one step of indexing; skips those that another process is at. */
export async function claimUnindexed(tx: Tx, limit: number): Promise<SearchDocument[]> {
  return (await tx.all(newestUnindexed({ limit }))).map(documentFrom)
}

/** Stores the words of a document, and that they are there. */
export async function storeWords(tx: Tx, document: SearchDocument, words: Iterable<string>): Promise<void> {
  await addWords(tx, document, words)
  await tx.run(markIndexed({ id: document.id }))
}

/** Whether documents wait for their words. */
export async function hasUnindexed(rows: Reading): Promise<boolean> {
  return (await rows.first(oneUnindexed({}))) !== undefined
}

/** Number of documents that wait for their words. */
export async function countUnindexed(rows: Reading): Promise<number> {
  return Number((await rows.first(unindexed({})))?.count ?? 0)
}

/** Removes the documents of turns of a session, whose texts go, with the words that each turn has. */
export async function removeTurnDocuments(
  tx: Tx,
  sessionId: string,
  words: ReadonlyMap<string, Iterable<string>>,
): Promise<void> {
  if (words.size === 0) return
  const turns = JSON.stringify([...words.keys()])
  // Those without words first: this waits for a process that is storing them, and then finds them among the others.
  const gone = await tx.all(deleteUnindexed({ sessionId, turns }))
  gone.push(...(await tx.all(deleteIndexed({ sessionId, turns }))))
  for (const { id, ref } of gone) await removeWords(tx, Number(id), words.get(ref) ?? [])
}

export async function removeWords(tx: Tx, id: number, words: Iterable<string>): Promise<void> {
  await tx.run(deleteWords({ id, words: JSON.stringify([...words]) }))
}

export async function documentsOf(rows: Reading, ids: readonly number[]): Promise<Map<number, SearchDocument>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(rows.build.selectFrom('search_documents').selectAll().where('id', 'in', ids))
  return new Map(found.map((row) => [row.id, documentFrom(row)]))
}

async function addWords(
  tx: Tx,
  { id, kind, principal }: Pick<SearchDocument, 'id' | 'kind' | 'principal'>,
  words: Iterable<string>,
): Promise<void> {
  const texts = JSON.stringify([...words])
  await tx.run(insertWords({ id, kind: kindNumber(kind), principal: ownPrincipal(principal), words: texts }))
}

export function kindNumber(kind: DocumentKind): number {
  return documentKinds.indexOf(kind)
}

function ownPrincipal(principal: string): string | null {
  return principal === ownerText ? null : principal
}

interface DocumentRow {
  id: number
  kind: DocumentKind
  ref: string
  run_id: string | null
  session_id: string | null
  principal: string | null
  at: number
}

function documentFrom(row: DocumentRow): SearchDocument {
  return {
    id: Number(row.id),
    kind: row.kind,
    ref: row.ref,
    runId: row.run_id,
    sessionId: row.session_id,
    principal: row.principal ?? ownerText,
    at: row.at,
  }
}

type NewDocument = Omit<SearchDocument, 'id' | 'principal'> & { principal: string | null; indexed: number }

const columnsOf = (arg: NewDocument) => ({
  kind: arg.kind,
  ref: arg.ref,
  run_id: arg.runId,
  session_id: arg.sessionId,
  principal: arg.principal,
  at: arg.at,
  indexed: arg.indexed,
})

const insert = statement((db, arg: NewDocument) =>
  db.insertInto('search_documents').values(columnsOf(arg)).returning('id'),
)

const insertUnindexed = statementOfRows((db, rows: NewDocument[]) =>
  db.insertInto('search_documents').values(rows.map(columnsOf)),
)

const newestUnindexed = statement((db, arg: { limit: number }, { lockFreeRows }) =>
  db
    .selectFrom('search_documents')
    .selectAll()
    // Spelled like the partial index.
    .where('indexed', '=', sql.lit(0))
    .orderBy('id', 'desc')
    .limit(arg.limit)
    .modifyEnd(lockFreeRows),
)

const oneUnindexed = statement((db, _: object) =>
  db.selectFrom('search_documents').select('id').where('indexed', '=', sql.lit(0)).limit(1),
)

const unindexed = statement((db, _: object) =>
  db
    .selectFrom('search_documents')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('indexed', '=', sql.lit(0)),
)

const markIndexed = statement((db, arg: { id: number }) =>
  db.updateTable('search_documents').set({ indexed: 1 }).where('id', '=', arg.id),
)

const insertWords = statement(
  (db, arg: { id: number; kind: number; principal: string | null; words: string }, { textsIn }) =>
    raw<unknown>(
      db,
      sql`INSERT INTO search_words (word, document_id, kind, principal)
          SELECT value, CAST(${arg.id} AS BIGINT), CAST(${arg.kind} AS BIGINT), CAST(${arg.principal} AS TEXT)
          FROM ${textsIn(arg.words)}`,
    ),
)

const deleteWords = statement((db, arg: { id: number; words: string }, { textsIn }) =>
  raw<unknown>(
    db,
    sql`DELETE FROM search_words WHERE document_id = ${arg.id} AND word IN (SELECT value FROM ${textsIn(arg.words)})`,
  ),
)

const deleteUnindexed = deleteTurns(0)
const deleteIndexed = deleteTurns(1)

function deleteTurns(indexed: 0 | 1) {
  return statement((db, arg: { sessionId: string; turns: string }, { textsIn }) =>
    raw<{ id: number; ref: string }>(
      db,
      sql`DELETE FROM search_documents WHERE indexed = ${sql.lit(indexed)} AND session_id = ${arg.sessionId}
          AND kind = 'turn' AND ref IN (SELECT value FROM ${textsIn(arg.turns)}) RETURNING id, ref`,
    ),
  )
}
