import type { Millis } from '../../domain/clock.ts'
import { type Run, type RunState, statesBefore, type Wait } from '../../domain/run.ts'
import { type Query, statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { RunRow } from './run-rows.ts'
import { anyQueued, type Claim, illegalMove } from './runs.ts'

/** Parks a run: it holds no slot and its timeout is paused until something wakes it. */
export async function parkRun(
  tx: Tx,
  id: string,
  { waitingFor, wakeAt = null, tries }: { waitingFor: Wait; wakeAt?: Millis | null; tries: number },
): Promise<void> {
  await release(
    tx,
    id,
    'waiting',
    tx.build
      .updateTable('runs')
      .set({ state: 'waiting', owner_id: null, waiting_for: waitingFor, wake_at: wakeAt, tries })
      .where('id', '=', id)
      .where('state', 'in', statesBefore('waiting'))
      .returning(['deadline', 'wake_at']),
  )
}

/**
 * Parks the run of a claim until the user answers, after a step. Undefined when its cancel was requested, or another owner has
 * it; nothing is changed then.
 */
export async function parkClaim(tx: Tx, claim: Claim, activeMs: Millis): Promise<{ isAnyQueued: boolean } | undefined> {
  const row = await tx.first(parkForApproval({ ...claim, activeMs }))
  if (row && row.deadline !== null) tx.hint('due')
  return row && { isAnyQueued: row.queued === 1 }
}

/** Returns a run to its place in the queue. */
export async function requeueRun(tx: Tx, id: string, crash?: Pick<Run, 'crashes' | 'crashesAlone'>): Promise<void> {
  await release(
    tx,
    id,
    'queued',
    tx.build
      .updateTable('runs')
      .set({
        state: 'queued',
        owner_id: null,
        waiting_for: null,
        wake_at: null,
        ...(crash && { crashes: crash.crashes, crashes_alone: crash.crashesAlone }),
      })
      .where('id', '=', id)
      .where('state', 'in', statesBefore('queued'))
      .returning(['deadline', 'wake_at']),
  )
}

/** Takes a run from its owner, who has watched its deadline so far. */
async function release(
  tx: Tx,
  id: string,
  next: RunState,
  query: Query<Pick<RunRow, 'deadline' | 'wake_at'>>,
): Promise<void> {
  const row = await tx.first(query)
  if (!row) throw illegalMove(id, next)
  if (row.deadline !== null || row.wake_at !== null) tx.hint('due')
}

// A run has an owner exactly while it runs.
const parkForApproval = statement((db, arg: Claim & { activeMs: number }) =>
  db
    .updateTable('runs')
    .set({
      ...{ state: 'waiting', owner_id: null, waiting_for: 'approval', wake_at: null },
      ...{ active_ms: arg.activeMs, crashes: 0, crashes_alone: 0, tries: 0 },
    })
    .where('id', '=', arg.runId)
    .where('owner_id', '=', arg.workerId)
    .where('epoch', '=', arg.epoch)
    .where('cancel_reason', 'is', null)
    .returning(['deadline', anyQueued.as('queued')]),
)
