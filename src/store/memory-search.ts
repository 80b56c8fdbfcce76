import { sql } from 'kysely'
import { raw } from './raw.ts'
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
  const ids = await candidates(rows, leading)
  const all = known.reduce((sum, { weight }) => sum + weight, 0)
  const hits = await scored(rows, asked, ids)
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
    const counted = await rows.first(
      raw<{ count: number }>(
        rows.build,
        sql`SELECT count(*) AS count FROM (SELECT 1 FROM memory_words WHERE word = ${word} LIMIT ${limit + 1}) AS counted`,
      ),
    )
    const count = Number(counted?.count ?? 0)
    if (count > 0) weighed.push({ word, count, weight: Math.log(1 + total / count), isCommon: count > limit })
  }
  return weighed.sort((a, b) => a.count - b.count)
}

async function candidates(rows: Reading, leading: Weighed[]): Promise<number[]> {
  const weights = sql.join(
    leading.map(({ word, weight }) => sql`WHEN ${word} THEN CAST(${weight} AS DOUBLE PRECISION)`),
    sql` `,
  )
  const found = await rows.all(
    raw<{ id: number }>(
      rows.build,
      sql`SELECT memory_id AS id FROM memory_words WHERE word IN (${sql.join(leading.map(({ word }) => word))})
          GROUP BY memory_id ORDER BY sum(CASE word ${weights} END) DESC, memory_id DESC LIMIT ${enough}`,
    ),
  )
  return found.map(({ id }) => Number(id))
}

async function scored(rows: Reading, asked: Weighed[], ids: number[]): Promise<Map<number, Weighed[]>> {
  const byWord = new Map(asked.map((each) => [each.word, each]))
  const found = await rows.all(
    rows.build
      .selectFrom('memory_words')
      .select(['memory_id', 'word'])
      .where('memory_id', 'in', ids)
      .where('word', 'in', [...byWord.keys()]),
  )
  const hits = new Map<number, Weighed[]>()
  for (const { memory_id, word } of found) {
    const has = byWord.get(word)
    if (has) hits.set(memory_id, [...(hits.get(memory_id) ?? []), has])
  }
  return hits
}
