import type { InboxItem } from '../domain/inbox.ts'
import type { Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import { recordEvent } from '../store/events.ts'
import { bindItems, itemsOfRun } from '../store/inbox.ts'
import { isRegistered } from '../store/owners.ts'
import { type Claim, countRunning, giveRun, holdClaimLock, lockRun, queuedRuns } from '../store/runs.ts'
import { lockSession } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { wishesOf } from './submit.ts'
import type { Engine } from './world.ts'

/** A run that is ours until we say otherwise or are declared dead. */
export interface Claimed {
  claim: Claim
  run: Run
  session: Session
  /** What this run answers, in the order it came. */
  items: InboxItem[]
}

/**
 * Takes the best run that may run now: priority first, then the request that has waited longest. Order and limits live
 * here and nowhere else. Undefined when there is none, or no slot.
 */
export async function claimNext(
  engine: Engine,
  ownerId: string,
  only: { sessionId?: string } = {},
): Promise<Claimed | undefined> {
  for (;;) {
    const claimed = await engine.store.write('claim', async (tx) => {
      await holdClaimLock(tx)
      // An owner that was declared dead and has not noticed must not take anything: nobody would look after it.
      if (!(await isRegistered(tx, ownerId))) return undefined
      const { running, suspects, children } = await countRunning(tx)
      if (running >= engine.limits.maxRunning) return undefined
      // A run that took an owner down may do it again: such runs go one at a time, so that none takes a neighbour along.
      const [best] = await queuedRuns(tx, {
        ...only,
        limit: 1,
        parents: children >= engine.limits.maxChildren,
        innocent: suspects > 0,
      })
      return best && ((await take(tx, engine, best, ownerId)) ?? 'gone')
    })
    // Cancelled between the look and the lock: look again.
    if (claimed !== 'gone') return claimed
  }
}

async function take(tx: Tx, engine: Engine, candidate: Run, ownerId: string): Promise<Claimed | undefined> {
  const session = candidate.sessionId === null ? undefined : await lockSession(tx, candidate.sessionId)
  const run = await lockRun(tx, candidate.id)
  if (!session || run?.state !== 'queued') return undefined
  // A run that begins takes all that waits; one that goes on after a crash or a pause keeps the inputs it began with.
  if (run.epoch === 0) await bindItems(tx, session.id, run.id)
  const items = await itemsOfRun(tx, run.id)
  const claimed = { ...withWishes(run, items), effectiveTools: engine.toolsFor(run) }
  await giveRun(tx, claimed, ownerId)
  await recordEvent(tx, {
    at: engine.clock.now(),
    kind: 'run.started',
    subject: `run:${run.id}`,
    payload: { session: session.label, folder: session.folder, epoch: run.epoch + 1 },
  })
  return {
    claim: { runId: run.id, ownerId, epoch: run.epoch + 1 },
    run: { ...claimed, state: 'running', ownerId, epoch: run.epoch + 1 },
    session,
    items,
  }
}

/** Inputs that joined a queued run have their say, too, as long as it has not begun. */
function withWishes(run: Run, items: InboxItem[]): Run {
  if (run.epoch > 0) return run
  const { model, timeoutMs, deadline } = wishesOf(items)
  return {
    ...run,
    modelRequested: model ?? run.modelRequested,
    timeoutMs: timeoutMs ?? run.timeoutMs,
    deadline: deadline ?? run.deadline,
  }
}
