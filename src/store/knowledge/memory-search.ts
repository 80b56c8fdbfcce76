import { type RawBuilder, sql } from 'kysely'
import { raw } from '../raw.ts'
import { type Bound, statement } from '../statement.ts'
import type { Reading } from '../store.ts'

/** A word in more than this share of the documents is common. */
const commonShare = 0.05
/** A word in fewer documents than this is never common. */
const minCommonCount = 100
/** Max words of one query; the rarest are used. */
const maxWords = 24
/** Max candidates that are ranked by all words. */
const maxCandidates = 400
/** Max index rows that are read to find candidates. */
const maxIndexRows = 4000

/** A memory or passage that matches a query. */
export interface SearchHit {
  id: number
  /** Share of the query's total word weight that it contains: 0 to 1. */
  relevance: number
  /** Words of the query that it contains. */
  words: string[]
}

/** Memories that share words with a query, best first. `total` is the approximate number of memories. */
export function searchMemories(
  rows: Reading,
  words: readonly string[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  return search(rows, inMemories, words, total, limit)
}

/** The same among trusted memories only: no other one can push them out. */
export function searchTrustedMemories(
  rows: Reading,
  words: readonly string[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  return search(rows, inTrustedMemories, words, total, limit)
}

/** Passages that share words with a query, best first. */
export function searchPassages(
  rows: Reading,
  words: readonly string[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  return search(rows, inPassages, words, total, limit)
}

/** Word index of memories or passages. */
interface WordTable {
  table: RawBuilder<unknown>
  /** Column of the document's id. */
  of: RawBuilder<number>
  countUpTo(args: { word: string; limit: number }): Bound<{ count: number }>
  /** Further condition on the documents. */
  only: RawBuilder<unknown>
}

const inMemories = wordTable('memory_words', 'memory_id')
const inTrustedMemories: WordTable = {
  ...inMemories,
  only: sql`AND memory_id IN (SELECT id FROM memories WHERE integrity = 'trusted')`,
}
const inPassages = wordTable('passage_words', 'passage_id')

function wordTable(name: 'memory_words' | 'passage_words', of: 'memory_id' | 'passage_id'): WordTable {
  const table = sql.table(name)
  const countUpTo = statement((db, arg: { word: string; limit: number }) =>
    raw<{ count: number }>(
      db,
      sql`SELECT count(*) AS count FROM (SELECT 1 FROM ${table} WHERE word = ${arg.word} LIMIT ${arg.limit}) AS counted`,
    ),
  )
  return { table, of: sql.ref(of), countUpTo, only: sql`` }
}

/**
 * Documents that share words with a query, best first. Rare words decide; common words are skipped unless there are no
 * others. Only documents that contain rare words are read, so the cost is bounded.
 */
async function search(
  rows: Reading,
  where: WordTable,
  words: readonly string[],
  total: number,
  limit: number,
): Promise<SearchHit[]> {
  const weightedWords = await weighWords(rows, where, [...new Set(words)], total)
  if (weightedWords.length === 0) return []
  const rare = weightedWords.filter(({ isCommon }) => !isCommon)
  const queryWords = (rare.length > 0 ? rare : weightedWords).slice(0, maxWords)
  const leadWords: WeightedWord[] = []
  let indexRows = 0
  for (const word of queryWords) {
    if (leadWords.length > 0 && indexRows + word.count > maxIndexRows) break
    leadWords.push(word)
    indexRows += word.count
  }
  const hits = await candidates(rows, where, leadWords)
  await addWords(rows, where, hits, queryWords.slice(leadWords.length))
  const all = weightedWords.reduce((sum, { weight }) => sum + weight, 0)
  return [...hits]
    .map(([id, has]) => ({
      id,
      relevance: has.reduce((sum, { weight }) => sum + weight, 0) / all,
      words: has.map(({ word }) => word),
    }))
    .sort((a, b) => b.relevance - a.relevance || b.id - a.id)
    .slice(0, limit)
}

interface WeightedWord {
  word: string
  count: number
  weight: number
  isCommon: boolean
}

/** Weighs words by rarity and drops those that no document contains. Counting stops once a word is common. */
async function weighWords(
  rows: Reading,
  { countUpTo }: WordTable,
  words: string[],
  total: number,
): Promise<WeightedWord[]> {
  const limit = Math.max(minCommonCount, Math.floor(total * commonShare))
  const weighted: WeightedWord[] = []
  for (const word of words.slice(0, 200)) {
    const count = Number((await rows.first(countUpTo({ word, limit: limit + 1 })))?.count ?? 0)
    if (count > 0) weighted.push({ word, count, weight: Math.log(1 + total / count), isCommon: count > limit })
  }
  return weighted.sort((a, b) => a.count - b.count)
}

/**
 * Documents that contain these words, each with the words it contains. The words are encoded as bits of a sum (a document
 * has a word at most once), so that one statement finds and ranks.
 */
async function candidates(
  rows: Reading,
  { table, of, only }: WordTable,
  leadWords: WeightedWord[],
): Promise<Map<number, WeightedWord[]>> {
  const each = (value: (word: WeightedWord, at: number) => RawBuilder<unknown>) =>
    sql.join(
      leadWords.map((word, at) => sql`WHEN ${word.word} THEN ${value(word, at)}`),
      sql` `,
    )
  const found = await rows.all(
    raw<{ id: number; bits: number }>(
      rows.build,
      sql`SELECT ${of} AS id, sum(CASE word ${each((_, at) => sql.lit(2 ** at))} END) AS bits
          FROM ${table} WHERE word IN (${sql.join(leadWords.map(({ word }) => word))}) ${only}
          GROUP BY ${of}
          ORDER BY sum(CASE word ${each(({ weight }) => sql`CAST(${weight} AS DOUBLE PRECISION)`)} END) DESC, ${of} DESC
          LIMIT ${sql.lit(maxCandidates)}`,
    ),
  )
  return new Map(
    found.map(({ id, bits }) => [Number(id), leadWords.filter((_, at) => (Number(bits) & (2 ** at)) !== 0)]),
  )
}

/** Adds the remaining query words that the candidates contain. */
async function addWords(
  rows: Reading,
  { table, of }: WordTable,
  hits: Map<number, WeightedWord[]>,
  words: WeightedWord[],
): Promise<void> {
  // The candidates may have been removed meanwhile.
  if (words.length === 0 || hits.size === 0) return
  const byWord = new Map(words.map((each) => [each.word, each]))
  const found = await rows.all(
    raw<{ id: number; word: string }>(
      rows.build,
      sql`SELECT ${of} AS id, word FROM ${table}
          WHERE ${of} IN (${sql.join([...hits.keys()])}) AND word IN (${sql.join([...byWord.keys()])})`,
    ),
  )
  for (const { id, word } of found) {
    const has = byWord.get(word)
    if (has) hits.get(Number(id))?.push(has)
  }
}
