import { HeddleError, UsageError } from '../../domain/errors.ts'
import type { Label } from '../../domain/label.ts'
import {
  asAgentReason,
  asUserCancellation,
  findPlanProblems,
  isGivenUp,
  isSettled,
  isUserCancellation,
  type Plan,
  type Task,
  type TaskChange,
  type TaskStatus,
} from '../../domain/plan.ts'
import type { Session } from '../../domain/session.ts'
import { requestCancel } from '../../store/rows/cancels.ts'
import { saveRunLabel, startPlan } from '../../store/rows/plans.ts'
import { lockRun } from '../../store/rows/runs.ts'
import {
  editTask,
  findTask,
  isDropped,
  readyTasks,
  recomputeBlocked,
  setTask,
  tasksOf,
} from '../../store/rows/tasks.ts'
import type { Tx } from '../../store/store.ts'
import { startableAgents } from '../policies/registered-agent.ts'
import type { Engine } from '../runtime.ts'
import { assertExpectedBrief } from './brief-hash.ts'
import { tooLongReason } from './brief-size.ts'
import { beginTasks, endPlanIfIdle, recordPlanChange, recordTaskChange, taskNames } from './dispatch.ts'
import { resolvePointers } from './pointers.ts'

/** A task to decide about, with its plan. The plan's session must be locked. */
interface DecisionContext {
  task: Task
  plan: Plan
  home: Session
  /** The deciding run, if a run decides: its request pays for what follows, which gets its label. */
  by?: { runId: string; rootRunId: string; agent: string; label?: Label }
}

/** Result of a decision about a task. */
interface TaskDecisionResult {
  status: TaskStatus
  runId: string | null
  /** Message for the session that waits for the plan; undefined when the plan goes on. */
  news: string | undefined
}

/** Retries, skips, cancels or edits a task, and updates the tasks that depend on it. */
export async function decideTask(
  tx: Tx,
  engine: Engine,
  context: DecisionContext,
  change: TaskChange,
): Promise<TaskDecisionResult> {
  const { task, plan, by } = context
  const reasonOr = (usual: string) => (by ? asAgentReason(by.agent, change.reason ?? usual) : (change.reason ?? usual))
  await assertMayDecide(tx, context, change)
  assertExpectedBrief(task, change)
  if (change.action !== 'cancel' && (await isDropped(tx, task.id)))
    throw new HeddleError(
      'task_dropped',
      `task:${task.id} was dropped when plan:${plan.id} was planned again`,
      `decide about the tasks that replaced it: heddle show plan:${plan.id}`,
    )
  switch (change.action) {
    case 'edit':
      mustBe(task, ['pending', 'blocked', 'failed'], 'edited')
      await edit(tx, engine, context, change)
      // A person who is being asked about the plan must see the new version.
      await recordTaskChange(tx, engine, task)
      break
    case 'retry':
      mustBe(task, ['failed', 'cancelled', 'skipped'], 'tried again')
      if (by) await assertMayRetry(tx, task)
      await edit(tx, engine, context, change)
      await set(tx, engine, task, 'pending', change.reason === undefined ? null : reasonOr(''))
      break
    case 'skip':
      mustBe(task, ['pending', 'blocked', 'failed', 'cancelled'], 'skipped')
      await set(tx, engine, task, 'skipped', reasonOr('skipped by decision'))
      break
    case 'cancel': {
      if (isSettled(task.status)) break
      const reason = by ? reasonOr('cancelled by decision') : asUserCancellation(change.reason)
      if (task.status === 'running') await stopRun(tx, task, reason)
      else await set(tx, engine, task, 'cancelled', reason)
    }
  }
  await recomputeBlocked(tx, plan.id)
  const news = plan.status === 'proposed' ? undefined : await resumePlan(tx, engine, context, change)
  const now = await findTask(tx, task.id)
  return { status: now?.status ?? task.status, runId: now?.runId ?? null, news }
}

/** Max attempts of one task, and max retries in a plan, that models may start without the user. */
const maxTries = 5
const maxRetries = 20

/** Only the user decides about what the user cancelled; of a plan that was cancelled as a whole, tasks can be retried. */
async function assertMayDecide(tx: Tx, { task, plan, by }: DecisionContext, { action }: TaskChange): Promise<void> {
  if (by && isUserCancellation(task))
    throw new HeddleError('cancelled_by_person', `the user cancelled task:${task.id}`, askToRetry(task))
  if (plan.status !== 'cancelled' || (!by && action === 'retry')) return
  if (isGivenUp(plan, await tasksOf(tx, plan.id)))
    throw new HeddleError(
      'plan_cancelled',
      `plan:${plan.id} was cancelled`,
      by ? 'ask the user, or have a new plan made' : `retry what you still want: heddle retry task:${task.id}`,
    )
}

