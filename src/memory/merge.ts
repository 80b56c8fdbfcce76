import type { Hit } from '../store/memory-search.ts'
import type { Near } from './known-vectors.ts'

/** The usual constant of reciprocal ranks: the first of a list does not outweigh everything behind it. */
const k = 60

/** A memory that a question may mean, by its words, by what it means, or by both. */
export interface Fit {
  id: number
  words: string[]
  /** How well it fits, 0 to 1: by its words, or by its meaning where that is more than chance. */
  relevance: number
  /** The same by its meaning, if it was found by that. */
  meaning?: number
  /** What its rank begins with: how well it fits in any way, and how far ahead it is in each list. */
  merged: number
}

/** What words found alone. */
export function byWords(hits: readonly Hit[]): Fit[] {
  return hits.map(({ id, relevance, words }) => ({ id, words, relevance, merged: relevance }))
}

/**
 * Both lists in one, by reciprocal rank: who is ahead in both comes first. Ranks alone would make the hundredth nearly as
 * good as the first and let what proved right elsewhere pass it, so that they are weighed by how well each fits. The
 * first of one list counts what it would count without the other.
 */
export function byWordsAndMeaning(hits: readonly Hit[], near: readonly Near[]): Fit[] {
  const byWord = new Map(hits.map((hit) => [hit.id, hit]))
  const byMeaning = new Map(near.map((each) => [each.id, each]))
  const ranks = [ranksIn(hits), ranksIn(near)]
  return [...new Set([...byWord.keys(), ...byMeaning.keys()])].map((id) => {
    const [said, meant] = [byWord.get(id), byMeaning.get(id)]
    const [inWords, inMeaning] = [said?.relevance ?? 0, meant?.relevance ?? 0]
    const reciprocal = ranks.reduce((sum, rank) => sum + 1 / (k + (rank.get(id) ?? Number.POSITIVE_INFINITY)), 0)
    return {
      id,
      words: said?.words ?? [],
      relevance: Math.max(inWords, meant?.isChance ? 0 : inMeaning),
      ...(meant && { meaning: inMeaning }),
      merged: Math.max(inWords, inMeaning) * reciprocal * (k + 1),
    }
  })
}

/** Who is how far ahead, from 1; those that fit equally well share their rank. */
function ranksIn(list: readonly { id: number; relevance: number }[]): Map<number, number> {
  const ranks = new Map<number, number>()
  for (const [at, { id, relevance }] of list.entries()) {
    const before = list[at - 1]
    ranks.set(id, before?.relevance === relevance ? (ranks.get(before.id) ?? at + 1) : at + 1)
  }
  return ranks
}
