import type { RunLine, Spending } from '../domain/app.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Run } from '../domain/run.ts'
import { findRun, runIdsLike, runsOf } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import { allUsage, spentBy, type UsageRow } from '../store/usage.ts'
import { Journal } from './journal.ts'
import { notFound } from './route.ts'

const recentRuns = 50

/** Runs that are not done; with `all` the last finished ones too. Hand-made turns are not work. */
export async function listRuns(rows: Reading, now: number, { all = false } = {}): Promise<RunLine[]> {
  const found = await runsOf(rows, all ? {} : { live: true })
  const labels = new Map((await findSessions(rows)).map(({ id, label }) => [id, label]))
  const work = found.filter(({ kind }) => kind !== 'import').slice(-recentRuns)
  return Promise.all(work.map((run) => line(rows, run, labels.get(run.sessionId ?? '') ?? null, now)))
}

/** The run that this text names: `run:ID`, an id, or a head or tail of one. */
export async function runNamed(rows: Reading, text: string): Promise<Run> {
  const id = text.replace(/^run:/, '')
  const [only, ...others] = /^[0-9a-z]{3,20}$/.test(id) ? await runIdsLike(rows, id) : []
  if (others.length > 0 && only !== id)
    throw new HeddleError('ambiguous', `"${id}" fits several runs`, 'write more of the id')
  const run = only === undefined ? undefined : await findRun(rows, only)
  if (!run) throw notFound('run', id)
  return run
}

/** What was spent, lost calls included: by model, session, run or day. */
export async function listUsage(rows: Reading, by: 'model' | 'session' | 'run' | 'day') {
  const labels = new Map((await findSessions(rows)).map(({ id, label }) => [id, label]))
  const keyOf = (row: UsageRow) =>
    ({
      model: row.model,
      run: row.run_id,
      session: labels.get(row.session_id ?? '') ?? '–',
      day: new Date(row.at).toISOString().slice(0, 10),
    })[by]
  const used = await allUsage(rows)
  const grouped = Map.groupBy(used, keyOf)
  return { rows: [...grouped].map(([key, group]) => ({ key, ...sum(group) })), total: sum(used) }
}

async function line(rows: Reading, run: Run, session: string | null, now: number): Promise<RunLine> {
  const journal = new Journal(run.id, await readSteps(rows, run.id))
  const spent = await spentBy(rows, { runId: run.id })
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
    session,
    parentRunId: run.parentRunId,
    rootRunId: run.rootRunId,
    depth: run.depth,
    via: run.via,
    model: { requested: run.modelRequested, actual: journal.lastReply?.model ?? null },
    doing: run.finishedAt === null ? doing[run.state as keyof typeof doing] : (run.error?.message ?? run.state),
    ageSeconds: Math.max(0, Math.round(((run.finishedAt ?? now) - run.createdAt) / 1000)),
    tokens: spent.inputTokens + spent.outputTokens,
    costUsd: spent.costUsd,
    ...(run.waitingFor && { waitingFor: run.waitingFor }),
  }
}

function sum(rows: UsageRow[]): Spending {
  return rows.reduce<Spending>(
    (total, row) => ({
      inputTokens: total.inputTokens + row.input_tokens,
      outputTokens: total.outputTokens + row.output_tokens,
      cachedTokens: total.cachedTokens + row.cached_tokens,
      costUsd: total.costUsd + row.cost_usd,
      calls: total.calls + 1,
    }),
    { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0, calls: 0 },
  )
}
