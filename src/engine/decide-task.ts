import { HeddleError, Misuse } from '../domain/errors.ts'
import type { Label } from '../domain/label.ts'
import {
  isByPerson,
  isSettled,
  type Plan,
  problemsIn,
  type Task,
  type TaskChange,
  type TaskStatus,
} from '../domain/plan.ts'
import type { Session } from '../domain/session.ts'
import { askToCancel } from '../store/cancels.ts'
import { keepLabel, startPlan } from '../store/plans.ts'
import { lockRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { blockAnew, editTask, findTask, isDropped, readyTasks, setTask, tasksOf } from '../store/tasks.ts'
import { beginTasks, endIfAtRest, namesOf, tellPlan, tellTask } from './dispatch.ts'
import { resolvePointers } from './pointers.ts'
import type { Engine } from './world.ts'

/** A task with what it belongs to; the plan's session must be locked. */
export interface Decided {
  task: Task
  plan: Plan
  home: Session
  /** The run that decides, if one does: what goes on is paid from its request, and is labelled with what it has seen. */
  by?: { runId: string; rootRunId: string; label?: Label }
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
  if (change.action !== 'cancel' && (await isDropped(tx, task.id)))
    throw new HeddleError(
      'task_dropped',
      `task:${task.id} was left out when plan:${plan.id} was planned anew`,
      `decide about those that took its place: heddle show plan:${plan.id}`,
    )
  switch (change.action) {
    case 'edit':
      mustBe(task, ['pending', 'blocked', 'failed'], 'edited')
      await edit(tx, engine, decided, change)
      // Whoever is being asked about the plan must see what it has become.
      await tellTask(tx, engine, task)
      break
    case 'retry':
      mustBe(task, ['failed', 'cancelled', 'skipped'], 'tried again')
      if (decided.by) await mayTryAgain(tx, task)
      await edit(tx, engine, decided, change)
      await set(tx, engine, task, 'pending', change.reason ?? null)
      break
    case 'skip':
      mustBe(task, ['pending', 'blocked', 'failed', 'cancelled'], 'skipped')
      await set(tx, engine, task, 'skipped', change.reason ?? 'skipped by decision')
      break
    case 'cancel':
      if (isSettled(task.status)) break
      if (task.status === 'running') await stopRun(tx, task, change.reason)
      else await set(tx, engine, task, 'cancelled', change.reason ?? 'cancelled by decision')
  }
  await blockAnew(tx, plan.id)
  const news = plan.status === 'proposed' ? undefined : await goOn(tx, engine, decided, change)
  const now = await findTask(tx, task.id)
  return { status: now?.status ?? task.status, runId: now?.runId ?? null, news }
}

/** Tries of one task, and of all tasks of a plan together, that models may begin by themselves. */
const mostTries = 5
const mostRetries = 20

/** Models do not try what a person has cancelled, nor the same thing again and again. */
async function mayTryAgain(tx: Tx, task: Task): Promise<void> {
  const ask = `ask the person, who may: heddle retry task:${task.id}`
  if (isByPerson(task)) throw new HeddleError('cancelled_by_person', `the person cancelled task:${task.id}`, ask)
  if (task.attempts >= mostTries)
    throw new HeddleError(
      'tried_often',
      `task:${task.id} was tried ${task.attempts} times, the most without a person`,
      ask,
    )
  const retries = (await tasksOf(tx, task.planId)).reduce((sum, { attempts }) => sum + Math.max(0, attempts - 1), 0)
  if (retries >= mostRetries)
    throw new HeddleError(
      'tried_often',
      `tasks of plan:${task.planId} were tried again ${retries} times, the most without a person`,
      ask,
    )
}

/**
 * Begins what the decision made ready; a plan that had stopped runs again, for the request of whoever decided. Where the
 * coordinator schedules, a retry begins that task and no other, and what a person made ready is told.
 */
async function goOn(
  tx: Tx,
  engine: Engine,
  { task, plan, home, by }: Decided,
  { action, context }: TaskChange,
): Promise<string | undefined> {
  const ready = await readyTasks(tx, { planId: plan.id })
  const starter = { rootRunId: plan.rootRunId, startedBy: plan.startedBy ?? plan.plannedBy }
  // Whoever writes a brief is where it comes from, even if it is begun later.
  if (by && (ready.length > 0 || context !== undefined)) {
    starter.startedBy = by.runId
    if (by.label) await keepLabel(tx, by.runId, by.label)
  }
  if (by && ready.length > 0) starter.rootRunId = by.rootRunId
  const now: Plan = { ...plan, ...starter, status: ready.length > 0 ? 'running' : plan.status }
  if (now.status === 'running') await startPlan(tx, plan.id, starter)
  if (now.status !== plan.status) await tellPlan(tx, engine, now)
  const isMine = ({ id }: Task) => engine.scheduling === 'auto' || (action === 'retry' && id === task.id)
  await beginTasks(tx, engine, now, home, ready.filter(isMine))
  const left = by ? [] : ready.filter((each) => !isMine(each))
  return (await endIfAtRest(tx, engine, now)) ?? (left.length > 0 ? readyLine(plan, left) : undefined)
}

function readyLine({ id }: Plan, ready: Task[]): string {
  return `plan:${id}: ${namesOf(ready.map((task) => task.id))} ready. Begin with spawn_agent and task_id.`
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
  const resolved = await resolvePointers(tx, next.context, home)
  if ('problems' in resolved) problems.push(...resolved.problems)
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
