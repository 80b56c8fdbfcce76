import {
  checkLimit,
  cursorFrom,
  type ListPage,
  maxPage,
  type PageOptions,
  positionOfCursor,
} from '../../api/views/page.ts'
import type { DayUsage, RunFilter, RunLine, SpendingKey, UsageReport } from '../../api/views/run.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import { idPattern } from '../../domain/id.ts'
import { withoutDate } from '../../domain/model.ts'
import type { Run } from '../../domain/run.ts'
import { spendingOf, startOfDay } from '../../domain/spending.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { idsLike } from '../../store/rows/id-tails.ts'
import { inReportOrder, totalUsage, type UsageGroup, usageBy, usageOfDays } from '../../store/rows/lists/usage-lists.ts'
import { inputExcerpts, type ListedRun, listedRuns, spendingOfRuns } from '../../store/rows/run-lists.ts'
import { findRun } from '../../store/rows/runs.ts'
import type { Reading } from '../../store/store.ts'
import { isBuiltIn } from '../model/role.ts'
import { describeActivity } from '../run/describe-activity.ts'
import { preview } from '../turns/history.ts'
import { notFound } from '../turns/route.ts'

const defaultRuns = 50
const maxDays = 366
const day: Millis = 86_400_000

/** Unfinished runs; with `all` also finished ones. The newest, oldest first. Imported turns are left out. */
export async function listRuns(
  rows: Reading,
  now: Millis,
  {
    all = false,
    limit = defaultRuns,
    after,
    requestsOf,
    root,
    folder,
    agent,
    failed = false,
    ...own
  }: OwnedBy & RunFilter = {},
): Promise<ListPage<RunLine>> {
  const page = { limit: checkLimit(limit) + 1, ...(after !== undefined && { after: checkRunCursor(after) }) }
  const at = folder === undefined ? {} : { folder }
  const scope =
    requestsOf === undefined
      ? { sessions: { ...own, ...at } }
      : { sessions: own, requestsOf: { ...own, ...at, label: requestsOf } }
  const request = root === undefined ? {} : { root: checkRunCursor(root) }
  const only = { failed, ...(agent !== undefined && { agent: agent.replace(/^@/, '') }) }
  const found = await listedRuns(rows, { live: !all, ...scope, ...request, ...only }, page)
  const shown = found.slice(-limit)
  const oldest = found.length > limit ? shown[0]?.run.id : undefined
  return { rows: await runLines(rows, shown, now), ...(oldest !== undefined && { next: oldest }) }
}

/** The cursor of a list of runs: a whole id. */
function checkRunCursor(after: string): string {
  const id = after.replace(/^run:/, '')
  if (idPattern.test(id)) return id
  throw new UsageError('this is not the cursor of a list of runs', 'use the whole id of a run', 'bad_cursor')
}

/** Finds a run by `run:ID`, an id, or the start or end of one. */
export async function resolveRun(rows: Reading, text: string): Promise<Run> {
  return (await findRunByReference(rows, text)) ?? Promise.reject(notFound('run', text.replace(/^run:/, '')))
}

/** The same; undefined if there is none. */
export async function findRunByReference(rows: Reading, text: string): Promise<Run | undefined> {
  const id = text.replace(/^run:/, '')
  const [only, ...others] = /^[0-9a-z]{3,20}$/.test(id) ? await idsLike(rows, 'runs', id) : []
  if (others.length > 0 && only !== id)
    throw new HeddleError('ambiguous', `"${id}" fits several runs`, 'write more of the id')
  return only === undefined ? undefined : findRun(rows, only)
}

/** Spending by key, and the total of all. Keys in the order of their first call; a limit leaves out the oldest. */
export async function listUsage(
  rows: Reading,
  by: SpendingKey,
  now: Millis,
  { today = false, limit = maxPage, after, ...own }: OwnedBy & PageOptions & { today?: boolean } = {},
): Promise<UsageReport> {
  const scope = { since: today ? startOfDay(now) : 0, ...own }
  const [first, key] = after === undefined ? [] : positionOfCursor(after)
  const position = first === undefined || key === undefined ? undefined : { first, key }
  const size = checkLimit(limit) + 1
  // There are few models, and two names of one become one group.
  const groups =
    by === 'model'
      ? mergeDated(await usageBy(rows, by, scope, {})).filter((each) => !position || inReportOrder(position, each) < 0)
      : await usageBy(rows, by, scope, { limit: size, ...(position && { after: position }) })
  const shown = groups.slice(0, limit)
  const last = groups.length > limit ? shown.at(-1) : undefined
  const report = shown.reverse().map(({ key, sums }) => ({
    key: by === 'day' ? new Date(Number(key) * day).toISOString().slice(0, 10) : key,
    ...spendingOf(sums),
  }))
  const total = await totalUsage(rows, scope)
  return { rows: report, total, ...(last && { next: cursorFrom([last.first, last.key]) }) }
}