function askToRetry({ id }: Task): string {
  return `ask the user to run: heddle retry task:${id}`
}

/** Models may not retry without end. */
async function assertMayRetry(tx: Tx, task: Task): Promise<void> {
  const ask = askToRetry(task)
  if (task.attempts >= maxTries)
    throw new HeddleError(
      'tried_often',
      `task:${task.id} was tried ${task.attempts} times; only the user can start another attempt`,
      ask,
    )
  const retries = (await tasksOf(tx, task.planId)).reduce((sum, { attempts }) => sum + Math.max(0, attempts - 1), 0)
  if (retries >= maxRetries)
    throw new HeddleError(
      'tried_often',
      `tasks of plan:${task.planId} were retried ${retries} times; only the user can retry more`,
      ask,
    )
}

/**
 * Starts the tasks that the decision made ready; a stopped plan runs again, paid by the deciding run's request. With
 * scheduling `coordinator`, a retry starts only that task, and tasks that the user made ready are reported to the session.
 */
async function resumePlan(
  tx: Tx,
  engine: Engine,
  { task, plan, home, by }: DecisionContext,
  { action, context }: TaskChange,
): Promise<string | undefined> {
  const ready = await readyTasks(tx, { planId: plan.id })
  const starter = { rootRunId: plan.rootRunId, startedBy: plan.startedBy ?? plan.plannedBy }
  // The run that wrote a brief is its origin, even if the task starts later.
  if (by && (ready.length > 0 || context !== undefined)) {
    starter.startedBy = by.runId
    if (by.label) await saveRunLabel(tx, by.runId, by.label)
  }
  if (by && ready.length > 0) starter.rootRunId = by.rootRunId
  const now: Plan = { ...plan, ...starter, status: ready.length > 0 ? 'running' : plan.status }
  if (now.status === 'running') await startPlan(tx, plan.id, starter)
  if (now.status !== plan.status) await recordPlanChange(tx, engine, now)
  const startsNow = ({ id }: Task) => engine.scheduling === 'auto' || (action === 'retry' && id === task.id)
  await beginTasks(tx, engine, now, { home, tasks: ready.filter(startsNow) })
  const left = by ? [] : ready.filter((each) => !startsNow(each))
  return (await endPlanIfIdle(tx, engine, now)) ?? (left.length > 0 ? readyLine(plan, left) : undefined)
}

function readyLine({ id }: Plan, ready: Task[]): string {
  return `plan:${id}: ${taskNames(ready.map((task) => task.id))} ready. Begin with spawn_agent and task_id.`
}

async function edit(
  tx: Tx,
  engine: Engine,
  { task, home }: DecisionContext,
  { context, skill }: TaskChange,
): Promise<void> {
  if (context === undefined && skill === undefined) return
  const names = await startableAgents(tx, engine, home.folder)
  const next = { ...task, context: context ?? task.context, skill: skill?.replace(/^@/, '') ?? task.skill }
  const problems = findPlanProblems([{ ...next, dependsOn: [] }], {
    isAgent: (name) => names.includes(name),
    agents: names,
    nameOf: () => `task:${task.id}`,
  })
  const tooLong = tooLongReason(engine, next.context, { agent: next.skill, folder: home.folder })
  if (tooLong !== undefined) problems.push(`task:${task.id}: ${tooLong}`)
  const resolved = await resolvePointers(tx, next.context, home)
  if ('problems' in resolved) problems.push(...resolved.problems)
  if (problems.length > 0) throw new UsageError(problems.join('; '), 'change it and try again', 'bad_task')
  await editTask(tx, task.id, { context: next.context, skill: next.skill })
}

/** Asks the task's run to cancel; the run's end ends the task, and its work so far is kept. */
async function stopRun(tx: Tx, task: Task, reason: string): Promise<void> {
  const run = task.runId === null ? undefined : await lockRun(tx, task.runId)
  if (run && run.finishedAt === null && run.cancelReason === null) await requestCancel(tx, run, reason)
}

async function set(tx: Tx, engine: Engine, task: Task, status: TaskStatus, reason: string | null): Promise<void> {
  await setTask(tx, task.id, { status, reason })
  await recordTaskChange(tx, engine, { ...task, status })
}

function mustBe({ id, status }: Task, allowed: TaskStatus[], what: string): void {
  if (allowed.includes(status)) return
  const remedy = status === 'running' ? `stop it first: heddle cancel task:${id}` : `look at it: heddle show task:${id}`
  throw new HeddleError('task_status', `task:${id} is ${status} and cannot be ${what}`, remedy)
}
