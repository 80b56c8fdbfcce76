import type { PassageMatch, RecalledPassageView } from '../api/views/memory.ts'
import type { Millis } from '../domain/clock.ts'
import { memoryWeight } from '../domain/memory.ts'
import { questionTerms } from '../domain/text/question.ts'
import { countPassages, type FoundPassage, passagesOf } from '../store/knowledge/home-files.ts'
import { searchPassages } from '../store/knowledge/memory-search.ts'
import { passageRecallsIn } from '../store/knowledge/passage-recalls.ts'
import type { Reading } from '../store/store.ts'
import { relevanceByWords } from './merge.ts'

/** Min hits that are fetched before ranking by recency. */
const minFetched = 50
const maxFetched = 400
/** A passage has the score of a new memory. */
const score = 1

/** A passage that matches a query, and why. */
export interface RecalledPassage {
  passage: FoundPassage
  /** Relevance × recency, on the scale of memories. */
  rank: number
  relevance: number
  /** Words of the query that it or its heading contains. */
  words: string[]
}

/** Passages of a home's files that match a query, best first. No query is an error. */
export async function recallPassages(
  rows: Reading,
  question: string,
  { home, now, limit }: { home: string; now: Millis; limit: number },
): Promise<RecalledPassage[]> {
  const { own, all } = await countPassages(rows, home)
  if (own === 0) return []
  // Homes that share the database share the index of words: as many more are fetched as belong to others.
  const fetched = Math.min(maxFetched, Math.ceil((Math.max(limit, minFetched) * all) / own))
  const hits = await searchPassages(rows, questionTerms(question), all, fetched)
  const found = await passagesOf(
    rows,
    hits.map(({ id }) => id),
  )
  return hits
    .flatMap((hit): RecalledPassage[] => {
      const passage = found.get(hit.id)
      if (passage?.home !== home) return []
      const rank = hit.relevance * memoryWeight({ score, recalledAt: passage.modifiedAt }, now)
      return [{ passage, relevance: relevanceByWords(hit), words: hit.words, rank }]
    })
    .sort((a, b) => b.rank - a.rank || a.passage.line - b.passage.line || a.passage.id - b.passage.id)
    .slice(0, limit)
}

/** Passage for a list. */
export function passageFound({ passage, rank, words }: RecalledPassage): PassageMatch {
  const { path, line, heading, text } = passage
  return { path, line, ...(heading !== null && { heading }), text, rank: Number(rank.toFixed(3)), words }
}

/** Passages that a run was given, best first. */
export async function remindedOfPassages(rows: Reading, runId: string): Promise<RecalledPassageView[]> {
  const recalls = await passageRecallsIn(rows, runId)
  const current = await passagesOf(
    rows,
    recalls.map(({ passageId }) => passageId),
  )
  return recalls.map(({ passageId, path, line, rank, words }) => {
    const { heading = null, text = '' } = current.get(passageId) ?? {}
    return { path, line, ...(heading !== null && { heading }), text, rank: Number(rank.toFixed(3)), words }
  })
}
