import { sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Label } from '../../domain/label.ts'
import { type Outcome, type Run, type RunError, type RunState, statesBefore } from '../../domain/run.ts'
import type { Builder } from '../dialect.ts'
import { TransactionMisuse } from '../failures.ts'
import { type Query, statement, statementOfRows } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import { type OwnedBy, ownSessions } from './access/own-sessions.ts'
import { claimColumns, optionColumns, type RunRow, runFrom, runRow } from './run-rows.ts'

/** Right to write for a run: held by the process that claimed it last. */
export interface Claim {
  runId: string
  workerId: string
  epoch: number
}

export async function insertRun(tx: Tx, run: Run): Promise<void> {
  insertRuns(tx, [run])
}

export function insertRuns(tx: Tx, runs: readonly Run[]): void {
  for (const query of inserts(runs.map(runRow))) tx.send(query)
  if (runs.some(({ options }) => options.deadline !== undefined)) tx.hint('due')
}

/** The session that a run works in. */
export async function sessionOfRun(rows: Reading, id: string): Promise<string | undefined> {
  const row = await rows.first(rows.build.selectFrom('runs').select('session_id').where('id', '=', id))
  return row?.session_id ?? undefined
}

export async function findRun(rows: Reading, id: string): Promise<Run | undefined> {
  const row = await rows.first(byId({ id }))
  return row && runFrom(row)
}

/** Locks a run's row. Its session's row must be locked before. */
export async function lockRun(tx: Tx, id: string): Promise<Run | undefined> {
  tx.locking('runs')
  const row = await tx.first(locked({ id }))
  return row && runFrom(row)
}

/** Locks the row of a run that is read already, and returns it as it is now. */
export async function relockRun(tx: Tx, run: Run): Promise<Run | undefined> {
  if (!tx.dialect.hasOneWriter) return lockRun(tx, run.id)
  tx.locking('runs')
  return run
}

/** Locks those of the runs whose rows no other transaction holds, and returns them as they are now. */
export async function relockFreeRuns(tx: Tx, runs: readonly Run[]): Promise<Run[]> {
  tx.locking('runs')
  if (tx.dialect.hasOneWriter) return [...runs]
  const found = await Promise.all(allLockedIfFree(runs.map(({ id }) => ({ id }))).map((query) => tx.all(query)))
  return found.flat().map(runFrom)
}

/** Locks the row of a run of which nothing is read. */
export async function lockRunRow(tx: Tx, id: string): Promise<void> {
  tx.locking('runs')
  if (!tx.dialect.hasOneWriter) await tx.run(idLocked({ id }))
}

/** Locks a run's row unless another transaction holds it; returns whether it did. */
export async function tryLockRun(tx: Tx, id: string): Promise<boolean> {
  tx.locking('runs')
  return tx.dialect.hasOneWriter || (await tx.first(lockedIfFree({ id }))) !== undefined
}

/** The session's unfinished run; there is at most one. */
export async function liveRunOf(rows: Reading, sessionId: string): Promise<Run | undefined> {
  const row = await rows.first(liveOf({ sessionId }))
  return row && runFrom(row)
}

/** Whether a claim still holds, without a lock. */
export async function isOwned(rows: Reading, claim: Claim): Promise<boolean> {
  return (await rows.first(owned(claim))) !== undefined
}

/**
 * Verifies that the claim still holds and returns the cancel reason. Undefined when another owner has the run or it has
 * ended: the caller must not write then.
 */
export async function fenceRun(
  tx: Tx,
  claim: Claim,
  activeMs: Millis,
): Promise<{ cancelReason: string | null } | undefined> {
  const row = await tx.first(fence({ ...claim, activeMs }))
  return row && { cancelReason: row.cancel_reason }
}

/**
 * The same for a run that has made progress. Resets crashes and tries: a later crash is not blamed on earlier steps, and
 * retries start over.
 */
export async function advanceRun(
  tx: Tx,
  claim: Claim,
  activeMs: Millis,
): Promise<{ cancelReason: string | null } | undefined> {
  const row = await tx.first(progress({ ...claim, activeMs }))
  return row && { cancelReason: row.cancel_reason }
}

/** The same, and returns the run as it is stored now. */
export async function advanceCaller(tx: Tx, claim: Claim, activeMs: Millis): Promise<Run | undefined> {
  const row = await tx.first(progressOfCaller({ ...claim, activeMs }))
  return row && runFrom(row)
}

/** Assigns a queued run, whose row is locked, to an owner with its final settings; the new epoch fences off earlier claims. */
export async function assignRun(tx: Tx, run: Run, workerId: string): Promise<void> {
  const { id, agent, modelRequested: model } = run
  const [tools, ceiling] = [JSON.stringify(run.effectiveTools), JSON.stringify(run.ceiling)]
  tx.send(assign({ id, workerId, agent, tools, ceiling, model, ...optionColumns(run.options), ...claimColumns(run) }))
}

