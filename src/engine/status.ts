import type { Millis } from '../domain/clock.ts'
import type { Wait } from '../domain/run.ts'
import { startOfDay } from '../domain/spending.ts'
import type { StatusView } from '../domain/status-view.ts'
import { openApprovals } from '../store/approvals.ts'
import { turnsLeftSince } from '../store/run-signs.ts'
import { runsOf } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'
import { spentSince } from '../store/usage.ts'
import { preview } from './history.ts'
import { isBackground } from './role.ts'

const mostTurns = 20

/** What only a person can end, besides the calls that wait for their word. */
const others: readonly Wait[] = ['question']

/** Where a folder stands: what waits for a person, what runs, what was spent, what happened since. */
export async function statusOf(
  rows: Reading,
  asked: { folder: string; since: Millis; now: Millis; model: string | null; dayLimitUsd: number },
): Promise<StatusView> {
  const live = (await runsOf(rows, { live: true })).filter((run) => !isBackground(run))
  const spent = await spentSince(rows, startOfDay(asked.now))
  const left = await turnsLeftSince(rows, asked.folder, asked.since, mostTurns)
  return {
    folder: asked.folder,
    session: 'main',
    model: asked.model,
    needsYou: [
      ...(await openApprovals(rows)).map(({ id }) => `approval:${id}`),
      ...live
        .filter(({ waitingFor }) => waitingFor !== null && others.includes(waitingFor))
        .map(({ id }) => `run:${id}`),
    ],
    running: live.filter(({ state }) => state === 'running').length,
    queued: live.filter(({ state }) => state === 'queued').length,
    spentTodayUsd: spent.costUsd,
    estimatedTodayUsd: spent.estimatedUsd,
    lostTodayUsd: spent.lostUsd,
    reservedTodayUsd: spent.reservedUsd,
    dayLimitUsd: asked.dayLimitUsd,
    sinceLast: left.map(({ about, at, ...turn }) => ({
      ...turn,
      preview: preview(about),
      at: new Date(at).toISOString(),
    })),
  }
}
