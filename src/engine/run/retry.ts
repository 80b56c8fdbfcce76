import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { Run } from '../../domain/run.ts'
import type { RunOptions } from '../../domain/run-options.ts'
import { insertItem, itemsOfRun } from '../../store/rows/inbox.ts'
import { findRun } from '../../store/rows/runs.ts'
import { isBackground } from '../model/role.ts'
import type { Runtime } from '../runtime.ts'
import { assertTakesInput } from '../turns/append.ts'
import { notFound } from '../turns/route.ts'
import { nextRun } from './submit.ts'
import { lockRunWithSessions } from './worker/recover.ts'

/** Queues a new run for the inputs of a finished one, on the session's current head. The old turn stays. */
export async function retry(runtime: Runtime, runId: string): Promise<{ runId: string | null }> {
  const { old, items } = await runtime.store.read(async (rows) => ({
    old: await findRun(rows, runId),
    items: await itemsOfRun(rows, runId),
  }))
  if (!old) throw notFound('run', runId)
  if (old.finishedAt === null)
    throw new HeddleError(
      'not_finished',
      `run:${runId} is still ${old.state}`,
      `stop it first: heddle cancel run:${runId}`,
    )
  if (isBackground(old))
    throw new HeddleError(
      'nothing_to_retry',
      `run:${runId} is a background summary and cannot be retried`,
      'it runs again after the next turn',
    )
  if (items.length === 0)
    throw new HeddleError(
      'nothing_to_retry',
      `run:${runId} had no inputs`,
      'only runs that answered something can be retried',
    )
  const now = runtime.clock.now()
  const options = optionsAgain(old, now)
  const fresh = items.map((item) => ({ ...item, options, id: runtime.newId(), createdAt: now }))
  const next = runtime.newId()
  return runtime.store.write('submit', async (tx) => {
    const found = await lockRunWithSessions(tx, old)
    if (!found) throw notFound('session of run', runId)
    assertTakesInput(found.session)
    for (const item of fresh) await insertItem(tx, { ...item, runId: null, consumedByTurn: null }, null)
    return { runId: await nextRun(tx, { session: found.session, runId: next, now, via: 'retry' }) }
  })
}

/** The options of a run for another try. A deadline that has passed would end it before it starts. */
function optionsAgain({ options: { deadline, ...options } }: Run, now: Millis): RunOptions {
  return { ...options, ...(deadline !== undefined && deadline > now && { deadline }) }
}
