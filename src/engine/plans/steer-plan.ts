import { joinLabels } from '../../domain/label.ts'
import {
  asPlanCancellation,
  asUserCancellation,
  type Plan,
  type PlanStatus,
  type Task,
  type TaskChange,
  type TaskStatus,
} from '../../domain/plan.ts'
import type { RunState } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { insertItem } from '../../store/rows/inbox.ts'
import { findPlan } from '../../store/rows/plans.ts'
import { findRun } from '../../store/rows/runs.ts'
import { lockSession } from '../../store/rows/sessions.ts'
import { countTasks, findTask } from '../../store/rows/tasks.ts'
import type { Tx } from '../../store/store.ts'
import { cancel } from '../run/cancel.ts'
import { nextRun } from '../run/submit.ts'
import type { Engine } from '../runtime.ts'
import { notFound } from '../turns/route.ts'
import { decideTask } from './decide-task.ts'
import { countLine } from './dispatch.ts'
import { giveUpPlan } from './give-up-plan.ts'
import { refreshQuestion, withdrawQuestion } from './plan-gate.ts'

/** Applies the user's decision about a task. The plan's session is woken if that ends the plan. */
export async function changeTask(
  engine: Engine,
  known: Task,
  change: TaskChange,
): Promise<{ id: number; status: TaskStatus; runId: string | null }> {
  const ids = { itemId: engine.newId(), runId: engine.newId() }
  return engine.store.write('submit', async (tx) => {
    const { task, plan, home } = await lockedTask(tx, known)
    const { status, runId, news } = await decideTask(tx, engine, { task, plan, home }, change)
    if (plan.status === 'proposed') await refreshQuestion(tx, engine, plan)
    if (news !== undefined) await wake(tx, engine, { plan, home }, news, ids)
    tx.hint('runs')
    return { id: task.id, status, runId }
  })
}

/** Cancels a plan: no task starts any more, and running ones are stopped. Idempotent. */
export async function cancelPlan(engine: Engine, known: Plan, reason: string): Promise<PlanStatus> {
  const ids = { itemId: engine.newId(), runId: engine.newId() }
  const why = asPlanCancellation(reason)
  const running = await engine.store.write('cancel', async (tx) => {
    const home = await lockSession(tx, known.sessionId)
    const plan = await findPlan(tx, known.id)
    const running = await giveUpPlan(tx, engine, known.id, why)
    await withdrawQuestion(tx, engine, known.id, `the plan was cancelled: ${reason}`)
    // A session that waits for the plan must be woken. A run that waits for its approval gets a no instead.
    if (home && plan?.status === 'running')
      await wake(tx, engine, { plan, home }, await cancelledLine(tx, plan, asUserCancellation(reason)), ids)
    return running
  })
  for (const runId of running) await cancel(engine, runId, why)
  return (await engine.store.read((rows) => findPlan(rows, known.id)))?.status ?? 'cancelled'
}

/** Cancels one task; its work so far is kept. */
export async function cancelTask(engine: Engine, task: Task, reason: string): Promise<RunState | TaskStatus> {
  const { status, runId } = await changeTask(engine, task, { action: 'cancel', reason })
  return status === 'running' && runId ? cancel(engine, runId, asUserCancellation(reason)) : status
}

async function cancelledLine(tx: Tx, { id, title }: Plan, why: string): Promise<string> {
  const { running, ...counts } = await countTasks(tx, id)
  // Runs are stopped after this transaction.
  const tasks = [countLine(counts), ...(running ? [`${running} being stopped`] : [])].filter((part) => part !== '')
  return (
    `plan:${id} "${title}" is cancelled: ${why}. ${tasks.join(', ')}. No task of it is retried unless the user asks: ` +
    'heddle retry task:ID.'
  )
}

async function lockedTask(tx: Tx, { id, planId }: Task) {
  const known = await findPlan(tx, planId)
  const home = known && (await lockSession(tx, known.sessionId))
  const [task, plan] = [await findTask(tx, id), await findPlan(tx, planId)]
  if (!task || !plan || !home) throw notFound('task', String(id))
  return { task, plan, home }
}

/** Wakes the plan's session with a message, labelled like the planner: it quotes the plan. */
async function wake(
  tx: Tx,
  { clock }: Engine,
  { plan, home: session }: { plan: Plan; home: Session },
  news: string,
  ids: { itemId: string; runId: string },
): Promise<void> {
  const [root, planner] = [await findRun(tx, plan.rootRunId), await findRun(tx, plan.plannedBy)]
  const now = clock.now()
  await insertItem(
    tx,
    {
      id: ids.itemId,
      sessionId: session.id,
      kind: 'join',
      content: news,
      source: 'agent',
      parts: [],
      label: joinLabels([root, planner].flatMap((run) => run?.label ?? [])),
      options: {},
      wake: true,
      rootRunId: plan.rootRunId,
      runId: null,
      consumedByTurn: null,
      createdAt: now,
      principal: root?.principal ?? session.principalId,
    },
    null,
  )
  await nextRun(tx, { session, runId: ids.runId, now })
}
