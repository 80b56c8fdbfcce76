import { asPlanCancellation, isUserCancellation } from '../../domain/plan.ts'
import { endPlan, findPlan, plansOfRequest } from '../../store/rows/plans.ts'
import { lockSession } from '../../store/rows/sessions.ts'
import { cancelUnstarted, setTask, tasksOf } from '../../store/rows/tasks.ts'
import type { Tx } from '../../store/store.ts'
import type { Engine } from '../runtime.ts'
import { recordPlanChange } from './dispatch.ts'

/** Cancels all plans of a request. Call before its runs are cancelled, so that no run's end starts another task. */
export async function cancelPlansOf(engine: Engine, rootRunId: string, reason: string): Promise<void> {
  for (const plan of await engine.store.read((rows) => plansOfRequest(rows, rootRunId)))
    await engine.store.write('cancel', async (tx) => {
      await lockSession(tx, plan.sessionId)
      await giveUpPlan(tx, engine, plan.id, reason)
    })
}

/** Cancels a plan: no task starts any more. Returns the runs still running for it. Its session must be locked. */
export async function giveUpPlan(tx: Tx, engine: Engine, planId: number, reason: string): Promise<string[]> {
  const plan = await findPlan(tx, planId)
  if (!plan || plan.status === 'completed') return []
  const why = asPlanCancellation(reason)
  await cancelUnstarted(tx, planId, why)
  const tasks = await tasksOf(tx, planId)
  // Also what a model had cancelled: it could bring that back otherwise.
  for (const task of tasks)
    if (task.status === 'cancelled' && !isUserCancellation(task))
      await setTask(tx, task.id, { status: 'cancelled', reason: why })
  if (plan.status === 'cancelled') return []
  await endPlan(tx, planId, 'cancelled', engine.clock.now())
  await recordPlanChange(tx, engine, { id: planId, status: 'cancelled' })
  return tasks.flatMap(({ status, runId }) => (status === 'running' && runId ? [runId] : []))
}
