import type { Millis } from '../domain/clock.ts'
import { type Memory, weightOf } from '../domain/memory.ts'
import { askedWords } from '../domain/words.ts'
import { memoriesOf, newestMemory } from '../store/memories.ts'
import { searchMemories } from '../store/memory-search.ts'
import type { Reading } from '../store/store.ts'

/** Found before they are weighed by what proved right and what is new. */
const lookedAt = 50

/** A memory that fits, and why. */
export interface Recalled {
  memory: Memory
  /** Relevance × standing × recency. */
  rank: number
  relevance: number
  /** Words of the question that it has. */
  words: string[]
}

/** What is known that fits a question, best first. No text is an error; one without words fits nothing. */
export async function recall(rows: Reading, question: string, now: Millis, limit: number): Promise<Recalled[]> {
  const total = await newestMemory(rows)
  if (total === undefined) return []
  const hits = await searchMemories(rows, askedWords(question), total, Math.max(limit, lookedAt))
  const found = await memoriesOf(
    rows,
    hits.map(({ id }) => id),
  )
  return hits
    .flatMap(({ id, relevance, words }): Recalled[] => {
      const memory = found.get(id)
      return memory ? [{ memory, relevance, words, rank: relevance * weightOf(memory, now) }] : []
    })
    .sort((a, b) => b.rank - a.rank || b.memory.id - a.memory.id)
    .slice(0, limit)
}
