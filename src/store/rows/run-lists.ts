import { type SelectQueryBuilder, sql } from 'kysely'
import type { Ceiling } from '../../domain/access/ceiling.ts'
import type { Approval } from '../../domain/approval.ts'
import type { Millis } from '../../domain/clock.ts'
import type { Run } from '../../domain/run.ts'
import { type CallSum, type Spending, spendingOf } from '../../domain/spending.ts'
import type { Reading } from '../store.ts'
import type { Tables } from '../tables.ts'
import { type RunRow, runFrom } from './run-rows.ts'
import { type PageQuery, type SessionScope, sessionConditions } from './session-lists.ts'
import { stepFrom } from './steps.ts'
import { callSums } from './usage.ts'

/** Max characters of an input's payload that are read for a line. */
const askedLength = 1000

/** A run with what a list says of it. */
export interface ListedRun {
  run: Run
  session: { label: string; folder: string } | undefined
  /** Label of the session that it summarises. */
  narrates: string | null
  /** Last recorded activity: a step, a model call or a wait. */
  activeAt: Millis | null
  /** Model of the last answered call. */
  model: string | null
  /** Place of its task in the plan, from 1. */
  taskNumber: number | null
}

/** Which runs a list is about. Imported turns have no place in one. */
interface RunListScope {
  /** Only unfinished ones. */
  live?: boolean
  /** Only runs in these sessions. */
  sessions?: SessionScope
  /** Only runs of this request: the id of its first run. */
  root?: string
  /** Only runs of requests that were made in these sessions. */
  requestsOf?: SessionScope
  /** Only runs of this agent. */
  agent?: string
  /** Only runs that failed or ran out of time. */
  failed?: boolean
}

/** The newest runs, oldest first; `after` is the id of a run, and older ones follow it. */
export async function listedRuns(
  rows: Reading,
  { live, root, sessions = {}, requestsOf = {}, agent, failed = false }: RunListScope,
  { limit, after }: PageQuery<string>,
): Promise<ListedRun[]> {
  let page = rows.build.selectFrom('runs').selectAll().where('kind', '<>', 'import')
  const condition = sessionConditions(sessions)
  // As a subquery, so that the index of unfinished runs is used and not the one that gives the order.
  if (live) page = page.where('id', 'in', rows.build.selectFrom('runs').select('id').where('finished_at', 'is', null))
  if (condition) page = page.where('session_id', 'in', rows.build.selectFrom('sessions').select('id').where(condition))
  const asked = sessionConditions(requestsOf)
  if (asked) {
    const roots = rows.build.selectFrom('runs as root').innerJoin('sessions', 'sessions.id', 'root.session_id')
    page = page.where('root_run_id', 'in', roots.select('root.id').where(asked))
  }
  if (agent !== undefined) page = page.where('agent', '=', agent)
  // As it stands in the index: with parameters neither database would use it.
  if (failed) page = page.where(sql<boolean>`state IN ('failed', 'timeout')`)
  if (root !== undefined) page = page.where('root_run_id', '=', root)
  if (after !== undefined) page = page.where('id', '<', after)
  // Ids begin with their time.
  const found = await rows.all(withFacts(rows, page.orderBy('id', 'desc').limit(limit)))
  return found.map(listedFrom).sort((a, b) => (a.run.id < b.run.id ? -1 : 1))
}

/** One run as in a list. */
export async function listedRun(rows: Reading, id: string): Promise<ListedRun | undefined> {
  const row = await rows.first(withFacts(rows, rows.build.selectFrom('runs').selectAll().where('id', '=', id)))
  return row && listedFrom(row)
}

/** Spending of each of these runs; those without model calls are left out. */
export async function spendingOfRuns(rows: Reading, ids: readonly string[]): Promise<Map<string, Spending>> {
  if (ids.length === 0) return new Map()
  const sums = await rows.all(callSums(rows.build).where('run_id', 'in', ids).groupBy('run_id').select('run_id'))
  const byRun = Map.groupBy(sums as (CallSum & { run_id: string })[], ({ run_id }) => run_id)
  return new Map([...byRun].map(([id, ofRun]) => [id, spendingOf(ofRun)]))
}

/** Beginnings of the inputs of these runs, by run. An input with attachments is long, and only its beginning is read. */
export async function inputExcerpts(rows: Reading, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(
    rows.build
      .selectFrom('inbox')
      .select(['run_id', sql<string>`substr(payload_json, 1, ${sql.lit(askedLength)})`.as('beginning')])
      .where('run_id', 'in', ids)
      .orderBy('seq'),
  )
  const byRun = Map.groupBy(found, ({ run_id }) => run_id ?? '')
  return new Map([...byRun].map(([id, items]) => [id, items.map((item) => contentIn(item.beginning)).join(' ')]))
}

/** The content in the beginning of a payload, as far as it goes. */
function contentIn(beginning: string): string {
  const [, escaped = ''] = /"content":"((?:[^"\\]|\\(?:u[0-9a-f]{4}|[^u]))*)/.exec(beginning) ?? []
  return JSON.parse(`"${escaped}"`)
}

