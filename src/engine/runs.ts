import type { RunLine, SpendingKey } from '../domain/app.ts'
import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Run } from '../domain/run.ts'
import { type Session, talkOf } from '../domain/session.ts'
import { spendingOf, startOfDay } from '../domain/spending.ts'
import { idsLike } from '../store/id-tails.ts'
import { lastAnswered, lastSign } from '../store/run-signs.ts'
import { findRun, runsOf } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import { allUsage, spentBy, type UsageRow } from '../store/usage.ts'
import { Journal } from './journal.ts'
import { isBuiltIn } from './role.ts'
import { notFound } from './route.ts'

const recentRuns = 50

/** Runs that are not done; with `all` the last finished ones too. Hand-made turns are not work. */
export async function listRuns(rows: Reading, now: number, { all = false } = {}): Promise<RunLine[]> {
  const found = await runsOf(rows, all ? {} : { live: true })
  const sessions = new Map((await findSessions(rows)).map((session) => [session.id, session]))
  const work = found.filter(({ kind }) => kind !== 'import').slice(-recentRuns)
  return Promise.all(
    work.map(async (run) => {
      const session = sessions.get(run.sessionId ?? '')
      const talk = sessions.get(talkOf(session?.label ?? '') ?? '')
      return { ...(await runLine(rows, run, session, now)), ...(talk && { tellsOf: talk.label }) }
    }),
  )
}

/** The run that this text names: `run:ID`, an id, or a head or tail of one. */
export async function runNamed(rows: Reading, text: string): Promise<Run> {
  const id = text.replace(/^run:/, '')
  const [only, ...others] = /^[0-9a-z]{3,20}$/.test(id) ? await idsLike(rows, 'runs', id) : []
  if (others.length > 0 && only !== id)
    throw new HeddleError('ambiguous', `"${id}" fits several runs`, 'write more of the id')
  const run = only === undefined ? undefined : await findRun(rows, only)
  if (!run) throw notFound('run', id)
  return run
}

/** What was spent, and what may have been. */
export async function listUsage(rows: Reading, by: SpendingKey, now: Millis, { today = false } = {}) {
  const agents = new Map(by === 'agent' ? (await runsOf(rows, {})).map(({ id, agent }) => [id, agent]) : [])
  const labels = new Map((await findSessions(rows)).map(({ id, label }) => [id, label]))
  const keyOf = (row: UsageRow) =>
    ({
      model: row.model,
      run: row.run_id,
      agent: agents.get(row.run_id) ?? '–',
      session: labels.get(row.session_id ?? '') ?? '–',
      day: new Date(row.at).toISOString().slice(0, 10),
    })[by]
  const used = await allUsage(rows, today ? startOfDay(now) : 0)
  const grouped = Map.groupBy(used, keyOf)
  return { rows: [...grouped].map(([key, group]) => ({ key, ...spendingOf(group) })), total: spendingOf(used) }
}

/** A run in a list, with what it is at. */
export async function runLine(
  rows: Reading,
  run: Run,
  session: Pick<Session, 'label' | 'folder'> | undefined,
  now: Millis,
): Promise<RunLine> {
  const journal = new Journal(run.id, await readSteps(rows, run.id))
  const spent = await spentBy(rows, { runId: run.id })
  const quietSince = run.finishedAt ?? (await lastSign(rows, run.id)) ?? run.createdAt
  const open = journal.open.map(({ name }) => name).join(', ')
  const doing = {
    queued: 'waits for its turn',
    running: open === '' ? 'thinks' : open,
    waiting: `waits: ${run.waitingFor}`,
  }
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
    model: { requested: run.modelRequested, actual: (await lastAnswered(rows, run.id))?.model ?? null },
    doing: run.finishedAt === null ? doing[run.state as keyof typeof doing] : (run.error?.message ?? run.state),
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
