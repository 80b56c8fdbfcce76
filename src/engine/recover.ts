import type { Millis } from '../domain/clock.ts'
import { joinLabels } from '../domain/label.ts'
import type { Ending, Run } from '../domain/run.ts'
import { tellingLabel } from '../domain/session.ts'
import { bindItems } from '../store/inbox.ts'
import type { OwnerLocks } from '../store/owner-locks.ts'
import { listOwners, lostOwners, removeOwner } from '../store/owners.ts'
import { dueRuns } from '../store/queue.ts'
import { findRun, lockRun, requeueRun, runsOf } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading, Tx } from '../store/store.ts'
import { loseUsage, releaseUsage } from '../store/usage.ts'
import { type EndIds, newIds } from './deliver.ts'
import { Journal } from './journal.ts'
import { leaveTurn, lockPlaces, type Places } from './settle.ts'
import { longestPause } from './think.ts'
import type { Engine } from './world.ts'

/** What a look at the dead and the due came to. */
export interface Recovered {
  resumed: string[]
  quarantined: string[]
  /** Calls of those runs whose outcome nobody knows: they began, may not be repeated, and have no end. */
  unknownCalls: number
  /** Calls of those runs that ended more than once. */
  doubledCalls: number
}

/**
 * Frees the runs of owners that died: each goes back to its place in the queue, or, after the third death without a
 * step in between, is ended so that it takes nobody along again. Safe to run anywhere, at any time, by anyone.
 */
export async function recoverDead(engine: Engine, me: string, locks: OwnerLocks): Promise<Recovered> {
  const { store, clock, limits } = engine
  const recovered: Recovered = { resumed: [], quarantined: [], unknownCalls: 0, doubledCalls: 0 }
  const owners = await store.read((rows) => listOwners(rows, clock.monotonic()))
  const isDead = (id: string, silentFor: number) => locks.isHeld(id) === false || silentFor > limits.leaseMs
  // A sign of life whose owner is not registered belongs to nobody: asking for it clears it away.
  for (const id of locks.left(clock.now())) if (!owners.some((owner) => owner.id === id)) locks.isHeld(id)
  const dead = owners.filter(({ id, silentFor }) => id !== me && isDead(id, silentFor)).map(({ id }) => id)
  for (const ownerId of [...dead, ...(await store.read(lostOwners))]) {
    // Removed first: an owner that only slept finds out at its next beat, and every write of its runs is fenced anyway.
    await store.write('owner', (tx) => removeOwner(tx, ownerId))
    const lost = await store.read((rows) => runsOf(rows, { ownerId }))
    for (const some of batches(lost)) {
      const outcomes = await Promise.all(some.map((run) => free(engine, run, ownerId)))
      for (const [at, outcome] of outcomes.entries())
        if (outcome !== 'nothing') recovered[outcome].push(some[at]?.id ?? '')
    }
  }
  await countCalls(engine, recovered)
  return recovered
}

/** The runs among these that a worker for one session would take; the others stay in the queue. */
export async function splitBySession(
  rows: Reading,
  runIds: readonly string[],
  sessionId: string,
): Promise<{ resumed: string[]; queued: string[] }> {
  const split = { resumed: [] as string[], queued: [] as string[] }
  for (const id of runIds) split[(await isWorkOf(rows, id, sessionId)) ? 'resumed' : 'queued'].push(id)
  return split
}

/** Work of a session is what it runs, what its requests began, and the narrator's note on it. */
async function isWorkOf(rows: Reading, runId: string, sessionId: string): Promise<boolean> {
  const run = await findRun(rows, runId)
  if (!run || run.sessionId === sessionId) return run !== undefined
  const root = await findRun(rows, run.rootRunId)
  if (root?.sessionId === sessionId) return true
  const [session] = run.sessionId === null ? [] : await findSessions(rows, { id: run.sessionId })
  return session?.label === tellingLabel(sessionId)
}

