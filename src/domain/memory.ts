import type { Millis } from './clock.ts'
import type { Label } from './label.ts'
import { aboutWords, likeness, wordsIn } from './words.ts'

/** Who put a memory there. */
export const memorySources = ['user', 'agent', 'import'] as const
export type MemorySource = (typeof memorySources)[number]

/** Something worth knowing later, with everything that tells where it came from. */
export interface Memory {
  id: number
  content: string
  tags: string[]
  /** Words it shall be found by although it does not contain them. */
  keywords: string[]
  /** Grows when it proved right, shrinks when it did not. */
  score: number
  source: MemorySource
  label: Label
  /** Where it came from, as far as that is known. */
  runId: string | null
  turnId: string | null
  taskId: number | null
  resultId: number | null
  narrativeId: number | null
  createdAt: Millis
  /** When it was last of use. */
  recalledAt: Millis
  /** The newer one that took its place. */
  supersededBy: number | null
  forgottenAt: Millis | null
}

/** A memory as somebody hands it in. */
export interface MemoryDraft {
  content: string
  tags?: string[]
  keywords?: string[]
  source: MemorySource
  label: Label
  runId?: string | null
  turnId?: string | null
  taskId?: number | null
  resultId?: number | null
  /** The one that it corrects. */
  supersedes?: number
}

/** How an older memory stands to a newer one. */
export type Relation = 'same' | 'contradicts' | 'near' | 'other'

const sameFrom = 0.85
const nearFrom = 0.5

const negations = new Set([
  'not',
  'no',
  'never',
  'cannot',
  'without',
  'nicht',
  'kein',
  'keine',
  'nie',
  'pas',
  'isn',
  'don',
])
/** What stands between what is spoken of and what is said of it. */
const copula = /\s(?:is|are|was|were|uses|use|equals|ist|sind)\s|\s*[:=]\s+/i

/**
 * How two statements stand to each other, by their words alone. Only what cannot both hold is a contradiction: the same
 * thing turned to its opposite, with another number, or with another word behind the same `X is`. Whatever is merely
 * alike may both hold, and somebody must look.
 */
export function relationOf(older: string, newer: string): Relation {
  const [a, b] = [aboutWords(older), aboutWords(newer)]
  const differing = [...missingIn(a, b), ...missingIn(b, a)]
  if (differing.length === 0) return 'same'
  if (differing.some((word) => negations.has(word)) && likeness(without(a), without(b)) >= sameFrom)
    return 'contradicts'
  // Here the small words count, too: of short statements they are most of what is shared.
  const alike = likeness(new Set(wordsIn(older)), new Set(wordsIn(newer)))
  if (alike < nearFrom) return 'other'
  if (differing.every((word) => /\d/.test(word)) || saysOtherwise(older, newer)) return 'contradicts'
  return alike >= sameFrom && !differing.some((word) => /\d/.test(word)) ? 'same' : 'near'
}

function saysOtherwise(older: string, newer: string): boolean {
  const [[of, said], [sameOf, now]] = [halves(older), halves(newer)]
  return of !== '' && of === sameOf && said !== '' && now !== '' && said !== now
}

function halves(text: string): [of: string, said: string] {
  const [of = '', ...said] = text.split(copula)
  return [wordsIn(of).join(' '), wordsIn(said.join(' ')).join(' ')]
}

function missingIn(from: ReadonlySet<string>, other: ReadonlySet<string>): string[] {
  return [...from].filter((word) => !other.has(word))
}

function without(words: ReadonlySet<string>): Set<string> {
  return new Set([...words].filter((word) => !negations.has(word)))
}

const day = 86_400_000
const halfLife = 60 * day

/** How much a memory counts besides fitting: what proved right counts more, what is old counts less, never nothing. */
export function weightOf({ score, recalledAt }: Pick<Memory, 'score' | 'recalledAt'>, now: Millis): number {
  const standing = score >= 0 ? 1 + Math.log2(1 + score) : 1 / (1 - score)
  const recency = 0.5 + 0.5 * 2 ** (-Math.max(0, now - recalledAt) / halfLife)
  return standing * recency
}
