import { withRemedy } from '../../../domain/errors.ts'
import { isUntrusted, joinLabels, type Label } from '../../../domain/label.ts'
import type { Ending, Run } from '../../../domain/run.ts'
import type { Session } from '../../../domain/session.ts'
import { bindItems } from '../../../store/rows/inbox.ts'
import { listOwners, lostOwners, removeOwner } from '../../../store/rows/owners.ts'
import { requeueRun } from '../../../store/rows/released-runs.ts'
import { findRun, finishRun, lockRun, relockRun, runsOf } from '../../../store/rows/runs.ts'
import { findSessions } from '../../../store/rows/sessions.ts'
import { readSteps } from '../../../store/rows/steps.ts'
import { findTurn } from '../../../store/rows/threads.ts'
import { markUsageLost, releaseUsage } from '../../../store/rows/usage.ts'
import type { OwnerLocks } from '../../../store/sqlite/owner-locks.ts'
import type { Reading, Tx } from '../../../store/store.ts'
import type { Engine } from '../../runtime.ts'
import { Journal } from '../context/journal.ts'
import { endRun } from '../settle.ts'
import { beginSettlement, lockRunSessions, type RunSessions } from '../settlement.ts'

/** Max process deaths without a step in between, even if none of them is the run's fault. */
const maxDeaths = 10

/** Outcome of a recovery. */
export interface RecoveryReport {
  resumed: string[]
  quarantined: string[]
  /** Runs that a dead owner still holds after recovery: must be 0. */
  lost: number
  /** Calls of the recovered runs with unknown outcome: unsafe calls that began and have no end. */
  unknownCalls: number
  /** Calls of the recovered runs that ended more than once: must be 0. */
  doubledCalls: number
}

/**
 * Releases the runs of dead owners: each is requeued, or quarantined once it has crashed too many processes without a
 * step in between. Any worker may call this at any time.
 */
export async function recoverDead(engine: Engine, me: string, locks: OwnerLocks): Promise<RecoveryReport> {
  const { store, clock, limits } = engine
  const recovered: RecoveryReport = { resumed: [], quarantined: [], lost: 0, unknownCalls: 0, doubledCalls: 0 }
  const owners = await store.read((rows) => listOwners(rows, clock.monotonic()))
  const isDead = (id: string, sinceHeartbeat: number) => locks.isHeld(id) === false || sinceHeartbeat > limits.leaseMs
  // A lock file without a registered owner is stale: asking for it removes it.
  for (const id of locks.left(clock.now())) if (!owners.some((owner) => owner.id === id)) locks.isHeld(id)
  const dead = owners.filter(({ id, sinceHeartbeat }) => id !== me && isDead(id, sinceHeartbeat)).map(({ id }) => id)
  for (const workerId of [...dead, ...(await store.read(lostOwners))]) {
    // Remove the owner first: if it was only stalled, its next heartbeat fails, and writes of its runs are fenced anyway.
    await store.write('owner', (tx) => removeOwner(tx, workerId))
    const lost = await store.read((rows) => runsOf(rows, { workerId }))
    for (const batch of batches(lost)) {
      const crash = lost.length === 1 ? 'alone' : 'beside others'
      const outcomes = await Promise.all(batch.map((run) => releaseRun(engine, run, workerId, { crash })))
      for (const [at, outcome] of outcomes.entries())
        if (outcome !== 'nothing') recovered[outcome].push(batch[at]?.id ?? '')
    }
    recovered.lost += (await store.read((rows) => runsOf(rows, { workerId }))).length
  }
  await countCalls(engine, recovered)
  return recovered
}

/** Splits runs into those that a worker for one session executes, and those that stay queued. */
export async function splitBySession(
  rows: Reading,
  runIds: readonly string[],
  sessionId: string,
): Promise<{ resumed: string[]; queued: string[] }> {
  const split = { resumed: [] as string[], queued: [] as string[] }
  for (const id of runIds) split[(await isWorkOf(rows, id, sessionId)) ? 'resumed' : 'queued'].push(id)
  return split
}

/** A session's work: its runs, all runs of its requests, and the narrator's run for it. */
async function isWorkOf(rows: Reading, runId: string, sessionId: string): Promise<boolean> {
  const run = await findRun(rows, runId)
  if (!run || run.sessionId === sessionId) return run !== undefined
  const root = await findRun(rows, run.rootRunId)
  if (root?.sessionId === sessionId) return true
  const [session] = run.sessionId === null ? [] : await findSessions(rows, { id: run.sessionId })
  return session?.narratesId === sessionId
}

/** Counts what became of the calls that dead workers were making. */
async function countCalls({ store }: Engine, recovered: RecoveryReport): Promise<void> {
  for (const runId of [...recovered.resumed, ...recovered.quarantined]) {
    const journal = new Journal(runId, await store.read((rows) => readSteps(rows, runId)))
    recovered.unknownCalls += journal.unknownCount
    recovered.doubledCalls += journal.doubledCount
  }
}

