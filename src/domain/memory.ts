import type { Millis } from './clock.ts'
import type { Label } from './label.ts'

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
  /** The memory that it takes the place of. */
  replaces?: number
}

const day = 86_400_000
const halfLife = 60 * day

/** How much a memory counts besides fitting: what proved right counts more, what is old counts less, never nothing. */
export function weightOf({ score, recalledAt }: Pick<Memory, 'score' | 'recalledAt'>, now: Millis): number {
  const standing = score >= 0 ? 1 + Math.log2(1 + score) : 1 / (1 - score)
  const recency = 0.5 + 0.5 * 2 ** (-Math.max(0, now - recalledAt) / halfLife)
  return standing * recency
}
