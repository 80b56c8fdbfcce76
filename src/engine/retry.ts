import { HeddleError } from '../domain/errors.ts'
import { insertItem, itemsOfRun } from '../store/inbox.ts'
import { findRun } from '../store/runs.ts'
import { lockedRun } from './recover.ts'
import { isBackground } from './role.ts'
import { notFound } from './route.ts'
import { nextRun } from './submit.ts'
import type { World } from './world.ts'

/** Gives the inputs of a finished run to a new one on the session's current head; the old turn stays as it is. */
export async function retry(world: World, runId: string): Promise<{ runId: string | null }> {
  const { old, items } = await world.store.read(async (rows) => ({
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
    throw new HeddleError('nothing_to_retry', `nobody waits for run:${runId}`, 'it is told anew after the next turn')
  if (items.length === 0)
    throw new HeddleError(
      'nothing_to_retry',
      `run:${runId} had no inputs`,
      'only runs that answered something can be tried again',
    )
  const fresh = items.map((item) => ({ ...item, id: world.newId(), createdAt: world.clock.now() }))
  const next = world.newId()
  return world.store.write('submit', async (tx) => {
    const found = await lockedRun(tx, old)
    if (!found) throw notFound('session of run', runId)
    for (const item of fresh) await insertItem(tx, { ...item, runId: null, consumedByTurn: null }, null)
    return { runId: await nextRun(tx, { session: found.session, runId: next, now: world.clock.now(), via: 'retry' }) }
  })
}
