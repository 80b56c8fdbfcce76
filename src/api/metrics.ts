import type { HistogramView } from '../domain/histogram.ts'

/** Figures of a home for monitoring: what the database knows cheaply, and what this process has measured. */
export interface HomeMetrics {
  /** Runs that are not over, by state. */
  runs: { state: string; count: number }[]
  /** Questions that wait for an answer. */
  openApprovals: number
  /** Spending of today (UTC), and its limit. */
  today: { inputTokens: number; outputTokens: number; costUsd: number; limitUsd: number }
  /** Writes to the database, from the request to COMMIT. */
  commits: HistogramView
  /** Model calls by model. */
  modelCalls: { model: string; seconds: HistogramView }[]
}

export interface MetricsApp {
  metrics(): Promise<HomeMetrics>
}
