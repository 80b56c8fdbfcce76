import type { StatusView } from '../../api/views/status.ts'
import type { Millis } from '../../domain/clock.ts'
import { startOfDay } from '../../domain/spending.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { openApprovals } from '../../store/rows/approvals.ts'
import { countJobs, listJobs } from '../../store/rows/jobs/jobs.ts'
import { countDead } from '../../store/rows/jobs/outbox.ts'
import { plansAwaitingUser } from '../../store/rows/plans.ts'
import { turnsFinishedSince } from '../../store/rows/run-activity.ts'
import { runsOf } from '../../store/rows/runs.ts'
import { spentSince } from '../../store/rows/usage.ts'
import type { Reading } from '../../store/store.ts'
import { areJobsHeld } from '../jobs/fire.ts'
import { isBackground } from '../model/role.ts'
import { userOf } from '../run/sender.ts'
import { preview } from '../turns/history.ts'

const maxTurns = 20
const maxFires = 3

/** Status of a folder: what waits for the user, what runs, what was spent, what happened since. */
export async function statusOf(
  rows: Reading,
  options: OwnedBy & { folder: string; since: Millis; now: Millis; model: string | null; dayLimitUsd: number },
): Promise<StatusView> {
  const own: OwnedBy = options.principal === undefined ? {} : { principal: options.principal }
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
    needsYou: [
      ...(await openApprovals(rows, own)).map(({ id }) => `approval:${id}`),
      ...(await plansAwaitingUser(rows, own)).map((id) => `plan:${id}`),
    ],
    running: live.filter(({ state }) => state === 'running').length,
    queued: live.filter(({ state }) => state === 'queued').length,
    spentTodayUsd: spent.costUsd,
    estimatedTodayUsd: spent.estimatedUsd,
    lostTodayUsd: spent.lostUsd,
    reservedTodayUsd: spent.reservedUsd,
    // What the owner may spend is for the owner only.
    dayLimitUsd: own.principal === undefined ? options.dayLimitUsd : await ownDayLimit(rows, own.principal),
    ...(await jobStatus(rows, own)),
    sinceLast: left.map(({ about, at, ...turn }) => ({
      ...turn,
      preview: preview(about),
      at: new Date(at).toISOString(),
    })),
  }
}

async function ownDayLimit(rows: Reading, principal: string): Promise<number | null> {
  return (await userOf(rows, principal))?.perDayUsd ?? null
}

/** Summary of jobs for the status view. */
async function jobStatus(
  rows: Reading,
  own: OwnedBy,
): Promise<Pick<StatusView, 'nextFires' | 'disabledJobs' | 'deadMessages' | 'jobsHeld'>> {
  const next = await listJobs(rows, { ...own, nextOnly: true, limit: maxFires })
  return {
    nextFires: next.map(({ id, name, nextAt }) => ({ job: id, name, at: new Date(nextAt ?? 0).toISOString() })),
    disabledJobs: await countJobs(rows, { ...own, stoppedOnly: true }),
    deadMessages: await countDead(rows, own),
    jobsHeld: next.length > 0 && (await areJobsHeld(rows)),
  }
}
