import { HeddleError, Misuse } from '../domain/errors.ts'
import { isSettled, type Plan, problemsIn, type Task, type TaskChange, type TaskStatus } from '../domain/plan.ts'
import type { Session } from '../domain/session.ts'
import { askToCancel } from '../store/cancels.ts'
import { startPlan } from '../store/plans.ts'
import { lockRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { blockBelow, editTask, findTask, readyTasks, setTask, unblockBelow } from '../store/tasks.ts'
import { beginTasks, endIfAtRest, tellPlan, tellTask } from './dispatch.ts'
import type { Engine } from './world.ts'

/** A task with what it belongs to; the plan's session must be locked. */
export interface Decided {
  task: Task
  plan: Plan
  home: Session
  /** The run that decides, if one does: what goes on is paid from its request. */
  by?: { runId: string; rootRunId: string }
}

/** What a decision came to. */
export interface Decision {
  status: TaskStatus
  runId: string | null
  /** What whoever waits for the plan must be told; undefined when it goes on. */
  news: string | undefined
}

/** Retries, skips, cancels or edits a task, with everything that means for the tasks that need it. */
export async function decideTask(tx: Tx, engine: Engine, decided: Decided, change: TaskChange): Promise<Decision> {
  const { task, plan } = decided
  if (plan.status === 'cancelled')
    throw new HeddleError('plan_cancelled', `plan:${plan.id} was cancelled`, 'ask for a new plan')
  switch (change.action) {
    case 'edit':
      mustBe(task, ['pending', 'blocked', 'failed'], 'edited')
      await edit(tx, engine, decided, change)
      break
    case 'retry':
      mustBe(task, ['failed', 'cancelled', 'skipped'], 'tried again')
      await edit(tx, engine, decided, change)
      await set(tx, engine, task, 'pending', change.reason ?? null)
      await unblockBelow(tx, task.id)
      break
    case 'skip':
      mustBe(task, ['pending', 'blocked', 'failed', 'cancelled'], 'skipped')
      await set(tx, engine, task, 'skipped', change.reason ?? 'skipped by decision')
      await unblockBelow(tx, task.id)
      break
    case 'cancel':
      if (isSettled(task.status)) break
      if (task.status === 'running') await stopRun(tx, task, change.reason)
      else {
        await set(tx, engine, task, 'cancelled', change.reason ?? 'cancelled by decision')
        await blockBelow(tx, task.id)
      }
  }
  const news = plan.status === 'proposed' ? undefined : await goOn(tx, engine, decided)
  const now = await findTask(tx, task.id)
  return { status: now?.status ?? task.status, runId: now?.runId ?? null, news }
}

/** Begins what the decision made ready; a plan that had stopped runs again, for the request of whoever decided. */
async function goOn(tx: Tx, engine: Engine, { plan, home, by }: Decided): Promise<string | undefined> {
  const ready = await readyTasks(tx, { planId: plan.id })
  const starter = by
    ? { rootRunId: by.rootRunId, startedBy: by.runId }
    : { rootRunId: plan.rootRunId, startedBy: plan.startedBy ?? plan.plannedBy }
  const now: Plan = { ...plan, ...starter, status: 'running' }
  if (ready.length > 0) {
    await startPlan(tx, plan.id, starter)
    if (plan.status !== 'running') await tellPlan(tx, engine, now)
    await beginTasks(tx, engine, now, home, ready)
  }
  return endIfAtRest(tx, engine, now)
}

async function edit(
  tx: Tx,
  { agents }: Engine,
  { task, home }: Decided,
  { context, skill }: TaskChange,
): Promise<void> {
  if (context === undefined && skill === undefined) return
  const names = agents.list(home.folder).map(({ name }) => name)
  const next = { ...task, context: context ?? task.context, skill: skill?.replace(/^@/, '') ?? task.skill }
  const problems = problemsIn([{ ...next, dependsOn: [] }], { isAgent: (name) => names.includes(name), agents: names })
  if (problems.length > 0) throw new Misuse(problems.join('; '), 'change it and try again', 'bad_task')
  await editTask(tx, task.id, { context: next.context, skill: next.skill })
}

/** Its run ends it: what it has done so far is kept. */
async function stopRun(tx: Tx, task: Task, reason = 'the task was cancelled'): Promise<void> {
  const run = task.runId === null ? undefined : await lockRun(tx, task.runId)
  if (run && run.finishedAt === null && run.cancelReason === null) await askToCancel(tx, run, reason)
}

async function set(tx: Tx, engine: Engine, task: Task, status: TaskStatus, reason: string | null): Promise<void> {
  await setTask(tx, task.id, { status, reason })
  await tellTask(tx, engine, { ...task, status })
}

function mustBe({ id, status }: Task, allowed: TaskStatus[], what: string): void {
  if (allowed.includes(status)) return
  const remedy = status === 'running' ? `stop it first: heddle cancel task:${id}` : `look at it: heddle show task:${id}`
  throw new HeddleError('task_status', `task:${id} is ${status} and cannot be ${what}`, remedy)
}