/** Spending of the last days by model, oldest first. */
export async function listUsageByDay(
  rows: Reading,
  days: number,
  now: Millis,
  { principal }: OwnedBy,
): Promise<DayUsage[]> {
  if (!Number.isInteger(days) || days < 1 || days > maxDays)
    throw new UsageError(`"${days}" is not a number of days`, `use a whole number from 1 to ${maxDays}`, 'bad_limit')
  const since = startOfDay(now) - (days - 1) * day
  const found = await usageOfDays(rows, { since, ...(principal !== undefined && { principal }) })
  return found.map(({ day: number, model, sums }) => ({
    day: new Date(number * day).toISOString().slice(0, 10),
    model,
    ...spendingOf(sums),
  }))
}

/** Merges groups of a model's dated and undated name: failed calls have the requested name, others the provider's. */
function mergeDated(groups: UsageGroup[]): UsageGroup[] {
  const names = new Set(groups.map(({ key }) => key))
  const merged = Map.groupBy(groups, ({ key }) => (names.has(withoutDate(key)) ? withoutDate(key) : key))
  return [...merged]
    .map(([key, same]) => ({
      key,
      first: Math.min(...same.map(({ first }) => first)),
      sums: same.flatMap(({ sums }) => sums),
    }))
    .sort(inReportOrder)
}

/** Runs as lines of a list. The number of statements does not depend on how many there are. */
export async function runLines(rows: Reading, listed: readonly ListedRun[], now: Millis): Promise<RunLine[]> {
  const runs = listed.map(({ run }) => run)
  const spending = await spendingOfRuns(
    rows,
    runs.map(({ id }) => id),
  )
  const asked = await inputExcerpts(
    rows,
    runs.map(({ id }) => id),
  )
  const unfinished = runs.filter(({ finishedAt }) => finishedAt === null)
  const doing = await describeActivity(rows, unfinished, now)
  return listed.map((each) => {
    const { run, session, narrates, activeAt, model, taskNumber } = each
    const spent = spending.get(run.id) ?? spendingOf([])
    return {
      id: run.id,
      kind: run.kind,
      state: run.state,
      session: session?.label ?? null,
      folder: session?.folder ?? null,
      parentRunId: run.parentRunId,
      rootRunId: run.rootRunId,
      depth: run.depth,
      asked: preview(asked.get(run.id) ?? ''),
      createdAt: new Date(run.createdAt).toISOString(),
      finishedAt: run.finishedAt === null ? null : new Date(run.finishedAt).toISOString(),
      ...(run.agent !== null && { agent: run.agent }),
      ...(run.options.routedBy !== undefined && { routedBy: run.options.routedBy }),
      ...(run.agent !== null && !isBuiltIn(run.agent) && { skill: run.agent }),
      ...(run.taskId !== null && { taskId: run.taskId }),
      ...(taskNumber !== null && { taskNumber }),
      via: run.via,
      lane: run.lane,
      model: { requested: run.modelRequested, actual: model, ...(run.modelClamp && { clamped: run.modelClamp }) },
      doing: doing.get(run.id) ?? run.error?.message ?? run.state,
      silentForSeconds: seconds(now - (run.finishedAt ?? activeAt ?? run.createdAt)),
      ageSeconds: seconds((run.finishedAt ?? now) - run.createdAt),
      tokens: spent.inputTokens + spent.outputTokens,
      costUsd: spent.costUsd,
      estimatedUsd: spent.estimatedUsd,
      lostUsd: spent.lostUsd,
      ...(run.waitingFor && { waitingFor: run.waitingFor }),
      ...(narrates !== null && { tellsOf: narrates }),
    }
  })
}

function seconds(duration: Millis): number {
  return Math.max(0, Math.round(duration / 1000))
}
