import { sql } from 'kysely'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading } from '../store.ts'
import { type SearchHit, searchByWords, type WordIndex } from './word-search.ts'

/** Max index rows that are read to find candidates. */
const maxIndexRows = 4000

/** Memories that share words with a query, best first. `total` is the approximate number of memories. */
export function searchMemories(
  rows: Reading,
  words: readonly string[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  return searchByWords(rows, inMemories, words, { total, limit })
}

/** The same among trusted memories only: no other one can push them out. */
export function searchTrustedMemories(
  rows: Reading,
  words: readonly string[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  return searchByWords(rows, inTrustedMemories, words, { total, limit })
}

/** Passages that share words with a query, best first. */
export function searchPassages(
  rows: Reading,
  words: readonly string[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  return searchByWords(rows, inPassages, words, { total, limit })
}

const inMemories = wordIndex('memory_words', 'memory_id')
const inTrustedMemories: WordIndex = {
  ...inMemories,
  only: sql`AND memory_id IN (SELECT id FROM memories WHERE integrity = 'trusted')`,
}
const inPassages = wordIndex('passage_words', 'passage_id')

function wordIndex(name: 'memory_words' | 'passage_words', of: 'memory_id' | 'passage_id'): WordIndex {
  const table = sql.table(name)
  const countUpTo = statement((db, arg: { word: string; limit: number }) =>
    raw<{ count: number }>(
      db,
      sql`SELECT count(*) AS count FROM (SELECT 1 FROM ${table} WHERE word = ${arg.word} LIMIT ${arg.limit}) AS counted`,
    ),
  )
  return { table, of: sql.ref(of), countUpTo: (_, args) => countUpTo(args), only: sql``, maxIndexRows }
}
