import type { Millis } from '../domain/clock.ts'
import { weightOf } from '../domain/memory.ts'
import type { PassageFound, RemindedPassage } from '../domain/memory-views.ts'
import { askedWords } from '../domain/words.ts'
import { countPassages, type FoundPassage, passagesOf } from '../store/home-files.ts'
import { searchPassages } from '../store/memory-search.ts'
import { passagesShown } from '../store/passage-recalls.ts'
import type { Reading } from '../store/store.ts'

/** Found before they are weighed by how new they are. */
const lookedAt = 50
/** What somebody wrote down counts as much as a memory that has not proved right or wrong yet. */
const score = 1

/** A passage that fits, and why. */
export interface RecalledPassage {
  passage: FoundPassage
  /** Relevance × recency, on the scale of memories. */
  rank: number
  relevance: number
  /** Words of the question that it has, or its heading. */
  words: string[]
}

/** What the files of the home say that fits a question, best first. No text is an error. */
export async function recallPassages(
  rows: Reading,
  question: string,
  now: Millis,
  limit: number,
): Promise<RecalledPassage[]> {
  const total = await countPassages(rows)
  if (total === 0) return []
  const hits = await searchPassages(rows, askedWords(question), total, Math.max(limit, lookedAt))
  const found = await passagesOf(
    rows,
    hits.map(({ id }) => id),
  )
  return hits
    .flatMap(({ id, relevance, words }): RecalledPassage[] => {
      const passage = found.get(id)
      if (!passage) return []
      return [{ passage, relevance, words, rank: relevance * weightOf({ score, recalledAt: passage.modifiedAt }, now) }]
    })
    .sort((a, b) => b.rank - a.rank || a.passage.line - b.passage.line || a.passage.id - b.passage.id)
    .slice(0, limit)
}

/** One as it is listed. */
export function passageFound({ passage, rank, words }: RecalledPassage): PassageFound {
  const { path, line, heading, text } = passage
  return { path, line, ...(heading !== null && { heading }), text, rank: Number(rank.toFixed(3)), words }
}

/** What a run was reminded of out of files, best first. */
export async function remindedOfPassages(rows: Reading, runId: string): Promise<RemindedPassage[]> {
  const shown = await passagesShown(rows, runId)
  const still = await passagesOf(
    rows,
    shown.map(({ passageId }) => passageId),
  )
  return shown.map(({ passageId, path, line, rank, words }) => {
    const { heading = null, text = '' } = still.get(passageId) ?? {}
    return { path, line, ...(heading !== null && { heading }), text, rank: Number(rank.toFixed(3)), words }
  })
}
