import type { Millis } from '../domain/clock.ts'
import { type Memory, weightOf } from '../domain/memory.ts'
import { askedWords } from '../domain/words.ts'
import { memoriesOf, newestMemory } from '../store/memories.ts'
import { searchMemories } from '../store/memory-search.ts'
import type { Reading } from '../store/store.ts'
import type { Meant } from './meaning.ts'
import { byWords, byWordsAndMeaning } from './merge.ts'

/** Found before they are weighed by what proved right and what is new. */
const lookedAt = 50

/** A memory that fits, and why. */
export interface Recalled {
  memory: Memory
  /** Relevance × standing × recency; where meaning was asked, relevance as both lists together tell it. */
  rank: number
  /** How well it fits, 0 to 1: by its words, or by its meaning where that is more than chance. */
  relevance: number
  /** Words of the question that it has; none of one that was found by its meaning alone. */
  words: string[]
  /** How well it fits by its meaning, if it was found by that. */
  meaning?: number
}

/**
 * What is known that fits a question, best first. No text is an error; one without words fits nothing. `meant` is what
 * an embedder makes of the question, where there is one: it was asked before, since rows are not kept waiting for it.
 */
export async function recall(
  rows: Reading,
  question: string,
  now: Millis,
  limit: number,
  meant?: Meant,
): Promise<Recalled[]> {
  const total = await newestMemory(rows)
  if (total === undefined) return []
  const hits = await searchMemories(rows, askedWords(question), total, Math.max(limit, lookedAt))
  const fits = meant ? byWordsAndMeaning(hits, meant.near) : byWords(hits)
  const found = await memoriesOf(
    rows,
    fits.map(({ id }) => id),
  )
  return fits
    .flatMap(({ id, relevance, words, meaning, merged }): Recalled[] => {
      const memory = found.get(id)
      // Rows have the last word: another process may have forgotten what lies near.
      if (!memory || memory.supersededBy !== null || memory.forgottenAt !== null) {
        meant?.drop(id)
        return []
      }
      const rank = merged * weightOf(memory, now)
      return [{ memory, relevance, words, rank, ...(meaning !== undefined && { meaning }) }]
    })
    .sort((a, b) => b.rank - a.rank || b.memory.id - a.memory.id)
    .slice(0, limit)
}
