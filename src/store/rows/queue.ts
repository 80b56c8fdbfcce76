import { type ExpressionBuilder, sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import { type Lane, lanes, type Run } from '../../domain/run.ts'
import type { Builder } from '../dialect.ts'
import { raw } from '../raw.ts'
import { type Query, statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import { type RunRow, runFrom } from './run-rows.ts'

/** Takes the claim lock: only one process at a time picks the next run, so that limits hold across processes. */
export async function takeClaimLock(tx: Tx): Promise<void> {
  if (!tx.dialect.hasOneWriter) await tx.all(claimLock({}))
}

/** The same without waiting, for a transaction that already locks a session. False when another process holds it. */
export async function tryClaimLock(tx: Tx): Promise<boolean> {
  return tx.dialect.hasOneWriter || (await tx.first(claimLockIfFree({})))?.held === 1
}

/** Running runs of one request in one lane. */
export interface RunningRuns {
  lane: Lane
  rootRunId: string
  count: number
  /** Those that crashed an owner before. */
  suspects: number
}

/** View of the queue before a worker claims. */
export interface ClaimView {
  running: RunningRuns[]
  /** Queued runs; more than two count as two. */
  queued: number
  /** Registered owners, this one included. */
  owners: number
}

/**
 * Counts running runs, and tells whether none, one or several are queued. Undefined if the owner is not registered: it was declared dead and
 * has not noticed.
 */
export async function viewOfClaimant(rows: Reading, workerId: string): Promise<ClaimView | undefined> {
  const found = await rows.all(claimView({ workerId }))
  if (found.length === 0) return undefined
  const running = found.flatMap((row) => (row.lane === null ? [] : runningFrom(row as RunningRow)))
  return { running, queued: Number(found[0]?.queued), owners: Number(found[0]?.owners) }
}

interface RunningRow {
  lane: Lane
  root_run_id: string
  count: number
  suspects: number
}

function runningFrom({ lane, root_run_id, count, suspects }: RunningRow): RunningRuns {
  return { lane, rootRunId: root_run_id, count: Number(count), suspects: Number(suspects) }
}

/** Restrictions on the run to claim. */
export interface QueueFilter {
  skipLanes: readonly Lane[]
  /** Skips runs that crashed an owner. */
  skipSuspects: boolean
  /** Skips runs that are chosen already. */
  skipRuns: readonly Pick<Run, 'id'>[]
  /** Only work of this session: its own runs, all runs of its requests, and its folder's narratives. */
  sessionId?: string
  /** Only runs of this priority. */
  priority?: number
  /** Skips runs of these requests in these lanes. */
  skipRequests?: readonly Pick<RunningRuns, 'lane' | 'rootRunId'>[]
}

/** Next runs to claim: by priority, then by the request's time, then by its own. */
export async function queuedRuns(rows: Reading, filter: QueueFilter, limit: number): Promise<Run[]> {
  return (await rows.all(queued(rows.build, filter, limit))).map(runFrom)
}

/**
 * The next moment at which a parked run wakes. One that waits for a retry further away than the longest pause is due at once:
 * the clock was set back since.
 */
export async function nextWake(rows: Reading, now: Millis, longestPause: Millis): Promise<Millis | undefined> {
  return timeIn(await rows.first(earliestWake({ now, latest: now + longestPause })))
}

/** Parked runs that are due, by the same rule. */
export async function runsToWake(rows: Reading, now: Millis, longestPause: Millis): Promise<Run[]> {
  return (await rows.all(waking({ now, latest: now + longestPause }))).map(runFrom)
}

/** The next deadline of a run that no process executes: the owner of a running one watches it. */
export async function nextDeadline(rows: Reading): Promise<Millis | undefined> {
  return timeIn(await rows.first(earliestDeadline({})))
}

/** Unclaimed runs that are past their deadline. */
export async function lateRuns(rows: Reading, now: Millis): Promise<Run[]> {
  return (await rows.all(late({ now }))).map(runFrom)
}

function timeIn(row: { at: number | null } | undefined): Millis | undefined {
  return row?.at === null || row === undefined ? undefined : Number(row.at)
}

const isSetBack = (arg: { latest: number }) => sql<boolean>`waiting_for = 'retry' AND wake_at > ${arg.latest}`

const earliestWake = statement((db, arg: { now: number; latest: number }) =>
  db
    .selectFrom('runs')
    .select(sql<number | null>`min(CASE WHEN ${isSetBack(arg)} THEN ${arg.now} ELSE wake_at END)`.as('at'))
    .where('wake_at', 'is not', null),
)

const waking = statement((db, arg: { now: number; latest: number }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('wake_at', 'is not', null)
    .where('state', '=', sql.lit('waiting'))
    .where(sql<boolean>`(wake_at <= ${arg.now} OR (${isSetBack(arg)}))`),
)

const earliestDeadline = statement((db, _arg: object) =>
  db
    .selectFrom('runs')
    .select(sql<number | null>`min(deadline)`.as('at'))
    .where('deadline', 'is not', null)
    .where('finished_at', 'is', null)
    .where('owner_id', 'is', null),
)

const late = statement((db, arg: { now: number }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('deadline', 'is not', null)
    .where('finished_at', 'is', null)
    .where('owner_id', 'is', null)
    .where('deadline', '<=', arg.now),
)

/** Lanes to skip, as many as there are lanes, so that the statement is always the same. */
type QueueArg = Record<Lane, string> & { suspects: number; limit: number }

function queueArg({ skipLanes, skipSuspects }: QueueFilter, limit: number): QueueArg {
  const skipped = Object.fromEntries(lanes.map((lane) => [lane, skipLanes.includes(lane) ? lane : '']))
  return { ...(skipped as Record<Lane, string>), suspects: skipSuspects ? 0 : 1, limit }
}

const inOrder = (db: Builder, arg: QueueArg) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('state', '=', sql.lit('queued'))
    .where(sql<boolean>`lane NOT IN (${sql.join(lanes.map((lane) => sql`${arg[lane]}`))})`)
    .where(sql<boolean>`(${arg.suspects} = 1 OR crashes = 0)`)
    .orderBy('priority', 'desc')
    .orderBy('requested_at')
    .orderBy('created_at')
    .orderBy('id')
    .limit(arg.limit)

function queued(db: Builder, filter: QueueFilter, limit: number): Query<RunRow> {
  const { sessionId, priority, skipRequests, skipRuns } = filter
  const arg = queueArg(filter, limit)
  const work = sessionId === undefined ? undefined : { sessionId }
  if (priority === undefined && skipRequests === undefined && skipRuns.length === 0)
    return work ? firstOfSession({ ...arg, ...work }) : first(arg)
  let query = inOrder(db, arg)
  if (work) query = query.where(isWorkOf(work))
  for (const { id } of skipRuns) query = query.where('id', '<>', id)
  if (priority !== undefined) query = query.where('priority', '=', priority)
  for (const { lane, rootRunId } of skipRequests ?? [])
    query = query.where(({ not, and }) => not(and({ lane, root_run_id: rootRunId })))
  return query
}

const first = statement(inOrder)

const firstOfSession = statement((db, arg: QueueArg & SessionWork) => inOrder(db, arg).where(isWorkOf(arg)))

interface SessionWork {
  sessionId: string
}

const isWorkOf =
  ({ sessionId }: SessionWork) =>
  ({ or, eb, exists, selectFrom, and }: ExpressionBuilder<Tables, 'runs'>) =>
    or([
      eb('session_id', '=', sessionId),
      exists(
        selectFrom('runs as root')
          .select('root.id')
          .whereRef('root.id', '=', 'runs.root_run_id')
          .where('root.session_id', '=', sessionId),
      ),
      // A session also runs the narrators of its folder: there may be no other process. A narrator that was started and
      // released is left to its own session or to a daemon: it may take longer than this process lives.
      and([
        eb('lane', '=', sql.lit('background')),
        exists(
          selectFrom('sessions as aside')
            .innerJoin('sessions as talk', 'talk.folder', 'aside.folder')
            .select('aside.id')
            .whereRef('aside.id', '=', 'runs.session_id')
            .where('talk.id', '=', sessionId)
            .where(sql<boolean>`(runs.epoch <= runs.crashes OR aside.narrates_id = ${sessionId})`),
        ),
      ]),
    ])

const claimLock = statement((db, _arg: object, dialect) => raw<object>(db, dialect.claimLock))
const claimLockIfFree = statement((db, _arg: object, dialect) => raw<{ held: number }>(db, dialect.tryClaimLock))

const runningByRequest = sql`
  SELECT lane, root_run_id, count(*) AS count, sum(CASE WHEN crashes > 0 THEN 1 ELSE 0 END) AS suspects
  FROM runs WHERE owner_id IS NOT NULL GROUP BY lane, root_run_id`

const claimView = statement((db, arg: { workerId: string }) =>
  raw<{ [K in keyof RunningRow]: RunningRow[K] | null } & { queued: number; owners: number }>(
    db,
    sql`SELECT running.*, (SELECT count(*) FROM (SELECT 1 FROM runs WHERE state = 'queued' LIMIT 2) AS first_two) AS queued,
          (SELECT count(*) FROM owners) AS owners
        FROM owners LEFT JOIN (${runningByRequest}) AS running ON 1 = 1
        WHERE owners.id = ${arg.workerId}`,
  ),
)
