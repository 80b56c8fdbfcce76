import { cosine } from './packed-vector.ts'

/**
 * Sentences that have nothing to do with what anybody keeps here. Models differ in how near they place things that have
 * nothing in common (0.1 with some, 0.7 with others), so that a question is first compared with these.
 */
export const yardstick: readonly string[] = [
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

/** Somebody may talk of one of them, or of two: the third nearest is what a stranger looks like. */
const stranger = 2
/** Below this many there is no telling what is usual among them. */
const fewest = 30

/** How near something has nothing to do with the question. */
export function strangersAt(question: Float32Array, vectors: readonly Int8Array[]): number {
  const nearest = vectors.map((vector) => cosine(question, vector)).sort((a, b) => b - a)
  return Math.max(0, nearest[stranger] ?? 0)
}

/** How far from a stranger to the very same: 0 to 1. */
export function relevanceOf(near: number, strangers: number): number {
  return Math.max(0, (near - strangers) / (1 - strangers))
}

/** All that are compared with a question, summed up. */
export interface Crowd {
  count: number
  sum: number
  squares: number
}

/** How near the nearest of so many would be by chance alone. */
export function chanceIn({ count, sum, squares }: Crowd): number {
  if (count < fewest) return 0
  const mean = sum / count
  const spread = Math.sqrt(Math.max(0, squares / count - mean * mean))
  return mean + spread * Math.sqrt(2 * Math.log(count))
}
