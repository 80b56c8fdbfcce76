import { cosine } from './packed-vector.ts'

/**
 * Sentences unrelated to anything stored here. Models differ in the similarity they give to unrelated texts (0.1 with
 * some, 0.7 with others), so that a query is first compared with these.
 */
export const baselineSentences: readonly string[] = [
  'The cat sleeps on the warm windowsill all afternoon.',
  'Whisk the eggs with sugar until the mixture turns pale.',
  'The train to the coast leaves from platform nine.',
  'Her grandfather repaired violins in a small village.',
  'Heavy snow is expected in the mountains tonight.',
  'The goalkeeper saved a penalty in the last minute.',
  'Please water the tomatoes while we are on holiday.',
  'The museum shows Roman coins and broken pottery.',
  'He has been learning the piano since spring.',
  'The dentist says that the tooth must come out.',
  'They painted the kitchen yellow and the door blue.',
  'A whale surfaced close to the fishing boat.',
  'Inflation made bread and butter more expensive.',
  'The choir sings in the old church on Sundays.',
  "My shoes are still wet from yesterday's rain.",
  'The senator resigned after a long debate.',
  'Her novel is set in a harbour town a century ago.',
  'The volcano has been quiet for two hundred years.',
  'Two cups of coffee and a slice of apple cake, please.',
  'The beekeeper moved the hives to the edge of the wood.',
  'Der Hund bellt, sobald es an der Tür klingelt.',
  'Am Abend gehen wir noch eine Runde um den See.',
  'Le boulanger ouvre sa boutique à six heures.',
  'Mi hermana baila flamenco desde niña.',
]

/** A query may really be about one or two of them: the third nearest is taken as unrelated. */
const unrelatedIndex = 2
/** Min vectors for meaningful statistics. */
const minCount = 30

/** Similarity of unrelated texts to the query. */
export function baselineSimilarity(question: Float32Array, vectors: readonly Int8Array[]): number {
  const nearest = vectors.map((vector) => cosine(question, vector)).sort((a, b) => b - a)
  return Math.max(0, nearest[unrelatedIndex] ?? 0)
}

/** Scales a similarity from baseline to identical: 0 to 1. */
export function relevanceOf(similarity: number, baseline: number): number {
  return Math.max(0, (similarity - baseline) / (1 - baseline))
}

/** Statistics over all vectors compared with a query. */
export interface SimilarityStats {
  count: number
  sum: number
  squares: number
}

/** Similarity that the nearest of so many vectors would have by chance. */
export function chanceSimilarity({ count, sum, squares }: SimilarityStats): number {
  if (count < minCount) return 0
  const mean = sum / count
  const spread = Math.sqrt(Math.max(0, squares / count - mean * mean))
  return mean + spread * Math.sqrt(2 * Math.log(count))
}