/** What became of the calls that the dead were making. */
async function countCalls({ store }: Engine, recovered: Recovered): Promise<void> {
  for (const runId of [...recovered.resumed, ...recovered.quarantined]) {
    const journal = new Journal(runId, await store.read((rows) => readSteps(rows, runId)))
    recovered.unknownCalls += journal.unknown
    recovered.doubledCalls += journal.doubled
  }
}

/** So many are written side by side, to share commits. */
function batches<T>(all: T[], size = 64): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
}

/** Wakes what waited for its time, and ends what is past its deadline although nobody runs it. */
export async function wakeDue(engine: Engine): Promise<void> {
  const now = engine.clock.now()
  const due = await engine.store.read((rows) => dueRuns(rows, now, longestPause))
  for (const some of batches(due)) await Promise.all(some.map((run) => wake(engine, run, now)))
}

function wake(engine: Engine, due: Run, now: Millis): Promise<void> {
  const isLate = due.deadline !== null && due.deadline <= now
  return engine.store.write('recover', async (tx) => {
    const found = await lockedRun(tx, due)
    if (!found || found.run.ownerId !== null || found.run.finishedAt !== null) return
    if (isLate) return endUnowned(tx, engine, found, lateEnding(found.run), newIds(engine))
    if (found.run.state !== 'waiting') return
    await requeueRun(tx, due.id)
    tx.hint('runs')
  })
}

/**
 * Takes a run from an owner that will not go on with it. One that it never began has not crashed, and has cost nothing
 * unless it may have asked a model after all.
 */
export function free(
  engine: Engine,
  lost: Run,
  ownerId: string,
  { begun = true, mayHaveAsked = begun }: { begun?: boolean; mayHaveAsked?: boolean } = {},
): Promise<'resumed' | 'quarantined' | 'nothing'> {
  return engine.store.write('recover', async (tx) => {
    const found = await lockedRun(tx, lost)
    if (found?.run.ownerId !== ownerId) return 'nothing'
    await (mayHaveAsked ? loseUsage(tx, lost.id) : releaseUsage(tx, lost.id))
    const crashes = found.run.crashes + (begun ? 1 : 0)
    tx.hint('runs')
    if (!begun || crashes < engine.limits.maxCrashes) {
      await requeueRun(tx, lost.id, crashes)
      return 'resumed'
    }
    await endUnowned(tx, engine, found, quarantine(found.run, crashes), newIds(engine))
    return 'quarantined'
  })
}

/** Ends a run that nobody runs; it must come from `lockedRun`. */
export async function endUnowned(
  tx: Tx,
  engine: Engine,
  { run, ...places }: Places & { run: Run },
  ending: Ending,
  ids: EndIds,
): Promise<void> {
  // What waited for this run is answered by its end, not by a run that nobody asked for. What came after it began is not.
  if (run.epoch === 0) await bindItems(tx, places.session.id, run.id)
  const journal = new Journal(run.id, await readSteps(tx, run.id))
  const label = joinLabels([run.label, ...journal.labels])
  const work = { run, ...places, journal, prompt: null, label }
  await leaveTurn(tx, engine, work, ending, ids, journal.lastReply?.model ?? null)
}

/** A run with the sessions that its end would touch, locked in the one order: sessions before runs. */
export async function lockedRun(
  tx: Tx,
  known: Pick<Run, 'id' | 'sessionId' | 'requesterSessionId'>,
): Promise<(Places & { run: Run }) | undefined> {
  const places = await lockPlaces(tx, known)
  const run = await lockRun(tx, known.id)
  return run && { run, ...places }
}

function quarantine(run: Run, crashes: number): Ending {
  const error = {
    code: 'quarantined',
    message: `${crashes} processes died with this run without getting anywhere`,
    remedy: `look at what it does: heddle show run:${run.id}; try again when that is mended: heddle retry run:${run.id}`,
  }
  return { state: 'failed', text: `Failed: ${error.message}. ${error.remedy}`, error }
}

function lateEnding(run: Run): Ending {
  const error = {
    code: 'timeout',
    message: 'its deadline passed before it could finish',
    remedy: `try again: heddle retry run:${run.id}`,
  }
  return { state: 'timeout', text: `Timed out: ${error.message}`, error }
}
