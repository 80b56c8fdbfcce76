import { joinLabels, type Label } from '../domain/label.ts'
import { isByPerson, type Plan, type Task, type TaskStatus } from '../domain/plan.ts'
import type { Outcome, Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import { recordEvent } from '../store/events.ts'
import { endPlan, findPlan } from '../store/plans.ts'
import { findResult, type Result } from '../store/results.ts'
import { findRun } from '../store/runs.ts'
import type { Reading, Tx } from '../store/store.ts'
import {
  beginTask,
  blockBelow,
  countTasks,
  findTask,
  hasUndone,
  isAtRest,
  readyTasks,
  setTask,
  tasksOf,
} from '../store/tasks.ts'
import { resolvePointers, shortenedAll } from './pointers.ts'
import { roomFor } from './room-for.ts'
import { beforeBrief, beginChild } from './spawn.ts'
import type { Engine, World } from './world.ts'

/** Bytes of all results together that a task is given of those before it, however large a window is. */
const mostOfAll = 120_000

/** What the end of a task means for whoever waits for its plan. */
export interface TaskEnd {
  task: Task
  /** What must be told at once; undefined when nothing must be decided and the plan goes on. */
  news: string | undefined
  /** Sessions of the tasks that this end began. */
  begun: Session[]
}

/**
 * Begins tasks that need nothing any more: each is a run with a session of its own, which the plan's session hears of.
 * That session's row must be locked: its lock guards the plan.
 */
export async function beginTasks(tx: Tx, engine: Engine, plan: Plan, home: Session, tasks: Task[]): Promise<Session[]> {
  const parent = plan.startedBy === null ? undefined : await findRun(tx, plan.startedBy)
  if (!parent || tasks.length === 0) return []
  const planner = await findRun(tx, plan.plannedBy)
  const begun: Session[] = []
  for (const task of tasks) {
    const room = roomFor(engine, { agent: task.skill, folder: home.folder })
    const { content, labels } = await workOrder(tx, task, home, room)
    const label = joinLabels([...(planner ? [planner.label] : []), ...labels])
    const work = { content, agent: task.skill, model: null, taskId: task.id, label }
    // The request that the plan goes on for may be a later one than the one that made it.
    const beginner = { parent: { ...parent, rootRunId: plan.rootRunId }, home }
    const { runId, session } = await beginChild(tx, engine, beginner, work, null)
    await beginTask(tx, task.id, runId)
    await tellTask(tx, engine, { ...task, status: 'running' })
    begun.push(session)
  }
  return begun
}

/**
 * Takes a task's end into its plan, in the transaction that ends its run: what needed it begins or is blocked, and the
 * plan ends with its last task. However many end at once, a plan ends once.
 */
export async function finishTask(
  tx: Tx,
  engine: Engine,
  run: Run,
  home: Session,
  end: { state: Outcome; resultId: number },
): Promise<TaskEnd | undefined> {
  const task = run.taskId === null ? undefined : await findTask(tx, run.taskId)
  // An attempt that another has taken the place of changes nothing any more.
  if (!task || task.runId !== run.id || task.status !== 'running') return undefined
  const status = statusAfter(end.state)
  const reason = status === 'completed' ? null : reasonOf(run, end.state)
  await setTask(tx, task.id, { status, reason, resultId: end.resultId })
  await tellTask(tx, engine, { ...task, status })
  // Of a plan that is being planned anew, too: whoever starts it must not wait for what will never be done.
  const blocked = status === 'completed' ? [] : await blockBelow(tx, task.id)
  const plan = await findPlan(tx, task.planId)
  if (plan?.status !== 'running') return { task, news: undefined, begun: [] }
  const next =
    status === 'completed' && engine.scheduling === 'auto'
      ? await beginTasks(tx, engine, plan, home, await readyTasks(tx, { planId: plan.id, after: task.id }))
      : []
  const ended = await endIfAtRest(tx, engine, plan)
  const news = ended ?? (status === 'completed' ? undefined : failureLine(plan, { ...task, status, reason }, blocked))
  return { task, news, begun: next }
}

/** Ends a plan of which nothing runs or will run by itself; answers what its session is told, unless it was so before. */
export async function endIfAtRest(tx: Tx, world: World, plan: Plan): Promise<string | undefined> {
  if (!(await isAtRest(tx, plan.id))) return undefined
  const status = (await hasUndone(tx, plan.id)) ? 'failed' : 'completed'
  if (plan.status === status) return undefined
  await endPlan(tx, plan.id, status, world.clock.now())
  await tellPlan(tx, world, { ...plan, status })
  return status === 'completed'
    ? `plan:${plan.id} "${plan.title}" completed: ${countLine(await countTasks(tx, plan.id))}`
    : `plan:${plan.id} "${plan.title}" has stopped: ${await undoneLine(tx, plan.id)}. ${choicesFor(await tasksOf(tx, plan.id))}`
}

/** Tells followers that a task is not what it was. */
export async function tellTask(
  tx: Tx,
  { clock }: World,
  { id, planId, status }: Pick<Task, 'id' | 'planId' | 'status'>,
) {
  const payload = { plan: planId, status }
  await recordEvent(tx, { at: clock.now(), kind: 'task.changed', subject: `task:${id}`, payload })
}

/** The same of a plan. */
export async function tellPlan(tx: Tx, { clock }: World, { id, status }: Pick<Plan, 'id' | 'status'>): Promise<void> {
  await recordEvent(tx, { at: clock.now(), kind: 'plan.changed', subject: `plan:${id}`, payload: { status } })
}

/** Counts in words: `3 completed, 1 failed`. */
export function countLine(counts: Partial<Record<TaskStatus, number>>): string {
  return Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ')
}

/** Who ended a run that was cancelled is kept: what a person cancels, no model tries again. */
function reasonOf({ id, cancelReason }: Run, state: Outcome): string {
  return state === 'cancelled' && cancelReason !== null ? cancelReason : `run:${id} ended: ${state}`
}

const choices = 'Decide with task_update: retry (with context or skill), skip or cancel; or ask the person.'

/** What may be decided; what the person cancelled is not offered for another try. */
function choicesFor(tasks: readonly Pick<Task, 'id' | 'status' | 'reason'>[]): string {
  const final = tasks.filter(isByPerson).map(({ id }) => id)
  if (final.length === 0) return choices
  return `${choices} ${namesOf(final)} cancelled by the person, who alone may have that tried again.`
}

function failureLine(plan: Plan, task: Task, blocked: number[]): string {
  const held = blocked.length === 0 ? '' : `; ${namesOf(blocked)} blocked`
  return `plan:${plan.id}: task:${task.id} ${task.status}${held}. ${choicesFor([task])}`
}

/** So many are named in a line; the rest is counted. */
const mostNamed = 20

/** Tasks in words, as the subject of a sentence: `task:3 is`, `task:3, task:4 are`. */
export function namesOf(ids: readonly number[]): string {
  const names = ids.slice(0, mostNamed).map((id) => `task:${id}`)
  const rest = ids.length > names.length ? `, … (${ids.length} in all)` : ''
  return `${names.join(', ')}${rest} ${ids.length === 1 ? 'is' : 'are'}`
}

async function undoneLine(tx: Tx, planId: number): Promise<string> {
  const byStatus = Map.groupBy(await tasksOf(tx, planId), ({ status }) => status)
  return [...byStatus]
    .map(([status, tasks]) => {
      const names = tasks.slice(0, mostNamed).map(({ id }) => `task:${id}`)
      const rest = tasks.length > names.length ? ['…'] : []
      const named = status === 'completed' || status === 'skipped' ? '' : ` (${[...names, ...rest].join(', ')})`
      return `${tasks.length} ${status}${named}`
    })
    .join(', ')
}

function statusAfter(state: Outcome): 'completed' | 'cancelled' | 'failed' {
  return state === 'completed' || state === 'cancelled' ? state : 'failed'
}

/**
 * Everything a task's agent is told: what to do, the brief, and what the tasks before it came to. It fits into the room
 * there is: the brief first, with what it points to in half of what is left, then the tasks before it in equal shares.
 * Whatever is cut says how to read on.
 */
async function workOrder(
  rows: Reading,
  task: Task,
  home: Session,
  room: number,
): Promise<{ content: string; labels: Label[] }> {
  const needed = await resultsNeeded(rows, task)
  const words = Buffer.byteLength(task.context)
  const brief = await resolvePointers(rows, task.context, home, needed.length === 0 ? room : words + (room - words) / 2)
  // Pointers were checked when the brief was written; one that has gone since stays as it is.
  const text = 'text' in brief ? brief.text : task.context
  const left = Math.min(mostOfAll, room - Buffer.byteLength(text))
  const outputs = shortenedAll(
    needed.flatMap(({ result }) => result ?? []),
    left,
    mostOfAll / 3,
  )
  const before = needed.map(({ task: { title, skill }, result }) =>
    result
      ? `### [agent_result:${result.id}] @${skill} "${title}" ${result.status}\n${outputs.shift()}`
      : `### "${title}" was skipped`,
  )
  const parts = [`${task.title}${beforeBrief}${text}`]
  if (before.length > 0) parts.push(`## Results of the tasks before\n${before.join('\n\n')}`)
  const labels = ['labels' in brief ? brief.labels : [], needed.flatMap(({ label }) => label ?? [])].flat()
  return { content: parts.join('\n\n'), labels }
}

/** The tasks that a task needs, each with its result unless it was skipped. */
async function resultsNeeded(
  rows: Reading,
  { dependsOn }: Task,
): Promise<{ task: Task; result?: Result; label?: Label }[]> {
  const needed: { task: Task; result?: Result; label?: Label }[] = []
  for (const id of dependsOn) {
    const task = await findTask(rows, id)
    const result = task?.resultId ? await findResult(rows, task.resultId) : undefined
    const run = result && (await findRun(rows, result.runId))
    if (task)
      needed.push({ task, ...(result && task.status !== 'skipped' && { result }), ...(run && { label: run.label }) })
  }
  return needed
}
