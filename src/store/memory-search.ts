import { type RawBuilder, sql } from 'kysely'
import { raw } from './raw.ts'
import { type Bound, statement } from './statement.ts'
import type { Reading } from './store.ts'

/** A word that is in more of them than this says little. */
const commonFrom = 0.05
/** Below this many no word is common. */
const few = 100
/** Words of one question that are looked for: the rarest. */
const mostWords = 24
/** Those that the rarest words lead to are weighed by all words. */
const enough = 400
const mostLed = 4000

/** A memory or a passage that a question may mean. */
export interface Hit {
  id: number
  /** Of what the question weighs, the part that this one has: 0 to 1. */
  relevance: number
  /** Words of the question that it has. */
  words: string[]
}

/** Memories that share words with a question, best first. `total`: about how many there are. */
export function searchMemories(rows: Reading, words: readonly string[], total: number, limit: number): Promise<Hit[]> {
  return search(rows, inMemories, words, total, limit)
}

/** Passages of files, likewise. */
export function searchPassages(rows: Reading, words: readonly string[], total: number, limit: number): Promise<Hit[]> {
  return search(rows, inPassages, words, total, limit)
}

/** Where words are kept with what has them. */
interface WordTable {
  table: RawBuilder<unknown>
  /** The column of whose words they are. */
  of: RawBuilder<number>
  countUpTo(args: { word: string; most: number }): Bound<{ count: number }>
}

const inMemories = wordTable('memory_words', 'memory_id')
const inPassages = wordTable('passage_words', 'passage_id')

function wordTable(name: 'memory_words' | 'passage_words', of: 'memory_id' | 'passage_id'): WordTable {
  const table = sql.table(name)
  const countUpTo = statement((db, arg: { word: string; most: number }) =>
    raw<{ count: number }>(
      db,
      sql`SELECT count(*) AS count FROM (SELECT 1 FROM ${table} WHERE word = ${arg.word} LIMIT ${arg.most}) AS counted`,
    ),
  )
  return { table, of: sql.ref(of), countUpTo }
}

/**
 * What shares words with a question, best first. Rare words decide; those that are in more than a twentieth of all are
 * left out unless there are no others. However many there are, only what rare words lead to is looked at.
 */
async function search(
  rows: Reading,
  where: WordTable,
  words: readonly string[],
  total: number,
  limit: number,
): Promise<Hit[]> {
  const known = await weigh(rows, where, [...new Set(words)], total)
  if (known.length === 0) return []
  const rare = known.filter(({ isCommon }) => !isCommon)
  const asked = (rare.length > 0 ? rare : known).slice(0, mostWords)
  const leading: Weighed[] = []
  let led = 0
  for (const word of asked) {
    if (leading.length > 0 && led + word.count > mostLed) break
    leading.push(word)
    led += word.count
  }
  const hits = await candidates(rows, where, leading)
  await addWords(rows, where, hits, asked.slice(leading.length))
  const all = known.reduce((sum, { weight }) => sum + weight, 0)
  return [...hits]
    .map(([id, has]) => ({
      id,
      relevance: has.reduce((sum, { weight }) => sum + weight, 0) / all,
      words: has.map(({ word }) => word),
    }))
    .sort((a, b) => b.relevance - a.relevance || b.id - a.id)
    .slice(0, limit)
}

interface Weighed {
  word: string
  count: number
  weight: number
  isCommon: boolean
}

/** How rare each word is; those that nobody has are left out. Counting ends where a word is known to be common. */
async function weigh(rows: Reading, { countUpTo }: WordTable, words: string[], total: number): Promise<Weighed[]> {
  const limit = Math.max(few, Math.floor(total * commonFrom))
  const weighed: Weighed[] = []
  for (const word of words.slice(0, 200)) {
    const count = Number((await rows.first(countUpTo({ word, most: limit + 1 })))?.count ?? 0)
    if (count > 0) weighed.push({ word, count, weight: Math.log(1 + total / count), isCommon: count > limit })
  }
  return weighed.sort((a, b) => a.count - b.count)
}

/**
 * Those that these words lead to, each with the words it has: a bit for each, which a sum keeps apart because none has a
 * word twice. So one statement finds, weighs and explains.
 */
async function candidates(
  rows: Reading,
  { table, of }: WordTable,
  leading: Weighed[],
): Promise<Map<number, Weighed[]>> {
  const each = (value: (word: Weighed, at: number) => RawBuilder<unknown>) =>
    sql.join(
      leading.map((word, at) => sql`WHEN ${word.word} THEN ${value(word, at)}`),
      sql` `,
    )
  const found = await rows.all(
    raw<{ id: number; bits: number }>(
      rows.build,
      sql`SELECT ${of} AS id, sum(CASE word ${each((_, at) => sql.lit(2 ** at))} END) AS bits
          FROM ${table} WHERE word IN (${sql.join(leading.map(({ word }) => word))})
          GROUP BY ${of}
          ORDER BY sum(CASE word ${each(({ weight }) => sql`CAST(${weight} AS DOUBLE PRECISION)`)} END) DESC, ${of} DESC
          LIMIT ${sql.lit(enough)}`,
    ),
  )
  return new Map(found.map(({ id, bits }) => [Number(id), leading.filter((_, at) => (Number(bits) & (2 ** at)) !== 0)]))
}

/** Adds which of the words that led nowhere these have, too. */
async function addWords(
  rows: Reading,
  { table, of }: WordTable,
  hits: Map<number, Weighed[]>,
  words: Weighed[],
): Promise<void> {
  // What rare words led to may be gone by now.
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
