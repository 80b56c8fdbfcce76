import { type RawBuilder, sql } from 'kysely'
import type { Builder, Dialect } from '../dialect.ts'
import { raw } from '../raw.ts'
import type { Query } from '../statement.ts'
import type { Reading } from '../store.ts'

/** A word in more than this share of the documents is common. */
const commonShare = 0.05
/** A word in fewer documents than this is never common. */
const minCommonCount = 100
/** Max words that lead to candidates, the most significant ones; and max words that these are ranked by. */
const maxLeads = 24
const maxRanked = 500
/** Max common words that lead to candidates beside rare ones, the most significant ones. */
const maxCommonLeads = 4
/** Max candidates that are ranked by all words. */
const maxCandidates = 400

/** A document that matches a query: a memory, a passage, a turn or a result. */
export interface SearchHit {
  id: number
  /** Share of the query's total word weight that it contains: 0 to 1. */
  relevance: number
  /** Words of the query that it contains, as it spells them; the most significant first. */
  words: string[]
}

/** A word of a query. */
export interface SearchTerm {
  /** Its spellings: a document with one of them has the word. */
  forms: readonly string[]
  /** How much it says about what is searched: 1 unless given. */
  importance?: number
  /** May add to a match, but a document that lacks it is no worse. */
  isContext?: boolean
  /** Tells apart what other words find, and finds nothing by itself. */
  onlyRanks?: boolean
  /** Numbers of the requests of the query that have it: a document that fits one of them need not fit the others. */
  requests?: readonly number[]
}

/** A table with a row for each word of each document; greater ids are newer documents. */
export interface WordIndex {
  table: RawBuilder<unknown>
  /** Column of the document's id. */
  of: RawBuilder<number>
  /** Counts the documents of each word of a JSON array, up to a limit. */
  countUpTo(rows: Reading, args: { words: string; limit: number }): Query<{ word: string; count: number }>
  /** Further condition on the documents. */
  only: RawBuilder<unknown>
  /** Max index rows that are read to find candidates. */
  maxIndexRows: number
  /** Weight of a word that no document has, relative to the rarest: it tells that a document lacks something. */
  unknownWeight: number
  /** Whether common words count for the order of what the rare ones find. */
  ranksByCommon?: boolean
  /** Whether they also lead to documents: a rare word may be beside the point. */
  leadsByCommon?: boolean
}

/**
 * Documents that share words with a query, best first. Rare words decide; common words are skipped unless there are no
 * others or the index says otherwise. The number of rows that are read is bounded: of a common word only the newest ones are. `total` is
 * the approximate number of documents.
 */
export async function searchByWords(
  rows: Reading,
  index: WordIndex,
  terms: readonly SearchTerm[],
  { total, limit }: { total: number; limit: number },
): Promise<SearchHit[]> {
  if (terms.length === 0) return []
  const { known, all, ofRequests } = await weighTerms(rows, index, terms, total)
  const finding = known.filter(({ term }) => !term.onlyRanks)
  if (finding.length === 0) return []
  const rare = finding.filter(({ isCommon }) => !isCommon)
  const queryWords = rare.length > 0 ? rare : finding
  const leads: Lead[] = []
  let indexRows = 0
  for (const word of queryWords.slice(0, maxLeads)) {
    if (leads.length > 0 && indexRows + word.count > index.maxIndexRows) break
    leads.push({ word, maxRows: index.maxIndexRows })
    indexRows += word.count
  }
  if (index.leadsByCommon && rare.length > 0) leads.push(...commonLeads(known, index.maxIndexRows - indexRows))
  const hits = await candidates(rows, index, leads.slice(0, maxLeads))
  // Of a common word only some rows were read.
  const isRead = new Set(leads.flatMap(({ word }) => (word.isCommon && rare.length > 0 ? [] : [word])))
  const others = (index.ranksByCommon || index.leadsByCommon ? known : queryWords).filter((word) => !isRead.has(word))
  await addWords(rows, index, hits, others.slice(0, maxRanked))
  return [...hits]
    .map(([id, found]) => {
      // Added up in one order: documents with the same words must be equally relevant. Of several spellings one counts.
      const has = known.filter((word) => found.includes(word))
      const counted = new Map(has.toReversed().map(({ term, weight }) => [term, weight]))
      const whole = [...counted.values()].reduce((sum, weight) => sum + weight, 0) / all
      const requested = [...weightOfRequests(counted)].map(([at, weight]) => weight / (ofRequests.get(at) ?? 1))
      return { id, relevance: Math.min(1, Math.max(whole, ...requested)), words: has.map(({ word }) => word) }
    })
    .sort((a, b) => b.relevance - a.relevance || b.id - a.id)
    .slice(0, limit)
}

