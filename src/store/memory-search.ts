import { type RawBuilder, sql } from 'kysely'
import { raw } from './raw.ts'
import { statement } from './statement.ts'
import type { Reading } from './store.ts'

/** A word that is in more of them than this says little. */
const commonFrom = 0.05
/** Below this many memories no word is common. */
const few = 100
/** Words of one question that are looked for: the rarest. */
const mostWords = 24
/** Memories that the rarest words lead to are weighed by all words. */
const enough = 400
const mostLed = 4000

/** A memory that a question may mean. */
export interface Hit {
  id: number
  /** Of what the question weighs, the part that this one has: 0 to 1. */
  relevance: number
  /** Words of the question that it has. */
  words: string[]
}

/**
 * Memories that share words with a question, best first. Rare words decide; those that are in more than a twentieth of
 * all are left out unless there are no others. However many there are, only what rare words lead to is looked at.
 */
export async function searchMemories(
  rows: Reading,
  words: readonly string[],
  total: number,
  limit: number,
): Promise<Hit[]> {
  const known = await weigh(rows, [...new Set(words)], total)
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
  const hits = await candidates(rows, leading)
  await addWords(rows, hits, asked.slice(leading.length))
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
async function weigh(rows: Reading, words: string[], total: number): Promise<Weighed[]> {
  const limit = Math.max(few, Math.floor(total * commonFrom))
  const weighed: Weighed[] = []
  for (const word of words.slice(0, 200)) {
    const count = Number((await rows.first(countUpTo({ word, most: limit + 1 })))?.count ?? 0)
    if (count > 0) weighed.push({ word, count, weight: Math.log(1 + total / count), isCommon: count > limit })
  }
  return weighed.sort((a, b) => a.count - b.count)
}

/**
 * The memories that these words lead to, each with those it has: a bit for each word, which a sum keeps apart because a
 * memory has a word once. So one statement finds, weighs and explains.
 */
async function candidates(rows: Reading, leading: Weighed[]): Promise<Map<number, Weighed[]>> {
  const each = (value: (word: Weighed, at: number) => RawBuilder<unknown>) =>
    sql.join(
      leading.map((word, at) => sql`WHEN ${word.word} THEN ${value(word, at)}`),
      sql` `,
    )
  const found = await rows.all(
    raw<{ id: number; bits: number }>(
      rows.build,
      sql`SELECT memory_id AS id, sum(CASE word ${each((_, at) => sql.lit(2 ** at))} END) AS bits
          FROM memory_words WHERE word IN (${sql.join(leading.map(({ word }) => word))})
          GROUP BY memory_id
          ORDER BY sum(CASE word ${each(({ weight }) => sql`CAST(${weight} AS DOUBLE PRECISION)`)} END) DESC, memory_id DESC
          LIMIT ${sql.lit(enough)}`,
    ),
  )
  return new Map(found.map(({ id, bits }) => [Number(id), leading.filter((_, at) => (Number(bits) & (2 ** at)) !== 0)]))
}

/** Adds which of the words that led nowhere these memories have, too. */
async function addWords(rows: Reading, hits: Map<number, Weighed[]>, words: Weighed[]): Promise<void> {
  if (words.length === 0) return
  const byWord = new Map(words.map((each) => [each.word, each]))
  const found = await rows.all(
    rows.build
      .selectFrom('memory_words')
      .select(['memory_id', 'word'])
      .where('memory_id', 'in', [...hits.keys()])
      .where('word', 'in', [...byWord.keys()]),
  )
  for (const { memory_id, word } of found) {
    const has = byWord.get(word)
    if (has) hits.get(memory_id)?.push(has)
  }
}

const countUpTo = statement((db, arg: { word: string; most: number }) =>
  raw<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM (SELECT 1 FROM memory_words WHERE word = ${arg.word} LIMIT ${arg.most}) AS counted`,
  ),
)
