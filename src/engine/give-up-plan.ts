import { endPlan, findPlan, plansOfRequest } from '../store/plans.ts'
import { lockSession } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { cancelRest, tasksOf } from '../store/tasks.ts'
import { tellPlan } from './dispatch.ts'
import type { Engine } from './world.ts'

/** Gives up all plans of a request that somebody stops: before its runs, so that no end begins another. */
export async function cancelPlansOf(engine: Engine, rootRunId: string, reason: string): Promise<void> {
  for (const plan of await engine.store.read((rows) => plansOfRequest(rows, rootRunId)))
    await engine.store.write('cancel', async (tx) => {
      await lockSession(tx, plan.sessionId)
      await giveUpPlan(tx, engine, plan.id, reason)
    })
}

/** Nothing of the plan begins any more; answers the runs that are under way for it. Its session must be locked. */
export async function giveUpPlan(tx: Tx, engine: Engine, planId: number, reason: string): Promise<string[]> {
  const plan = await findPlan(tx, planId)
  if (!plan || (plan.status !== 'proposed' && plan.status !== 'running' && plan.status !== 'failed')) return []
  await endPlan(tx, planId, 'cancelled', engine.clock.now())
  await cancelRest(tx, planId, reason)
  await tellPlan(tx, engine, { id: planId, status: 'cancelled' })
  return (await tasksOf(tx, planId)).flatMap(({ status, runId }) => (status === 'running' && runId ? [runId] : []))
}
