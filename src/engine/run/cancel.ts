import type { Run, RunState } from '../../domain/run.ts'
import { requestCancel, runsToCancel, setCancelReason, workOf } from '../../store/rows/cancels.ts'
import { lastChildRun, startedRuns } from '../../store/rows/child-runs.ts'
import { clearWakes, isUnanswered, itemsOfRun, sessionsToWake } from '../../store/rows/inbox.ts'
import { closeJoin, isWaitingForChildren } from '../../store/rows/joins.ts'
import { hasUnfinished } from '../../store/rows/requests.ts'
import { findRun, runsOf } from '../../store/rows/runs.ts'
import { lockSessions } from '../../store/rows/sessions.ts'
import type { Reading, Tx } from '../../store/store.ts'
import type { Engine } from '../runtime.ts'
import { notFound } from '../turns/route.ts'
import { deliverResult, isDone } from './deliver.ts'
import { cancelRuns } from './settle.ts'
import { cancelledEnding, type RunSessions } from './settlement.ts'
import { endUnowned, lockRunWithSessions } from './worker/recover.ts'

/**
 * Cancels a run and all its descendants; the root run stands for the whole request. Unclaimed runs end at once, claimed
 * ones are ended by their worker. Idempotent. Returns the run's state.
 */
export async function cancel(engine: Engine, runId: string, reason: string): Promise<RunState> {
  const run = await engine.store.read((rows) => findRun(rows, runId))
  if (!run) throw notFound('run', runId)
  if (run.id === run.rootRunId) await engine.moments.onCancelRequest(engine, run.id, reason)
  const state = await cancelFirst(engine, run, reason)
  const cancelled = new Map([[runId, run]])
  // A run with a requested cancel starts no more children: repeat until no new descendant appears.
  for (let more = [run]; more.length > 0; ) {
    if (run.id === run.rootRunId) await dropDeliveries(engine, run.id)
    more = (await descendants(engine, run, [...cancelled.values()])).filter(({ id }) => !cancelled.has(id))
    for (const each of more) {
      await cancelDescendant(engine, each, reason)
      cancelled.set(each.id, each)
    }
  }
  // A planner may have added a plan before its cancel was requested.
  if (run.id === run.rootRunId) await engine.moments.onCancelRequest(engine, run.id, reason)
  return state
}

/** Drops deliveries that still wait in an inbox: they would start a run for the cancelled request. */
async function dropDeliveries({ store }: Engine, rootRunId: string): Promise<void> {
  const sessions = await store.read((rows) => sessionsToWake(rows, rootRunId))
  if (sessions.length === 0) return
  await store.write('cancel', async (tx) => {
    await lockSessions(tx, sessions)
    await clearWakes(tx, rootRunId)
  })
}

/** Finishes cancels that were interrupted: the canceller died, or could not get its locks. */
export async function finishCancels(engine: Engine): Promise<void> {
  for (const { id, reason } of await engine.store.read(runsToCancel)) await cancel(engine, id, reason)
}

/** All runs of a request, or what these runs and earlier ones of the same child sessions started. */
function descendants({ store }: Engine, { id, rootRunId }: Run, known: Run[]): Promise<Run[]> {
  return store.read(async (rows) => {
    if (id === rootRunId) return runsOf(rows, { rootRunId })
    const children: Run[] = []
    for (const parent of known) children.push(...(await startedRuns(rows, parent)))
    return children
  })
}

/**
 * Cancels the run that was named. Its commit also reaches what an ended one left at work and, if it stands for a request,
 * what waits to be delivered: a process that dies after it leaves nothing that works on, or starts, for a cancelled run.
 */
async function cancelFirst(engine: Engine, run: Run, reason: string): Promise<RunState> {
  const isRequest = run.id === run.rootRunId
  for (;;) {
    const sessions = isRequest ? await engine.store.read((rows) => sessionsToWake(rows, run.id)) : []
    const state = await engine.store.write('cancel', async (tx) => {
      const found = await lockRunWithSessions(tx, run, sessions)
      if (!found) return run.state
      const missed = isRequest ? (await sessionsToWake(tx, run.id)).filter((id) => !sessions.includes(id)) : []
      // A delivery has come since then, to a session that is not locked.
      return missed.length > 0 ? undefined : cancelLocked(tx, engine, found, { reason, isFirst: true })
    })
    if (state !== undefined) return state
  }
}

/** Cancels a descendant of the run that was named. */
async function cancelDescendant(engine: Engine, known: Run, reason: string): Promise<void> {
  // A run opens its join when it ends or never, so an ended run can be checked without a lock.
  if (known.finishedAt !== null && !(await engine.store.read((rows) => isAtWork(rows, known)))) return
  await engine.store.write('cancel', async (tx) => {
    const found = await lockRunWithSessions(tx, known)
    if (found) await cancelLocked(tx, engine, found, { reason })
  })
}

/** Cancels a locked run; `isFirst`: and what an ended one left at work, and what waits for its request. Returns its state. */
async function cancelLocked(
  tx: Tx,
  engine: Engine,
  found: RunSessions & { run: Run },
  { reason, isFirst = false }: { reason: string; isFirst?: boolean },
): Promise<RunState> {
  const { run } = found
  const isRequest = isFirst && run.id === run.rootRunId
  const wasAtWork = run.finishedAt !== null && (await isAtWork(tx, run))
  if (isRequest) await clearWakes(tx, run.id)
  if (run.finishedAt !== null) {
    // Marks the request as stopped, even if its own turn has ended: see `answer`.
    if (run.cancelReason === null && wasAtWork) await setCancelReason(tx, run.id, reason)
    await closeJoinOf(tx, engine, found, reason)
    if (isFirst) await cancelRuns(tx, await (isRequest ? workOf : startedRuns)(tx, run), reason)
    return run.state
  }
  if (run.state === 'running') {
    if (run.cancelReason === null) await requestCancel(tx, run, reason)
    return 'running'
  }
  await setCancelReason(tx, run.id, reason)
  const cancelled = { ...run, cancelReason: reason }
  await endUnowned(tx, engine, { ...found, run: cancelled }, cancelledEnding(run, reason))
  return 'cancelled'
}

/** Whether an ended run still waits for children, or, if it stands for a request, any other part of that is unfinished. */
async function isAtWork(rows: Reading, { id, rootRunId }: Run): Promise<boolean> {
  if (await isWaitingForChildren(rows, id)) return true
  return id === rootRunId && ((await hasUnfinished(rows, id)) || (await isUnanswered(rows, id)))
}

/** Closes the join of an ended run, so that it is not woken, and delivers the cancelled result to its requester. */
async function closeJoinOf(
  tx: Tx,
  engine: Engine,
  { run, session, requester }: RunSessions & { run: Run },
  reason: string,
): Promise<void> {
  const now = engine.clock.now()
  if (!(await closeJoin(tx, run.id, now))) return
  await setCancelReason(tx, run.id, reason)
  await cancelRuns(tx, await startedRuns(tx, run), reason)
  const last = (await lastChildRun(tx, session.id, run.rootRunId)) ?? run
  if (run.requesterSessionId !== null && (await isDone(tx, session.id)))
    await deliverResult({
      ...{ tx, engine, session, requester, now },
      run: last,
      ending: cancelledEnding(last, reason),
      items: await itemsOfRun(tx, last.id),
    })
}
