import type { Millis } from './clock.ts'
import type { Label } from './label.ts'

/** Author of a memory. */
export const memorySources = ['user', 'agent', 'import'] as const
export type MemorySource = (typeof memorySources)[number]

/** A statement worth knowing later, with its provenance. */
export interface Memory {
  id: number
  content: string
  tags: string[]
  /** Extra search words that the content does not contain. */
  keywords: string[]
  /** Raised when it proved right, lowered when it proved wrong. */
  score: number
  source: MemorySource
  label: Label
  /** Its provenance, as far as known. */
  runId: string | null
  turnId: string | null
  taskId: number | null
  resultId: number | null
  narrativeId: number | null
  createdAt: Millis
  /** Last time it was said. */
  saidAt: Millis
  /** Last time it was of use. */
  recalledAt: Millis
  /** The newer memory that replaces it. */
  supersededBy: number | null
  forgottenAt: Millis | null
}

/** A memory before it is stored. */
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
  /** The memory that it replaces. */
  replaces?: number
}

/** The tool by which an agent proposes to trust a memory; its only input is the id. */
export const trustTool = 'memory_trust'

/** Highest score of an untrusted memory: that of a new one. */
export const maxUntrustedScore = 1

const day = 86_400_000
const halfLife = 60 * day

/** Ranking weight besides relevance: a high score raises it, age lowers it, never to zero. */
export function memoryWeight({ score, recalledAt }: Pick<Memory, 'score' | 'recalledAt'>, now: Millis): number {
  const standing = score >= 0 ? 1 + Math.log2(1 + score) : 1 / (1 - score)
  const recency = 0.5 + 0.5 * 2 ** (-Math.max(0, now - recalledAt) / halfLife)
  return standing * recency
}

/** The day on which a memory was saved or last said again, in UTC. */
export function savedDay({ saidAt }: Pick<Memory, 'saidAt'>): string {
  return new Date(saidAt).toISOString().slice(0, 10)
}

const maxCited = 100

/** Ids of the memories that a text cites as `[id:3]`, or as models vary that: `[id:3, id:4]`, `[id:3,4]`, `(ID: 3)`, `memory:3`. */
export function citedMemories(text: string): number[] {
  const lists = text.normalize('NFKC').matchAll(/[[(]\s*id:\s*\d[\d\s,;&id:]*|\bmemory:\s*\d{1,15}\b/gi)
  const ids = [...lists].flatMap(([list]) => [...list.matchAll(/\d+/g)].map(([id]) => Number(id)))
  return [...new Set(ids)].filter(Number.isSafeInteger).slice(0, maxCited)
}
