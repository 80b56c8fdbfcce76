import { joinLabels, type Label } from '../../domain/label.ts'
import {
  asPlanCancellation,
  isUserCancellation,
  type Plan,
  type PlanStatus,
  type Task,
  type TaskStatus,
} from '../../domain/plan.ts'
import type { Outcome, Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { endPlan, findPlan } from '../../store/rows/plans.ts'
import { findResult, type Result } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import {
  beginTask,
  blockDependents,
  countTasks,
  findTask,
  isPlanIdle,
  readyTasks,
  setTask,
  tasksOf,
} from '../../store/rows/tasks.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { lossLines, lossNote, lostByPlan, lostByResult } from '../files/lost-writes.ts'
import { profilesOfAgents } from '../policies/registered-agent.ts'
import type { ChildEnd, QueuedRun } from '../run/moments.ts'
import { beginChild, briefHeading } from '../run/spawn.ts'
import type { Engine, Runtime } from '../runtime.ts'
import { cutBrief, maxBriefBytes } from './brief-size.ts'
import { resolvePointers, truncateOutputs } from './pointers.ts'

/** Max total bytes of dependency results in a brief, however large the window is. */
const maxOfAll = 120_000

/** Effect of a task's end on its plan. */
interface TaskEnd {
  task: Task
  /** Message for the plan's session; undefined when nothing must be decided and the plan goes on. */
  news: string | undefined
  /** Runs of the tasks that were started. */
  begun: QueuedRun[]
}

/** Ready tasks of a plan. */
interface TasksToBegin {
  /** The plan's session. */
  home: Session
  tasks: Task[]
  /** The task whose end makes them ready, as it is now, and its run. */
  ended?: EndedTask
}

interface EndedTask {
  task: Task
  run: Run
}

/**
 * Starts ready tasks: each is a run in a session of its own that reports to the plan's session. That session's row must be
 * locked: its lock guards the plan.
 */
export async function beginTasks(
  tx: Tx,
  engine: Engine,
  plan: Plan,
  { home, tasks, ended }: TasksToBegin,
): Promise<QueuedRun[]> {
  const parent = plan.startedBy === null || tasks.length === 0 ? undefined : await findRun(tx, plan.startedBy)
  if (!parent) return []
  const planner = await findRun(tx, plan.plannedBy)
  const skills = tasks.map(({ skill }) => skill)
  const profiles = await profilesOfAgents(tx, engine.registry, skills)
  const begun: QueuedRun[] = []
  for (const task of tasks) {
    const room = maxBriefBytes(engine, { agent: task.skill, folder: home.folder, profile: profiles.get(task.skill) })
    const { content, labels } = await composeBrief(tx, task, { home, room, ...(ended && { ended }) })
    const label = joinLabels([...(planner ? [planner.label] : []), ...labels])
    const work = { content, via: 'spawn_agent' as const, agent: task.skill, callId: null, taskId: task.id, label }
    // The request that continues the plan may be later than the one that made it.
    const spawner = { parent: { ...parent, rootRunId: plan.rootRunId }, parentSession: home }
    const { run, session } = await beginChild(tx, engine, spawner, work)
    await beginTask(tx, task.id, run.id)
    await recordTaskChange(tx, engine, { ...task, status: 'running' }, plan)
    begun.push({ run, session })
  }
  return begun
}

/**
 * Applies a task's end to its plan, in the transaction that ends its run: dependents start or are blocked, and the plan
 * ends with its last task. However many tasks end at once, a plan ends once.
 */
export async function finishTask(end: ChildEnd<Engine>, resultId: number): Promise<TaskEnd | undefined> {
  const { tx, engine, run, requester: home } = end
  const task = run.taskId === null ? undefined : await findTask(tx, run.taskId)
  // A superseded attempt changes nothing.
  if (!task || task.runId !== run.id || task.status !== 'running') return undefined
  const status = statusAfter(end.ending.state)
  const plan = await findPlan(tx, task.planId)
  const reason = status === 'completed' ? null : reasonOf(run, end.ending.state, plan)
  await setTask(tx, task.id, { status, reason, resultId })
  await recordTaskChange(tx, engine, { ...task, status }, plan)
  // Also while the plan is being replanned: once started, it must not wait for a task that will never be done.
  const blocked = status === 'completed' ? [] : await blockDependents(tx, task.id)
  if (plan?.status !== 'running') return { task, news: undefined, begun: [] }
  const tasks =
    status === 'completed' && engine.scheduling === 'auto'
      ? await readyTasks(tx, { planId: plan.id, after: task.id })
      : []
  const finished = { task: { ...task, status, reason, resultId }, run }
  const next = await beginTasks(tx, engine, plan, { home, tasks, ended: finished })
  const ended = next.length > 0 ? undefined : await endPlanIfIdle(tx, engine, plan)
  const news = ended ?? (status === 'completed' ? undefined : failureLine(plan, { ...task, status, reason }, blocked))
  return { task, news, begun: next }
}

/** Ends a plan in which nothing runs or can start; returns the message for its session, undefined if nothing changed. */
export async function endPlanIfIdle(tx: Tx, runtime: Runtime, plan: Plan): Promise<string | undefined> {
  if (!(await isPlanIdle(tx, plan.id))) return undefined
  const tasks = await tasksOf(tx, plan.id)
  const status = statusOfIdle(tasks)
  if (plan.status === status) return undefined
  await endPlan(tx, plan.id, status, runtime.clock.now())
  await recordPlanChange(tx, runtime, { ...plan, status })
  const lost = lossLines(await lostByPlan(tx, plan.id))
  const name = `plan:${plan.id} "${plan.title}"`
  if (status === 'completed') {
    const done = `${name} completed: ${countLine(await countTasks(tx, plan.id))}`
    return lost.length === 0 ? done : `${[done, ...lost].join('. ')}.`
  }
  const stopped = `${name} has stopped: ${await undoneLine(tx, plan.id)}`
  return [stopped, ...lost, status === 'failed' ? choicesFor(tasks) : choicesWhenCancelled(tasks)].join('. ')
}

/** Status of a plan in which nothing runs or can start: only one of which nothing is missing is completed. */
function statusOfIdle(tasks: readonly Pick<Task, 'status'>[]): PlanStatus {
  const has = (status: TaskStatus) => tasks.some((task) => task.status === status)
  if (has('failed') || has('blocked')) return 'failed'
  return has('cancelled') ? 'cancelled' : 'completed'
}

/** Records an event: the task's status changed. `plan` is its plan, if that is known. */
export async function recordTaskChange(
  tx: Tx,
  { clock }: Runtime,
  { id, planId, status }: Pick<Task, 'id' | 'planId' | 'status'>,
  plan?: Plan,
) {
  const payload = { plan: planId, status }
  const scope = plan ?? (await findPlan(tx, planId)) ?? null
  await recordEvent(tx, { at: clock.now(), kind: 'task.changed', subject: `task:${id}`, payload, scope })
}

/** Records an event: the plan's status changed. */
export async function recordPlanChange(
  tx: Tx,
  { clock }: Runtime,
  { id, status }: Pick<Plan, 'id' | 'status'>,
): Promise<void> {
  const scope = (await findPlan(tx, id)) ?? null
  await recordEvent(tx, { at: clock.now(), kind: 'plan.changed', subject: `plan:${id}`, payload: { status }, scope })
}

/** Task counts as text: `3 completed, 1 failed`. */
export function countLine(counts: Partial<Record<TaskStatus, number>>): string {
  return Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ')
}

/** Keeps the reason of a cancel: models must not retry what the user cancelled. */
function reasonOf({ id, cancelReason }: Run, state: Outcome, plan: Plan | undefined): string {
  if (state !== 'cancelled' || cancelReason === null) return `run:${id} ended: ${state}`
  // A plan with a running task is cancelled only if it was given up: the run may know just its request's reason.
  return plan?.status === 'cancelled' ? asPlanCancellation(cancelReason) : cancelReason
}

const choices = 'Decide with task_update: retry (with context or skill), skip or cancel; or ask the user.'

/** Choices offered to the coordinator; tasks that the user cancelled are not offered for a retry. */
function choicesFor(tasks: readonly Pick<Task, 'id' | 'status' | 'reason'>[], offered = choices): string {
  const final = tasks.filter(isUserCancellation).map(({ id }) => id)
  if (final.length === 0) return offered
  return `${offered} ${taskNames(final)} cancelled by the user; only the user can retry it.`
}

/** The same for a plan in which nothing failed. */
function choicesWhenCancelled(tasks: readonly Task[]): string {
  const hasOther = tasks.some((task) => task.status === 'cancelled' && !isUserCancellation(task))
  const orRetry = hasOther ? ', or bring it back with task_update retry' : ''
  return choicesFor(tasks, `Tell the user what was not done${orRetry}.`)
}

function failureLine(plan: Plan, task: Task, blocked: number[]): string {
  const held = blocked.length === 0 ? '' : `; ${taskNames(blocked)} blocked`
  return `plan:${plan.id}: task:${task.id} ${task.status}${held}. ${choicesFor([task])}`
}

/** Max tasks named in a line; the rest is counted. */
const maxNamed = 20

/** Tasks as the subject of a sentence: `task:3 is`, `task:3, task:4 are`. */
export function taskNames(ids: readonly number[]): string {
  const names = ids.slice(0, maxNamed).map((id) => `task:${id}`)
  const rest = ids.length > names.length ? `, … (${ids.length} in all)` : ''
  return `${names.join(', ')}${rest} ${ids.length === 1 ? 'is' : 'are'}`
}

async function undoneLine(tx: Tx, planId: number): Promise<string> {
  const byStatus = Map.groupBy(await tasksOf(tx, planId), ({ status }) => status)
  return [...byStatus]
    .map(([status, tasks]) => {
      const names = tasks.slice(0, maxNamed).map(({ id }) => `task:${id}`)
      const rest = tasks.length > names.length ? ['…'] : []
      const list = status === 'completed' || status === 'skipped' ? '' : ` (${[...names, ...rest].join(', ')})`
      return `${tasks.length} ${status}${list}`
    })
    .join(', ')
}

function statusAfter(state: Outcome): 'completed' | 'cancelled' | 'failed' {
  return state === 'completed' || state === 'cancelled' ? state : 'failed'
}

/**
 * Input of a task's run: title, brief and the results of its dependencies, within `room` bytes. The brief comes first, its
 * pointers resolved in half of what is left; dependency results share the rest equally. Cut texts say how to read on.
 */
async function composeBrief(
  rows: Reading,
  task: Task,
  { home, room, ended }: Pick<TasksToBegin, 'home' | 'ended'> & { room: number },
): Promise<{ content: string; labels: Label[] }> {
  const dependencies = await readDependencies(rows, task, ended)
  const own = cutBrief(task.context, room)
  const words = Buffer.byteLength(own)
  const brief = await resolvePointers(rows, own, home, dependencies.length === 0 ? room : words + (room - words) / 2)
  // Pointers were checked when the brief was written; one that no longer resolves stays as text.
  const text = 'text' in brief ? brief.text : own
  const left = Math.min(maxOfAll, room - Buffer.byteLength(text))
  const outputs = truncateOutputs(
    dependencies.flatMap(({ result }) => result ?? []),
    left,
    maxOfAll / 3,
  )
  const before = dependencies.map(({ task: { title, skill }, result, lost }) =>
    result
      ? [`### [agent_result:${result.id}] @${skill} "${title}" ${result.status}`, ...lost, outputs.shift()].join('\n')
      : `### "${title}" was skipped`,
  )
  const parts = [`${task.title}${briefHeading}${text}`]
  if (before.length > 0) parts.push(`## Results of the tasks before\n${before.join('\n\n')}`)
  const labels = ['labels' in brief ? brief.labels : [], dependencies.flatMap(({ label }) => label ?? [])].flat()
  return { content: parts.join('\n\n'), labels }
}

/** A dependency of a task; skipped ones have no result. `lost` lists its writes that others overwrote. */
interface Dependency {
  task: Task
  result?: Result
  label?: Label
  lost: string[]
}

async function readDependencies(rows: Reading, { dependsOn }: Task, ended?: EndedTask): Promise<Dependency[]> {
  const dependencies: Dependency[] = []
  for (const id of dependsOn) {
    const known = ended?.task.id === id ? ended : undefined
    const task = known?.task ?? (await findTask(rows, id))
    const result = task?.resultId ? await findResult(rows, task.resultId) : undefined
    const run = result && (known?.run ?? (await findRun(rows, result.runId)))
    const lost = run ? await lostByResult(rows, result, run) : []
    if (task)
      dependencies.push({
        task,
        ...(result && task.status !== 'skipped' && { result }),
        ...(run && { label: run.label }),
        lost: lost.length === 0 ? [] : [lossNote(lost)],
      })
  }
  return dependencies
}
