import type { MetricsApp } from '../api/metrics.ts'
import { startOfDay } from '../domain/spending.ts'
import type { Runtime } from '../engine/runtime.ts'
import { openApprovals } from '../store/rows/approvals.ts'
import { countUnfinished } from '../store/rows/run-lists.ts'
import { spentSince } from '../store/rows/usage.ts'
import type { Meter } from './meter.ts'

/** Figures for monitoring; every statement reads an index of what is open or of today. */
export function metricsApp(
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
  meter: Meter,
  limitUsd: number,
): MetricsApp {
  return {
    metrics: () =>
      store.read(async (rows) => {
        const [runs, approvals, today] = await Promise.all([
          countUnfinished(rows),
          openApprovals(rows),
          spentSince(rows, startOfDay(clock.now())),
        ])
        const { inputTokens, outputTokens, costUsd, estimatedUsd } = today
        return {
          runs,
          openApprovals: approvals.length,
          today: { inputTokens, outputTokens, costUsd: costUsd + estimatedUsd, limitUsd },
          ...meter.view(),
        }
      }),
  }
}
