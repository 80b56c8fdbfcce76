import type { RunState } from '../domain/run.ts'
import { askToCancel, findRun } from '../store/runs.ts'
import { endUnowned, lockedRun, newIds } from './recover.ts'
import { notFound } from './route.ts'
import type { Engine } from './world.ts'

/**
 * Stops a run for good: at once if nobody runs it, else its owner is told and ends it. Asking again changes nothing.
 * Answers the state it is in now.
 */
export async function cancel(engine: Engine, runId: string, reason: string): Promise<RunState> {
  const known = await engine.store.read((rows) => findRun(rows, runId))
  if (!known) throw notFound('run', runId)
  const ids = newIds(engine)
  return engine.store.write('cancel', async (tx) => {
    const found = await lockedRun(tx, known)
    if (!found || found.run.finishedAt !== null) return found?.run.state ?? known.state
    if (found.run.state === 'running') {
      await askToCancel(tx, runId, reason)
      tx.hint('cancel')
      return 'running'
    }
    const error = { code: 'cancelled', message: reason, remedy: `try again: heddle retry run:${runId}` }
    await endUnowned(
      tx,
      engine,
      found.run,
      found.session,
      { state: 'cancelled', text: `Cancelled: ${reason}`, error },
      ids,
    )
    return 'cancelled'
  })
}
