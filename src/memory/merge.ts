import { tellsTopic } from '../domain/text/question.ts'
import type { SearchHit } from '../store/knowledge/word-search.ts'
import type { NearMemory } from './vector-cache.ts'

/** Usual constant of reciprocal rank fusion: keeps the first of a list from outweighing the rest. */
const k = 60

/** A memory that matches a query by words, by meaning or by both. */
interface MergedHit {
  id: number
  words: string[]
  /** Match quality, 0 to 1: by words that say something, or by meaning if that is better than chance. */
  relevance: number
  /** Match quality by meaning, if found that way. */
  meaning?: number
  /** Base of the rank: best match quality times reciprocal ranks. */
  merged: number
}

/** Hits of the word search alone. */
export function byWords(hits: readonly SearchHit[]): MergedHit[] {
  return hits.map((hit) => ({ id: hit.id, words: hit.words, relevance: relevanceByWords(hit), merged: hit.relevance }))
}

/** Match quality of a hit, 0 if it has only words that say nothing. */
export function relevanceByWords({ relevance, words }: Pick<SearchHit, 'relevance' | 'words'>): number {
  return tellsTopic(words) ? relevance : 0
}

/**
 * Merges both lists by reciprocal rank, weighted by match quality: ranks alone would make the hundredth nearly as good as
 * the first. The first of one list counts what it would count without the other.
 */
export function byWordsAndMeaning(hits: readonly SearchHit[], near: readonly NearMemory[]): MergedHit[] {
  const byWord = new Map(hits.map((hit) => [hit.id, hit]))
  const byMeaning = new Map(near.map((each) => [each.id, each]))
  const ranks = [ranksIn(hits), ranksIn(near)]
  return [...new Set([...byWord.keys(), ...byMeaning.keys()])].map((id) => {
    const [wordHit, nearHit] = [byWord.get(id), byMeaning.get(id)]
    const [inWords, inMeaning] = [wordHit?.relevance ?? 0, nearHit?.relevance ?? 0]
    const reciprocal = ranks.reduce((sum, rank) => sum + 1 / (k + (rank.get(id) ?? Number.POSITIVE_INFINITY)), 0)
    return {
      id,
      words: wordHit?.words ?? [],
      relevance: Math.max(wordHit ? relevanceByWords(wordHit) : 0, nearHit?.isChance ? 0 : inMeaning),
      ...(nearHit && { meaning: inMeaning }),
      merged: Math.max(inWords, inMeaning) * reciprocal * (k + 1),
    }
  })
}

/** Rank of each id, from 1; equal relevance shares a rank. */
function ranksIn(list: readonly { id: number; relevance: number }[]): Map<number, number> {
  const ranks = new Map<number, number>()
  for (const [at, { id, relevance }] of list.entries()) {
    const before = list[at - 1]
    ranks.set(id, before?.relevance === relevance ? (ranks.get(before.id) ?? at + 1) : at + 1)
  }
  return ranks
}