/** Notes that a user watches a run since it was claimed. */
export async function markAttended(tx: Tx, { id, options }: Run): Promise<void> {
  const columns = optionColumns({ ...options, attended: true })
  await tx.run(tx.build.updateTable('runs').set(columns).where('id', '=', id))
}

/** How a run ends. */
interface RunFinish {
  state: Outcome
  error: RunError | null
  activeMs: Millis
  label: Label
  at: Millis
}

/** Ends a run that no process executes. Its row must be locked. */
export async function finishRun(tx: Tx, id: string, end: RunFinish): Promise<void> {
  await move(tx, id, end.state, finish[end.state](endedRow(id, end)))
}

/** State of the run and the queue when the run ended. */
export interface FinishedClaim {
  cancelReason: string | null
  /** Whether any run is queued. */
  isAnyQueued: boolean
  /** Whether its request answers a fire of a job that is not over. */
  hasOpenFire: boolean
}

/** Ends the run of a claim. Undefined when another owner has the run or it has ended: the caller must not write then. */
export async function finishClaim(
  tx: Tx,
  { runId, workerId, epoch }: Claim,
  end: RunFinish,
): Promise<FinishedClaim | undefined> {
  const row = await tx.first(finishClaimed({ ...endedRow(runId, end), workerId, epoch }))
  return row && { cancelReason: row.cancel_reason, isAnyQueued: row.queued === 1, hasOpenFire: row.fires === 1 }
}

function endedRow(id: string, { state, error, activeMs, label, at }: RunFinish): EndedRow {
  const { integrity, sources } = label
  return {
    ...{ id, state, activeMs, integrity, at },
    error: error && JSON.stringify(error),
    sources: JSON.stringify(sources),
  }
}

/** Stores the number of tries of the current call, for the process that continues it. */
export async function setTries(tx: Tx, id: string, tries: number): Promise<void> {
  await tx.run(tx.build.updateTable('runs').set({ tries }).where('id', '=', id))
}

/** Changes a run's state. The query finds the run only in a state from which that is legal. */
async function move(tx: Tx, id: string, next: RunState, query: Query<unknown>): Promise<void> {
  if ((await tx.run(query)) !== 1) throw illegalMove(id, next)
}

/** The error of a move that a run's state does not allow. */
export function illegalMove(id: string, next: RunState): TransactionMisuse {
  return new TransactionMisuse(`run ${id} cannot change to ${next} from its current state`)
}

export async function runsOf(
  rows: Reading,
  filter: OwnedBy & { workerId?: string; rootRunId?: string; live?: boolean; state?: Run['state'] },
): Promise<Run[]> {
  let query = rows.build.selectFrom('runs').selectAll().orderBy('created_at').orderBy('id')
  if (filter.workerId !== undefined) query = query.where('owner_id', '=', filter.workerId)
  if (filter.rootRunId !== undefined) query = query.where('root_run_id', '=', filter.rootRunId)
  if (filter.principal !== undefined) query = query.where('session_id', 'in', ownSessions(rows.build, filter.principal))
  if (filter.live === true) query = query.where('finished_at', 'is', null)
  if (filter.state !== undefined) query = query.where('state', '=', filter.state)
  return (await rows.all(query)).map(runFrom)
}

const inserts = statementOfRows((db, rows: RunRow[]) =>
  db.insertInto('runs').values(
    rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      state: row.state,
      session_id: row.session_id,
      created_at: row.created_at,
      finished_at: row.finished_at,
      via: row.via,
      lane: row.lane,
      root_run_id: row.root_run_id,
      parent_run_id: row.parent_run_id,
      depth: row.depth,
      tool_call_id: row.tool_call_id,
      requester_session_id: row.requester_session_id,
      agent: row.agent,
      model_requested: row.model_requested,
      options_json: row.options_json,
      priority: row.priority,
      requested_at: row.requested_at,
      owner_id: row.owner_id,
      epoch: row.epoch,
      crashes: row.crashes,
      tries: row.tries,
      active_ms: row.active_ms,
      deadline: row.deadline,
      waiting_for: row.waiting_for,
      wake_at: row.wake_at,
      cancel_reason: row.cancel_reason,
      effective_tools_json: row.effective_tools_json,
      ceiling_json: row.ceiling_json,
      integrity: row.integrity,
      sources_json: row.sources_json,
      error_json: row.error_json,
      task_id: row.task_id,
      principal: row.principal,
      title: row.title,
      cleanup: row.cleanup,
      share_mode: row.share_mode,
      profile_id: row.profile_id,
      profile_version: row.profile_version,
      model_clamp_json: row.model_clamp_json,
    })),
  ),
)

