import { type RawBuilder, sql } from 'kysely'
import type { DocumentKind } from '../../../domain/search.ts'
import {
  countedWords,
  type SearchHit,
  type SearchTerm,
  searchByWords,
  type WordIndex,
} from '../../knowledge/word-search.ts'
import type { Reading } from '../../store.ts'
import type { OwnedBy } from '../access/own-sessions.ts'
import { kindNumber } from './documents.ts'

/** Max index rows that are read to find candidates. */
const maxIndexRows = 15_000
/** Max documents that one search finds. */
const maxFound = 400

/** Which documents a search is about. */
export interface DocumentScope extends OwnedBy {
  sessionId?: string
  kind?: DocumentKind
  /** Leaves out files, but for those of this principal. */
  filesOnlyOf?: string
  /** The newest document that there was when the search began: a later page must not shift. */
  newest: number
}

/** Number of the newest document. */
export async function newestDocument(rows: Reading): Promise<number> {
  const row = await rows.first(rows.build.selectFrom('search_documents').select(({ fn }) => fn.max('id').as('id')))
  return Number(row?.id ?? 0)
}

/**
 * Documents that share words with a query, best first, of the same relevance the newest first. Words are counted within the
 * principal's own documents: neither hits nor their order tell what others have.
 */
export async function searchDocuments(
  rows: Reading,
  terms: readonly SearchTerm[],
  scope: DocumentScope,
): Promise<SearchHit[]> {
  const total = scope.principal === undefined ? scope.newest : await countOwn(rows, scope.principal)
  if (total === 0) return []
  return searchByWords(rows, indexWithin(scope), terms, { total, limit: maxFound })
}

const wordTable = sql.table('search_words')

function indexWithin({ principal, sessionId, kind, filesOnlyOf, newest }: DocumentScope): WordIndex {
  const conditions: RawBuilder<unknown>[] = [
    sql`AND document_id <= ${newest}`,
    // Spelled like the partial index.
    ...(principal === undefined ? [] : [sql`AND principal IS NOT NULL AND principal = ${principal}`]),
    ...(kind === undefined ? [] : [sql`AND kind = ${sql.lit(kindNumber(kind))}`]),
    ...(filesOnlyOf === undefined
      ? []
      : [sql`AND (kind <> ${sql.lit(kindNumber('file'))} OR principal = ${filesOnlyOf})`]),
    ...(sessionId === undefined
      ? []
      : [sql`AND document_id IN (SELECT id FROM search_documents WHERE session_id = ${sessionId} AND indexed = 1)`]),
  ]
  const only = sql.join(conditions, sql` `)
  return {
    table: wordTable,
    of: sql.ref<number>('document_id'),
    countUpTo: (rows, args) => countedWords(rows.build, rows.dialect, { ...args, table: wordTable, only }),
    only,
    maxIndexRows,
    // Only the order of documents counts, which it would not change.
    unknownWeight: 0,
    ranksByCommon: true,
  }
}

async function countOwn(rows: Reading, principal: string): Promise<number> {
  const row = await rows.first(
    rows.build
      .selectFrom('search_documents')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('principal', 'is not', null)
      .where('principal', '=', principal),
  )
  return Number(row?.count ?? 0)
}
