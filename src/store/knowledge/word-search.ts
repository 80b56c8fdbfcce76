import { type RawBuilder, sql } from 'kysely'
import { raw } from '../raw.ts'
import type { Query } from '../statement.ts'
import type { Reading } from '../store.ts'

/** A word in more than this share of the documents is common. */
const commonShare = 0.05
/** A word in fewer documents than this is never common. */
const minCommonCount = 100
/** Max words of one query; the rarest are used. */
const maxWords = 24
/** Max candidates that are ranked by all words. */
const maxCandidates = 400

/** A document that matches a query: a memory, a passage, a turn or a result. */
export interface SearchHit {
  id: number
  /** Share of the query's total word weight that it contains: 0 to 1. */
  relevance: number
  /** Words of the query that it contains. */
  words: string[]
}

/** A table with a row for each word of each document; greater ids are newer documents. */
export interface WordIndex {
  table: RawBuilder<unknown>
  /** Column of the document's id. */
  of: RawBuilder<number>
  countUpTo(rows: Reading, args: { word: string; limit: number }): Query<{ count: number }>
  /** Further condition on the documents. */
  only: RawBuilder<unknown>
  /** Max index rows that are read to find candidates. */
  maxIndexRows: number
  /** Whether common words count for the order of what the rare ones find. */
  ranksByCommon?: boolean
}

/**
 * Documents that share words with a query, best first. Rare words decide; common words are skipped unless there are no
 * others. Only documents that contain rare words are read, so the cost is bounded. `total` is the approximate number of
 * documents.
 */
export async function searchByWords(
  rows: Reading,
  index: WordIndex,
  words: readonly string[],
  { total, limit }: { total: number; limit: number },
): Promise<SearchHit[]> {
  const weightedWords = await weighWords(rows, index, [...new Set(words)], total)
  if (weightedWords.length === 0) return []
  const rare = weightedWords.filter(({ isCommon }) => !isCommon)
  const queryWords = (rare.length > 0 ? rare : weightedWords).slice(0, maxWords)
  const leadWords: WeightedWord[] = []
  let indexRows = 0
  for (const word of queryWords) {
    if (leadWords.length > 0 && indexRows + word.count > index.maxIndexRows) break
    leadWords.push(word)
    indexRows += word.count
  }
  const hits = await candidates(rows, index, leadWords)
  const ranked = index.ranksByCommon ? weightedWords.slice(0, maxWords) : queryWords
  await addWords(rows, index, hits, ranked.slice(leadWords.length))
  const all = weightedWords.reduce((sum, { weight }) => sum + weight, 0)
  return [...hits]
    .map(([id, found]) => {
      // Added up in one order: documents with the same words must be equally relevant.
      const has = weightedWords.filter((word) => found.includes(word))
      const relevance = has.reduce((sum, { weight }) => sum + weight, 0) / all
      return { id, relevance, words: has.map(({ word }) => word) }
    })
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
  { countUpTo }: WordIndex,
  words: string[],
  total: number,
): Promise<WeightedWord[]> {
  const limit = Math.max(minCommonCount, Math.floor(total * commonShare))
  const weighted: WeightedWord[] = []
  for (const word of words.slice(0, 200)) {
    const count = Number((await rows.first(countUpTo(rows, { word, limit: limit + 1 })))?.count ?? 0)
    if (count > 0) weighted.push({ word, count, weight: Math.log(1 + total / count), isCommon: count > limit })
  }
  return weighted.sort((a, b) => a.count - b.count)
}

/**
 * Documents that contain these words, each with the words it contains; of a very common word only the newest ones are read.
 * The words are encoded as bits of a sum (a document has a word at most once), so that one statement finds and ranks.
 */
async function candidates(
  rows: Reading,
  { table, of, only, maxIndexRows }: WordIndex,
  leadWords: WeightedWord[],
): Promise<Map<number, WeightedWord[]>> {
  const occurrences = leadWords.map(
    ({ word, weight }, at) => sql`SELECT * FROM (
        SELECT ${of} AS id, ${sql.lit(2 ** at)} AS bit, CAST(${weight} AS DOUBLE PRECISION) AS weight
        FROM ${table} WHERE word = ${word} ${only} ORDER BY ${of} DESC LIMIT ${sql.lit(maxIndexRows)}
      ) AS newest`,
  )
  const found = await rows.all(
    raw<{ id: number; bits: number }>(
      rows.build,
      sql`SELECT id, sum(bit) AS bits FROM (${sql.join(occurrences, sql` UNION ALL `)}) AS found
          GROUP BY id ORDER BY sum(weight) DESC, id DESC LIMIT ${sql.lit(maxCandidates)}`,
    ),
  )
  return new Map(
    found.map(({ id, bits }) => [Number(id), leadWords.filter((_, at) => (Number(bits) & (2 ** at)) !== 0)]),
  )
}

/** Adds the remaining query words that the candidates contain. */
async function addWords(
  rows: Reading,
  { table, of }: WordIndex,
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
