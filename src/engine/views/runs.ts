import type { RunLine, SpendingKey } from '../../api/views/run.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { withoutDate } from '../../domain/model.ts'
import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { spendingOf, startOfDay, trialKindOf } from '../../domain/spending.ts'
import { idsLike } from '../../store/rows/id-tails.ts'
import type { OwnedBy } from '../../store/rows/own-sessions.ts'
import { lastActivityAt, lastAnsweredCall } from '../../store/rows/run-activity.ts'
import { findRun, runsOf } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { readSteps } from '../../store/rows/steps.ts'
import { allUsage, spendingBy, type UsageRow } from '../../store/rows/usage.ts'
import type { Reading } from '../../store/store.ts'
import { isBuiltIn } from '../model/role.ts'
import { Journal } from '../run/context/journal.ts'
import { doingOf } from '../run/doing.ts'
import { notFound } from '../turns/route.ts'

const recentRuns = 50

/** Unfinished runs; with `all` also the last finished ones. Imported turns are left out. */
export async function listRuns(
  rows: Reading,
  now: number,
  { all = false, ...own }: OwnedBy & { all?: boolean } = {},
): Promise<RunLine[]> {
  const found = await runsOf(rows, all ? own : { live: true, ...own })
  const sessions = new Map((await findSessions(rows)).map((session) => [session.id, session]))
  const work = found.filter(({ kind }) => kind !== 'import').slice(-recentRuns)
  return Promise.all(
    work.map(async (run) => {
      const session = sessions.get(run.sessionId ?? '')
      const talk = sessions.get(session?.narratesId ?? '')
      return { ...(await runLine(rows, run, session, now)), ...(talk && { tellsOf: talk.label }) }
    }),
  )
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

/** Spending by key, and the total. */
export async function listUsage(
  rows: Reading,
  by: SpendingKey,
  now: Millis,
  { today = false, ...own }: OwnedBy & { today?: boolean } = {},
) {
  const agents = new Map(by === 'agent' ? (await runsOf(rows, {})).map(({ id, agent }) => [id, agent]) : [])
  const labels = new Map((await findSessions(rows)).map(({ id, label }) => [id, label]))
  const used = await allUsage(rows, today ? startOfDay(now) : 0, own)
  const models = new Set(used.map(({ model }) => model))
  const keyOf = (row: UsageRow) =>
    ({
      model: undatedIn(models, row.model),
      run: trialKindOf(row.run_id) ?? row.run_id,
      agent: agents.get(row.run_id) ?? trialKindOf(row.run_id) ?? '–',
      session: labels.get(row.session_id ?? '') ?? trialKindOf(row.run_id) ?? '–',
      day: new Date(row.at).toISOString().slice(0, 10),
    })[by]
  const grouped = Map.groupBy(used, keyOf)
  return { rows: [...grouped].map(([key, group]) => ({ key, ...spendingOf(group) })), total: spendingOf(used) }
}

/** Model name without its date, if calls under both exist: failed calls have the requested name, others the provider's. */
function undatedIn(models: ReadonlySet<string>, model: string): string {
  const undated = withoutDate(model)
  return models.has(undated) ? undated : model
}

/** A run as a line of a list. */
export async function runLine(
  rows: Reading,
  run: Run,
  session: Pick<Session, 'label' | 'folder'> | undefined,
  now: Millis,
): Promise<RunLine> {
  const journal = new Journal(run.id, await readSteps(rows, run.id))
  const spent = await spendingBy(rows, { runId: run.id })
  const quietSince = run.finishedAt ?? (await lastActivityAt(rows, run.id)) ?? run.createdAt
  return {
    id: run.id,
    kind: run.kind,
    state: run.state,
    session: session?.label ?? null,
    folder: session?.folder ?? null,
    parentRunId: run.parentRunId,
    rootRunId: run.rootRunId,
    depth: run.depth,
    ...(run.agent !== null && { agent: run.agent }),
    ...(run.agent !== null && !isBuiltIn(run.agent) && { skill: run.agent }),
    ...(run.taskId !== null && { taskId: run.taskId }),
    via: run.via,
    model: { requested: run.modelRequested, actual: (await lastAnsweredCall(rows, run.id))?.model ?? null },
    doing: run.finishedAt === null ? await doingOf(rows, run, journal, now) : (run.error?.message ?? run.state),
    silentForSeconds: seconds(now - quietSince),
    ageSeconds: seconds((run.finishedAt ?? now) - run.createdAt),
    tokens: spent.inputTokens + spent.outputTokens,
    costUsd: spent.costUsd,
    estimatedUsd: spent.estimatedUsd,
    lostUsd: spent.lostUsd,
    ...(run.waitingFor && { waitingFor: run.waitingFor }),
  }
}

function seconds(duration: Millis): number {
  return Math.max(0, Math.round(duration / 1000))
}
