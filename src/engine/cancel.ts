import type { Ending, Run, RunState } from '../domain/run.ts'
import { askToCancel, noteCancelled, stoppedInPart } from '../store/cancels.ts'
import { hushRequest, itemsOfRun, sessionsToWake } from '../store/inbox.ts'
import { closeJoin, isWaiting } from '../store/joins.ts'
import { childrenOf, findRun, lastChildRun, runsOf } from '../store/runs.ts'
import { lockSessions } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { deliverResult, isDone, newIds } from './deliver.ts'
import { cancelPlansOf } from './give-up-plan.ts'
import { endUnowned, lockedRun } from './recover.ts'
import { notFound } from './route.ts'
import { cancelChildren, type Places } from './settle.ts'
import type { Engine } from './world.ts'

/**
 * Stops a run and everything it began, for good: at once what nobody runs, through its owner what somebody does. The
 * first run of a request stands for all of it. Asking again changes nothing. Answers the state it is in now.
 */
export async function cancel(engine: Engine, runId: string, reason: string): Promise<RunState> {
  const run = await engine.store.read((rows) => findRun(rows, runId))
  if (!run) throw notFound('run', runId)
  if (run.id === run.rootRunId) await cancelPlansOf(engine, run.id, reason)
  const state = await cancelOne(engine, run, reason)
  const told = new Map([[runId, run]])
  // Whoever is told begins nobody from then on; until all are, we look again.
  for (let more = [run]; more.length > 0; ) {
    if (run.id === run.rootRunId) await hush(engine, run.id)
    more = (await below(engine, run, [...told.keys()])).filter(({ id }) => !told.has(id))
    for (const each of more) {
      await cancelOne(engine, each, reason)
      told.set(each.id, each)
    }
  }
  // A planner that was told too late may have left one more.
  if (run.id === run.rootRunId) await cancelPlansOf(engine, run.id, reason)
  return state
}

/** What was delivered and waits until its session is free would begin a run of a request that nobody wants any more. */
async function hush({ store }: Engine, rootRunId: string): Promise<void> {
  const sessions = await store.read((rows) => sessionsToWake(rows, rootRunId))
  if (sessions.length === 0) return
  await store.write('cancel', async (tx) => {
    await lockSessions(tx, sessions)
    await hushRequest(tx, rootRunId)
  })
}

/** Goes on where whoever cancelled something could not: it died, or could not lock what it would have had to. */
export async function finishCancels(engine: Engine): Promise<void> {
  for (const { id, reason } of await engine.store.read(stoppedInPart)) await cancel(engine, id, reason)
}

function below({ store }: Engine, { id, rootRunId }: Run, known: string[]): Promise<Run[]> {
  return store.read(async (rows) => {
    if (id === rootRunId) return runsOf(rows, { rootRunId })
    const children: Run[] = []
    for (const parent of known) children.push(...(await childrenOf(rows, parent)))
    return children
  })
}

async function cancelOne(engine: Engine, known: Run, reason: string): Promise<RunState> {
  // A run that has ended begins to wait with its end or not at all: that is seen without a lock.
  const isOver = known.finishedAt !== null
  if (isOver && !(await engine.store.read((rows) => isWaiting(rows, known.id)))) return known.state
  return engine.store.write('cancel', async (tx) => {
    const found = await lockedRun(tx, known)
    if (!found) return known.state
    const { run } = found
    if (run.finishedAt !== null) {
      await giveUpWaiting(tx, engine, found, reason)
      return run.state
    }
    if (run.state === 'running') {
      if (run.cancelReason === null) await askToCancel(tx, run, reason)
      return 'running'
    }
    await noteCancelled(tx, run.id, reason)
    await endUnowned(tx, engine, found, cancelled(run, reason), newIds(engine))
    return 'cancelled'
  })
}

/** A run that has ended and waits for what it began is not woken any more; whoever waits for it hears of that. */
async function giveUpWaiting(
  tx: Tx,
  engine: Engine,
  { run, session, requester }: Places & { run: Run },
  reason: string,
): Promise<void> {
  const now = engine.clock.now()
  if (!(await closeJoin(tx, run.id, now))) return
  await noteCancelled(tx, run.id, reason)
  await cancelChildren(tx, run.id, reason)
  const last = (await lastChildRun(tx, session.id, run.rootRunId)) ?? run
  if (requester && (await isDone(tx, session.id)))
    await deliverResult(tx, engine, last, requester, cancelled(last, reason), newIds(engine), now, {
      items: await itemsOfRun(tx, last.id),
      artifacts: undefined,
    })
}

function cancelled({ id }: Run, reason: string): Ending {
  const error = { code: 'cancelled', message: reason, remedy: `try again: heddle retry run:${id}` }
  return { state: 'cancelled', text: `Cancelled: ${reason}`, error }
}
