import type { Run, RunState } from '../domain/run.ts'
import { askToCancel, childrenOf, findRun } from '../store/runs.ts'
import { newIds } from './deliver.ts'
import { endUnowned, lockedRun } from './recover.ts'
import { notFound } from './route.ts'
import type { Engine } from './world.ts'

/**
 * Stops a run and everything it began, for good: at once what nobody runs, through its owner what somebody does. Asking
 * again changes nothing. Answers the state it is in now.
 */
export async function cancel(engine: Engine, runId: string, reason: string): Promise<RunState> {
  const run = await engine.store.read((rows) => findRun(rows, runId))
  if (!run) throw notFound('run', runId)
  const state = run.finishedAt === null ? await cancelOne(engine, run, reason) : run.state
  // After the parent: from now on it begins nobody, so that this list is whole. A child that has ended may have begun some.
  const children = await engine.store.read((rows) => childrenOf(rows, runId))
  for (const child of children) await cancel(engine, child.id, reason)
  return state
}

function cancelOne(engine: Engine, known: Run, reason: string): Promise<RunState> {
  return engine.store.write('cancel', async (tx) => {
    const found = await lockedRun(tx, known)
    if (!found || found.run.finishedAt !== null) return found?.run.state ?? known.state
    if (found.run.state === 'running') {
      await askToCancel(tx, found.run, reason)
      return 'running'
    }
    const error = { code: 'cancelled', message: reason, remedy: `try again: heddle retry run:${known.id}` }
    await endUnowned(tx, engine, found, { state: 'cancelled', text: `Cancelled: ${reason}`, error }, newIds(engine))
    return 'cancelled'
  })
}