/** Batches of writes that can share a commit. */
export function batches<T>(all: T[], size = 64): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
}

/** How a run crashed: it threw, or its process died while executing only this run, or others too. */
export type Crash = 'own fault' | 'alone' | 'beside others'

/**
 * Takes a run from the claim of an owner that will not continue it; a later claim keeps it, also one of the same owner, who
 * may not know that it has released the run already. A run that was never started has not crashed, and costs nothing unless
 * it may have called a model.
 */
export function releaseRun(
  engine: Engine,
  lost: Run,
  workerId: string,
  {
    crash,
    wasStarted = true,
    mayHaveAsked = wasStarted,
  }: { crash?: Crash; wasStarted?: boolean; mayHaveAsked?: boolean } = {},
): Promise<'resumed' | 'quarantined' | 'nothing'> {
  return engine.store.write('recover', async (tx) => {
    const found = await lockRunWithSessions(tx, lost)
    if (found?.run.workerId !== workerId || found.run.epoch !== lost.epoch) return 'nothing'
    const hasWaited = mayHaveAsked && (await markUsageLost(tx, lost.id))
    if (!mayHaveAsked) await releaseUsage(tx, lost.id)
    tx.hint('runs')
    if (!crash) {
      await requeueRun(tx, lost.id)
      return 'resumed'
    }
    // Suspects run one at a time. A run that waits for its model executes nothing that could crash the process.
    const isAlone = crash === 'alone' || found.run.crashes > 0
    const isBlamed = crash === 'own fault' || (isAlone && !hasWaited)
    const crashesAlone = found.run.crashesAlone + (isBlamed ? 1 : 0)
    const crashes = found.run.crashes + 1
    if (crashesAlone < engine.limits.maxCrashes && crashes < maxDeaths) {
      await requeueRun(tx, lost.id, { crashes, crashesAlone })
      return 'resumed'
    }
    await endUnowned(tx, engine, found, quarantine(found.run, crashes))
    return 'quarantined'
  })
}

/** Ends an unclaimed run; it must come from `lockRunWithSessions`. */
export async function endUnowned(
  tx: Tx,
  engine: Engine,
  { run, ...sessions }: RunSessions & { run: Run },
  ending: Ending,
): Promise<void> {
  // Inputs queued for this run are answered by its end and start no run of their own; inputs that came after it began do.
  if (run.epoch === 0) await bindItems(tx, run, sessions.session.id)
  const journal = new Journal(run.id, await readSteps(tx, run.id))
  const label = joinLabels([run.label, ...(await labelOfHead(tx, sessions.session)), ...journal.labels])
  const last = journal.lastReply
  const end = await beginSettlement(tx, engine, {
    ...sessions,
    run,
    journal,
    ending: { ...ending, said: last?.text ?? '' },
    prompt: null,
    model: last?.model ?? null,
    label,
    now: engine.clock.now(),
  })
  const { activeMs } = run
  await finishRun(tx, run.id, { state: ending.state, error: ending.error, activeMs, label: end.run.label, at: end.now })
  await endRun(end)
  tx.hint('runs')
  await engine.moments.afterSettle(end)
}

/** Label of the conversation before a run, if that is untrusted: the model was shown it. */
async function labelOfHead(rows: Reading, { headTurnId }: Session): Promise<Label[]> {
  const head = headTurnId === null ? undefined : await findTurn(rows, headTurnId)
  return head && isUntrusted(head.turn.label) ? [head.turn.label] : []
}

/** Locks a run, the sessions that its end touches, and other sessions. Sessions are locked before runs. */
export async function lockRunWithSessions(
  tx: Tx,
  known: Pick<Run, 'id' | 'sessionId' | 'requesterSessionId' | 'rootRunId' | 'depth'>,
  others: readonly string[] = [],
): Promise<(RunSessions & { run: Run }) | undefined> {
  const sessions = await lockRunSessions(tx, known, others)
  const run = await lockRun(tx, known.id)
  return run && { run, ...sessions }
}

/** The same for a run that the transaction has read already. */
export async function relockRunWithSessions(tx: Tx, read: Run): Promise<(RunSessions & { run: Run }) | undefined> {
  const sessions = await lockRunSessions(tx, read)
  const run = await relockRun(tx, read)
  return run && { run, ...sessions }
}

function quarantine(run: Run, crashes: number): Ending {
  const error = {
    code: 'quarantined',
    message: `${crashes} processes in a row crashed on this run`,
    remedy: `look at what it does: heddle show run:${run.id}; retry it when that is fixed: heddle retry run:${run.id}`,
  }
  return { state: 'failed', text: `Failed: ${withRemedy(error)}`, error }
}
