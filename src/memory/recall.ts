import type { Millis } from '../domain/clock.ts'
import { isUntrusted } from '../domain/label.ts'
import { type Memory, memoryWeight } from '../domain/memory.ts'
import { questionTerms } from '../domain/text/question.ts'
import { memoriesOf, newestMemory } from '../store/knowledge/memories.ts'
import { searchMemories, searchTrustedMemories } from '../store/knowledge/memory-search.ts'
import type { Reading } from '../store/store.ts'
import { byWords, byWordsAndMeaning } from './merge.ts'
import type { SemanticMatches } from './semantic-index.ts'

/** Min hits that are fetched before ranking by score and recency. */
const minFetched = 50

/** A memory that matches a query, and why. */
export interface RecalledMemory {
  memory: Memory
  /** Relevance × score × recency; with semantic matches, the merged relevance of both lists. */
  rank: number
  /** Match quality, 0 to 1: by words, or by meaning if that is better than chance. */
  relevance: number
  /** Words of the query that it contains; empty if found by meaning alone. */
  words: string[]
  /** Match quality by meaning, if found that way. */
  meaning?: number
}

/**
 * Memories that match a query, best first. No query is an error; one without words matches nothing. `matches` are the
 * semantic matches, fetched beforehand: a transaction must not wait for the embedder.
 */
export function recall(
  rows: Reading,
  question: string,
  now: Millis,
  limit: number,
  matches?: SemanticMatches,
): Promise<RecalledMemory[]> {
  return recallFrom(rows, question, { now, limit, matches, search: searchMemories, accepts: () => true })
}

/** The same among trusted memories only, for a run that shall not be shown others unasked. */
export function recallTrusted(
  rows: Reading,
  question: string,
  now: Millis,
  limit: number,
  matches?: SemanticMatches,
): Promise<RecalledMemory[]> {
  const accepts = ({ label }: Memory) => !isUntrusted(label)
  return recallFrom(rows, question, { now, limit, matches, search: searchTrustedMemories, accepts })
}

interface RecallOptions {
  now: Millis
  limit: number
  matches: SemanticMatches | undefined
  search: typeof searchMemories
  accepts(memory: Memory): boolean
}

async function recallFrom(
  rows: Reading,
  question: string,
  { now, limit, matches, search, accepts }: RecallOptions,
): Promise<RecalledMemory[]> {
  const total = await newestMemory(rows)
  if (total === undefined) return []
  const hits = await search(rows, questionTerms(question), total, Math.max(limit, minFetched))
  const merged = matches ? byWordsAndMeaning(hits, matches.near) : byWords(hits)
  const found = await memoriesOf(
    rows,
    merged.map(({ id }) => id),
  )
  return merged
    .flatMap(({ id, relevance, words, meaning, merged: baseRank }): RecalledMemory[] => {
      const memory = found.get(id)
      // Rows are authoritative: another process may have forgotten the memory.
      if (!memory || memory.supersededBy !== null || memory.forgottenAt !== null) {
        matches?.drop(id)
        return []
      }
      if (!accepts(memory)) return []
      const rank = baseRank * memoryWeight(memory, now)
      return [{ memory, relevance, words, rank, ...(meaning !== undefined && { meaning }) }]
    })
    .sort((a, b) => b.rank - a.rank || b.memory.id - a.memory.id)
    .slice(0, limit)
}
