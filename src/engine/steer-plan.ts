import { joinLabels } from '../domain/label.ts'
import { byPerson, type Plan, type PlanStatus, type Task, type TaskChange, type TaskStatus } from '../domain/plan.ts'
import type { RunState } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import { insertItem } from '../store/inbox.ts'
import { findPlan } from '../store/plans.ts'
import { findRun } from '../store/runs.ts'
import { lockSession } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { countTasks, findTask } from '../store/tasks.ts'
import { cancel } from './cancel.ts'
import { decideTask } from './decide-task.ts'
import { countLine } from './dispatch.ts'
import { giveUpPlan } from './give-up-plan.ts'
import { refreshQuestion, withdrawQuestion } from './plan-gate.ts'
import { notFound } from './route.ts'
import { nextRun } from './submit.ts'
import type { Engine } from './world.ts'

/** What a person decides about a task. Whoever waits for the plan is woken if that ends it. */
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

/** Gives a plan up: nothing of it begins any more, and what runs is stopped. Asking again changes nothing. */
export async function cancelPlan(engine: Engine, known: Plan, reason: string): Promise<PlanStatus> {
  const ids = { itemId: engine.newId(), runId: engine.newId() }
  const why = byPerson(reason)
  const running = await engine.store.write('cancel', async (tx) => {
    const home = await lockSession(tx, known.sessionId)
    const plan = await findPlan(tx, known.id)
    const running = await giveUpPlan(tx, engine, known.id, why)
    await withdrawQuestion(tx, engine, known.id, `the plan was cancelled: ${reason}`)
    // Whoever waits for it would wait for ever. One that waits for its start hears it as an answer.
    if (home && plan?.status === 'running')
      await wake(tx, engine, { plan, home }, await cancelledLine(tx, plan, why), ids)
    return running
  })
  for (const runId of running) await cancel(engine, runId, why)
  return (await engine.store.read((rows) => findPlan(rows, known.id)))?.status ?? 'cancelled'
}

/** Stops one task; what it has done so far is kept. */
export async function cancelTask(engine: Engine, task: Task, reason: string): Promise<RunState | TaskStatus> {
  const why = byPerson(reason)
  const { status, runId } = await changeTask(engine, task, { action: 'cancel', reason: why })
  return status === 'running' && runId ? cancel(engine, runId, why) : status
}

async function cancelledLine(tx: Tx, { id, title }: Plan, why: string): Promise<string> {
  const counts = countLine(await countTasks(tx, id))
  return `plan:${id} "${title}" is cancelled: ${why}. ${counts}. Nothing of it is tried again unless the person asks for it.`
}

async function lockedTask(tx: Tx, { id, planId }: Task) {
  const known = await findPlan(tx, planId)
  const home = known && (await lockSession(tx, known.sessionId))
  const [task, plan] = [await findTask(tx, id), await findPlan(tx, planId)]
  if (!task || !plan || !home) throw notFound('task', String(id), 'heddle tasks')
  return { task, plan, home }
}

/** The plan's words are those of its planner: what names them is labelled like that one. */
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
      wishes: {},
      wake: true,
      rootRunId: plan.rootRunId,
      runId: null,
      consumedByTurn: null,
      createdAt: now,
    },
    null,
  )
  await nextRun(tx, { session, runId: ids.runId, now })
}