/** Number of documents of each word of a JSON array; counting stops at the limit. */
export function countedWords(
  db: Builder,
  { textsIn }: Dialect,
  {
    table,
    words,
    only,
    limit,
  }: { table: RawBuilder<unknown>; words: string; only: RawBuilder<unknown>; limit: number },
) {
  return raw<{ word: string; count: number }>(
    db,
    sql`SELECT value AS word, (
          SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE word = texts.value ${only} LIMIT ${limit}) AS counted
        ) AS count FROM ${textsIn(words)}`,
  )
}

interface WeightedWord {
  word: string
  term: SearchTerm
  count: number
  weight: number
  isCommon: boolean
}

/**
 * Weighs words by rarity and importance, the most significant first; `all` is the weight of all that a document should
 * have. Counting stops once a word is common.
 */
async function weighTerms(
  rows: Reading,
  { countUpTo, unknownWeight }: WordIndex,
  terms: readonly SearchTerm[],
  total: number,
): Promise<{ known: WeightedWord[]; all: number; ofRequests: Map<number, number> }> {
  const limit = Math.max(minCommonCount, Math.floor(total * commonShare))
  const words = JSON.stringify([...new Set(terms.flatMap(({ forms }) => forms))])
  const found = await rows.all(countUpTo(rows, { words, limit: limit + 1 }))
  const counts = new Map(found.map(({ word, count }) => [word, Number(count)]))
  const known: WeightedWord[] = []
  const weights = new Map<SearchTerm, number>()
  let all = 0
  for (const term of terms) {
    const { forms, importance = 1, isContext = false } = term
    const count = Math.max(...forms.map((form) => counts.get(form) ?? 0))
    const rarity = Math.log(1 + total / Math.max(1, count))
    const weight = importance * rarity
    const expected = count > 0 ? weight : weight * unknownWeight
    weights.set(term, expected)
    if (!isContext) all += expected
    for (const form of forms)
      if (counts.get(form))
        known.push({ word: form, term, count: counts.get(form) ?? 0, weight, isCommon: count > limit })
  }
  const ofRequests = weightOfRequests(weights)
  return { known: known.sort((a, b) => b.weight - a.weight || a.count - b.count), all: all || 1, ofRequests }
}

/** Sum of these weights for each request of the query. */
function weightOfRequests(weights: ReadonlyMap<SearchTerm, number>): Map<number, number> {
  const sums = new Map<number, number>()
  for (const [{ requests = [] }, weight] of weights)
    for (const at of requests) sums.set(at, (sums.get(at) ?? 0) + weight)
  return sums
}

/** A word by which candidates are found, and the max rows of the index that are read of it, the newest ones. */
interface Lead {
  word: WeightedWord
  maxRows: number
}

/** Common words that say something, which share the rows that are left. */
function commonLeads(known: readonly WeightedWord[], rowsLeft: number): Lead[] {
  const telling = known.filter(
    ({ isCommon, term: { importance = 1, isContext } }) => isCommon && importance === 1 && !isContext,
  )
  const words = telling.slice(0, maxCommonLeads)
  const maxRows = Math.floor(rowsLeft / words.length)
  return maxRows > 0 ? words.map((word) => ({ word, maxRows })) : []
}

/**
 * Documents that contain these words, each with the words it contains; of a very common word only the newest ones are read.
 * The words are encoded as bits of a sum (a document has a word at most once), so that one statement finds and ranks.
 */
async function candidates(
  rows: Reading,
  { table, of, only }: WordIndex,
  leads: Lead[],
): Promise<Map<number, WeightedWord[]>> {
  const occurrences = leads.map(
    ({ word: { word, weight }, maxRows }, at) => sql`SELECT * FROM (
        SELECT ${of} AS id, ${sql.lit(2 ** at)} AS bit, CAST(${weight} AS DOUBLE PRECISION) AS weight
        FROM ${table} WHERE word = ${word} ${only} ORDER BY ${of} DESC LIMIT ${sql.lit(maxRows)}
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
    found.map(({ id, bits }) => [
      Number(id),
      leads.flatMap(({ word }, at) => ((Number(bits) & (2 ** at)) === 0 ? [] : [word])),
    ]),
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
  const byWord = Map.groupBy(words, ({ word }) => word)
  const found = await rows.all(
    raw<{ id: number; word: string }>(
      rows.build,
      sql`SELECT ${of} AS id, word FROM ${table}
          WHERE ${of} IN (${sql.join([...hits.keys()])}) AND word IN (${sql.join([...byWord.keys()])})`,
    ),
  )
  for (const { id, word } of found) {
    hits.get(Number(id))?.push(...(byWord.get(word) ?? []))
  }
}
