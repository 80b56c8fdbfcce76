import type { Outcome } from './run.ts'

/** Where a folder stands: what a person wants to know first. */
export interface StatusView {
  folder: string
  /** The session that a question without a label goes to. */
  session: string
  /** The model that answers by default; null while none is configured. */
  model: string | null
  /** References of what cannot go on without a person. */
  needsYou: string[]
  /** Runs of this home, whichever folder they belong to. */
  running: number
  queued: number
  /** What providers told of today's calls, UTC. */
  spentTodayUsd: number
  /** What today's calls cost besides that nobody told, may have cost at most, and may cost while they are under way. */
  estimatedTodayUsd: number
  lostTodayUsd: number
  reservedTodayUsd: number
  /** What may be spent in a day. */
  dayLimitUsd: number
  /** Turns that runs left in this folder since the moment asked about, oldest first. */
  sinceLast: { turnId: string; runId: string; session: string; status: Outcome; preview: string; at: string }[]
}
