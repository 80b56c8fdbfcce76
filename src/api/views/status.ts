import type { Outcome } from '../../domain/run.ts'

/** State of a folder: what a user wants to know first. */
export interface StatusView {
  folder: string
  /** Default session for questions. */
  session: string
  /** The model that answers by default; null while none is configured. */
  model: string | null
  /** References of everything that waits for the user: approvals, then plans. */
  needsYou: string[]
  /** Runs of this home, in all folders. */
  running: number
  queued: number
  /** Cost of today's calls (UTC) as providers reported it. */
  spentTodayUsd: number
  /** Further cost of today's calls: estimated, lost (max), and reserved by current calls. */
  estimatedTodayUsd: number
  lostTodayUsd: number
  reservedTodayUsd: number
  /** Budget per day: the home's, or a user's own; null if that user has none. */
  dayLimitUsd: number | null
  /** Jobs that fire next, the first one first. */
  nextFires: { job: number; name: string; at: string }[]
  /** Jobs that were disabled by themselves, and messages that were given up. */
  disabledJobs: number
  deadMessages: number
  /** Jobs wait until the owner lets them go, since the database was restored from a backup. */
  jobsHeld: boolean
  /** Turns of runs in this folder since the given time, oldest first. */
  sinceLast: { turnId: string; runId: string; session: string; status: Outcome; preview: string; at: string }[]
}