const byId = statement((db, arg: { id: string }) => db.selectFrom('runs').selectAll().where('id', '=', arg.id))

const locked = statement((db, arg: { id: string }, { lockRows }) =>
  db.selectFrom('runs').selectAll().where('id', '=', arg.id).modifyEnd(lockRows),
)

const idLocked = statement((db, arg: { id: string }, { lockRows }) =>
  db.selectFrom('runs').select('id').where('id', '=', arg.id).modifyEnd(lockRows),
)

const lockedIfFree = statement((db, arg: { id: string }, { lockFreeRows }) =>
  db.selectFrom('runs').select('id').where('id', '=', arg.id).modifyEnd(lockFreeRows),
)

const allLockedIfFree = statementOfRows((db, runs: { id: string }[], { lockFreeRows }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where(
      'id',
      'in',
      runs.map(({ id }) => id),
    )
    .modifyEnd(lockFreeRows),
)

const liveOf = statement((db, arg: { sessionId: string }) =>
  db.selectFrom('runs').selectAll().where('session_id', '=', arg.sessionId).where('finished_at', 'is', null),
)

const ofClaim = (db: Builder, arg: Claim & { activeMs: number }) =>
  db
    .updateTable('runs')
    .set({ active_ms: arg.activeMs })
    .where('id', '=', arg.runId)
    .where('owner_id', '=', arg.workerId)
    .where('epoch', '=', arg.epoch)
    .returning('cancel_reason')
const owned = statement((db, { runId, workerId, epoch }: Claim) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('id', '=', runId)
    .where('owner_id', '=', workerId)
    .where('epoch', '=', epoch),
)
const fence = statement(ofClaim)
const advanced = (db: Builder, arg: Claim & { activeMs: number }) =>
  ofClaim(db, arg).set({ crashes: 0, crashes_alone: 0, tries: 0 })
const progress = statement(advanced)
const progressOfCaller = statement((db, arg: Claim & { activeMs: number }) => advanced(db, arg).returningAll())

interface Assignment extends ReturnType<typeof optionColumns>, ReturnType<typeof claimColumns> {
  id: string
  workerId: string
  agent: string | null
  tools: string
  ceiling: string
  model: string | null
}

const assign = statement((db, arg: Assignment) =>
  db
    .updateTable('runs')
    .set({
      state: 'running',
      owner_id: arg.workerId,
      epoch: sql<number>`epoch + 1`,
      agent: arg.agent,
      effective_tools_json: arg.tools,
      ceiling_json: arg.ceiling,
      model_requested: arg.model,
      options_json: arg.options_json,
      priority: arg.priority,
      deadline: arg.deadline,
      profile_id: arg.profile_id,
      profile_version: arg.profile_version,
      model_clamp_json: arg.model_clamp_json,
      waiting_for: null,
      wake_at: null,
    })
    .where('id', '=', arg.id)
    .where('state', 'in', statesBefore('running')),
)

interface EndedRow {
  id: string
  state: Outcome
  error: string | null
  activeMs: number
  integrity: Label['integrity']
  sources: string
  at: number
}

const end = (db: Builder, arg: EndedRow) =>
  db
    .updateTable('runs')
    .set({
      state: arg.state,
      owner_id: null,
      waiting_for: null,
      wake_at: null,
      error_json: arg.error,
      active_ms: arg.activeMs,
      integrity: arg.integrity,
      sources_json: arg.sources,
      finished_at: arg.at,
    })
    .where('id', '=', arg.id)

/** 1 if any run is queued. */
export const anyQueued = sql<number>`CASE WHEN EXISTS (SELECT 1 FROM runs AS other WHERE other.state = 'queued')
                                          THEN 1 ELSE 0 END`

const finishAs = (outcome: Outcome) =>
  statement((db, arg: EndedRow) => end(db, arg).where('state', 'in', statesBefore(outcome)))

// A run has an owner exactly while it runs, and that may end in any way.
const finishClaimed = statement((db, arg: EndedRow & { workerId: string; epoch: number }) =>
  end(db, arg)
    .where('owner_id', '=', arg.workerId)
    .where('epoch', '=', arg.epoch)
    .returning('cancel_reason')
    .returning([
      anyQueued.as('queued'),
      sql<number>`CASE WHEN EXISTS (SELECT 1 FROM cron_fires WHERE cron_fires.root_run_id = runs.root_run_id
                                      AND cron_fires.status IS NULL) THEN 1 ELSE 0 END`.as('fires'),
    ]),
)
const finish = {
  completed: finishAs('completed'),
  failed: finishAs('failed'),
  timeout: finishAs('timeout'),
  cancelled: finishAs('cancelled'),
} as const satisfies Record<Outcome, unknown>
