import type { StatusView } from '../../api/views/status.ts'
import type { Millis } from '../../domain/clock.ts'
import { startOfDay } from '../../domain/spending.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { openApprovals } from '../../store/rows/approvals.ts'
import { turnsFinishedSince } from '../../store/rows/run-activity.ts'
import { runsOf } from '../../store/rows/runs.ts'
import { spentSince } from '../../store/rows/usage.ts'
import type { Reading } from '../../store/store.ts'
import { isBackground } from '../model/role.ts'
import { preview } from '../turns/history.ts'

const maxTurns = 20

/** Status of a folder: what waits for the user, what runs, what was spent, what happened since. */
export async function statusOf(
  rows: Reading,
  options: OwnedBy & { folder: string; since: Millis; now: Millis; model: string | null; dayLimitUsd: number },
): Promise<StatusView> {
  const own = options.principal === undefined ? {} : { principal: options.principal }
  const live = (await runsOf(rows, { live: true, ...own })).filter((run) => !isBackground(run))
  const spent = await spentSince(rows, startOfDay(options.now), own)
  const left = await turnsFinishedSince(rows, {
    ...{ folder: options.folder, since: options.since, limit: maxTurns },
    ...own,
  })
  return {
    folder: options.folder,
    session: 'main',
    model: options.model,
    needsYou: (await openApprovals(rows, own)).map(({ id }) => `approval:${id}`),
    running: live.filter(({ state }) => state === 'running').length,
    queued: live.filter(({ state }) => state === 'queued').length,
    spentTodayUsd: spent.costUsd,
    estimatedTodayUsd: spent.estimatedUsd,
    lostTodayUsd: spent.lostUsd,
    reservedTodayUsd: spent.reservedUsd,
    dayLimitUsd: options.dayLimitUsd,
    sinceLast: left.map(({ about, at, ...turn }) => ({
      ...turn,
      preview: preview(about),
      at: new Date(at).toISOString(),
    })),
  }
}
