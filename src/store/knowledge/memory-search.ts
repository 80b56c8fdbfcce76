import { sql } from 'kysely'
import { statement } from '../statement.ts'
import type { Reading } from '../store.ts'
import { countedWords, type SearchHit, type SearchTerm, searchByWords, type WordIndex } from './word-search.ts'

/** Max index rows that are read to find candidates. */
const maxIndexRows = 4000
/** Questions are put in other words than statements: what no memory has counts little against one. */
const unknownWeight = 0.25

/** Memories that share words with a query, best first. `total` is the approximate number of memories. */
export function searchMemories(
  rows: Reading,
  terms: readonly SearchTerm[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  return searchByWords(rows, inMemories, terms, { total, limit })
}

/** The same among trusted memories only: no other one can push them out. */
export function searchTrustedMemories(
  rows: Reading,
  terms: readonly SearchTerm[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  return searchByWords(rows, inTrustedMemories, terms, { total, limit })
}

/** Passages that share words with a query, best first. */
export function searchPassages(
  rows: Reading,
  terms: readonly SearchTerm[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  return searchByWords(rows, inPassages, terms, { total, limit })
}

const inMemories = wordIndex('memory_words', 'memory_id')
const inTrustedMemories: WordIndex = {
  ...inMemories,
  only: sql`AND memory_id IN (SELECT id FROM memories WHERE integrity = 'trusted')`,
}
const inPassages = wordIndex('passage_words', 'passage_id')

function wordIndex(name: 'memory_words' | 'passage_words', of: 'memory_id' | 'passage_id'): WordIndex {
  const table = sql.table(name)
  const countUpTo = statement((db, arg: { words: string; limit: number }, dialect) =>
    countedWords(db, dialect, { words: arg.words, limit: arg.limit, table, only: sql`` }),
  )
  return {
    table,
    of: sql.ref(of),
    countUpTo: (_, args) => countUpTo(args),
    only: sql``,
    maxIndexRows,
    unknownWeight,
    leadsByCommon: true,
  }
}