/** Runs that are not over, by state. */
export async function countUnfinished(rows: Reading): Promise<{ state: string; count: number }[]> {
  const query = rows.build
    .selectFrom('runs')
    .select(['state', ({ fn }) => fn.countAll<number>().as('count')])
    .where('finished_at', 'is', null)
  return (await rows.all(query.groupBy('state'))).map(({ state, count }) => ({ state, count: Number(count) }))
}

/** Ceilings of these runs, in no order. */
export async function ceilingsOfRuns(rows: Reading, ids: readonly string[]): Promise<Ceiling[]> {
  if (ids.length === 0) return []
  const found = await rows.all(rows.build.selectFrom('runs').select('ceiling_json').where('id', 'in', ids))
  return found.map(({ ceiling_json }) => JSON.parse(ceiling_json) as Ceiling)
}

/** Beginnings and ends of tool calls of these runs, oldest first. */
export async function callStepsOf(rows: Reading, ids: readonly string[]) {
  if (ids.length === 0) return []
  const steps = rows.build.selectFrom('steps').selectAll().where('run_id', 'in', ids)
  return (await rows.all(steps.where('kind', 'in', ['begun', 'ended']).orderBy('run_id').orderBy('seq'))).map(stepFrom)
}

/** Payload of the last `run.waiting` event of each of these runs. */
export async function lastWaits(rows: Reading, ids: readonly string[]): Promise<Map<string, Record<string, unknown>>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(
    rows.build
      .selectFrom('events')
      .select(['subject', 'payload_json'])
      .where('subject', 'in', [...ids.map((id) => `run:${id}`)])
      // Spelled like the partial index that it must use.
      .where(sql<boolean>`kind IN ('run.waiting', 'run.fallback')`)
      .where('kind', '=', 'run.waiting')
      .orderBy(rows.dialect.events.order),
  )
  return new Map(found.map(({ subject, payload_json }) => [subject.slice('run:'.length), JSON.parse(payload_json)]))
}

/** Fields of an open approval that describe what its run waits for. */
export type OpenApproval = Pick<Approval, 'id' | 'runId' | 'tool' | 'input'>

/** Unanswered approvals of these runs, oldest first. */
export async function openApprovalsOf(rows: Reading, ids: readonly string[]): Promise<OpenApproval[]> {
  if (ids.length === 0) return []
  const found = await rows.all(
    rows.build
      .selectFrom('approvals')
      .select(['id', 'run_id', 'tool', 'input_json'])
      .where('run_id', 'in', ids)
      .where('answer', 'is', null),
  )
  return found
    .map(({ id, run_id, tool, input_json }) => ({ id, runId: run_id, tool, input: JSON.parse(input_json) }))
    .sort((a, b) => a.id - b.id)
}

type RunPage = SelectQueryBuilder<Tables, 'runs', RunRow>

/** The runs of a page with their facts; none is looked up for a run outside of it. */
function withFacts({ build, dialect }: Reading, page: RunPage) {
  return build
    .selectFrom(page.as('runs'))
    .leftJoin('sessions', 'sessions.id', 'runs.session_id')
    .leftJoin('sessions as talk', 'talk.id', 'sessions.narrates_id')
    .selectAll('runs')
    .select(['sessions.label', 'sessions.folder', 'talk.label as narrates'])
    .select([
      sql<number | null>`(SELECT at FROM steps WHERE run_id = runs.id ORDER BY seq DESC LIMIT 1)`.as('step_at'),
      sql<number | null>`(SELECT at FROM usage WHERE run_id = runs.id ORDER BY call DESC LIMIT 1)`.as('call_at'),
      sql<number | null>`(SELECT at FROM events WHERE subject = 'run:' || runs.id
        AND kind IN ('run.waiting', 'run.fallback') ORDER BY ${dialect.events.newestFirst} LIMIT 1)`.as('pause_at'),
      // A partial reply counts as well, but complete ones come first.
      sql<string | null>`(SELECT model FROM usage WHERE run_id = runs.id AND state IN ('spent', 'estimated')
        ORDER BY state DESC, call DESC LIMIT 1)`.as('answered_by'),
      sql<number | string | null>`(SELECT (SELECT count(*) FROM tasks AS earlier
          WHERE earlier.project_id = tasks.project_id AND earlier.id <= tasks.id AND earlier.dropped_in IS NULL)
        FROM tasks WHERE tasks.id = runs.task_id AND tasks.dropped_in IS NULL)`.as('task_number'),
    ])
}

type FactRow = RunRow & {
  label: string | null
  folder: string | null
  narrates: string | null
  step_at: number | null
  call_at: number | null
  pause_at: number | null
  answered_by: string | null
  task_number: number | string | null
}

function listedFrom(row: FactRow): ListedRun {
  const times = [row.step_at, row.call_at, row.pause_at].filter((at) => at !== null)
  return {
    run: runFrom(row),
    session: row.label === null || row.folder === null ? undefined : { label: row.label, folder: row.folder },
    narrates: row.narrates,
    activeAt: times.length === 0 ? null : Math.max(...times),
    model: row.answered_by,
    taskNumber: row.task_number === null ? null : Number(row.task_number),
  }
}
