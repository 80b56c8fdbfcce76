import type { PlanLine, PlanView, ResultLine, TaskLine, TaskView } from '../../api/views/plan.ts'
import type { Millis } from '../../domain/clock.ts'
import { UsageError } from '../../domain/errors.ts'
import type { Plan, Task, TaskStatus } from '../../domain/plan.ts'
import { narrativesOfTask } from '../../store/knowledge/narrative-tasks.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { openApprovals } from '../../store/rows/approvals.ts'
import { findPlan, listPlans, plansAwaitingUser } from '../../store/rows/plans.ts'
import { findResult, listResults, type Result } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { countTasks, findTask, listTasks, taskIdsOf, tasksOf } from '../../store/rows/tasks.ts'
import type { Reading } from '../../store/store.ts'
import { dropRestored, lossLines, lostByPlan } from '../files/lost-writes.ts'
import { describeActivity } from '../run/describe-activity.ts'
import type { Engine } from '../runtime.ts'
import { notFound } from '../turns/route.ts'
import { briefHash } from './brief-hash.ts'
import { gateTool } from './plan-gate.ts'
import { targetWarnings } from './shared-targets.ts'

const recentResults = 100

/** Context of task views. */
interface TaskViewContext extends Pick<Engine, 'agents'> {
  now: Millis
}

/** Context of views that also look at files. */
type FileViewContext = TaskViewContext & Pick<Engine, 'protect'>

/** Plans, newest first; of one folder if given, and only those that need the user if that is asked for. */
export async function viewPlans(
  rows: Reading,
  { folder, needsYou = false, ...own }: OwnedBy & { folder?: string; needsYou?: boolean } = {},
): Promise<PlanLine[]> {
  const waiting = await plansAwaitingUser(rows, own)
  const listed = (await listPlans(rows, own)).filter(({ id }) => !needsYou || waiting.includes(id))
  const lines = await Promise.all(listed.map((plan) => planLine(rows, plan, waiting)))
  return lines.filter((line) => folder === undefined || line.folder === folder)
}

export async function viewPlan(rows: Reading, context: FileViewContext, text: string): Promise<PlanView> {
  const plan = await resolvePlan(rows, text)
  const line = await planLine(rows, plan, await plansAwaitingUser(rows, { id: plan.id }))
  const tasks = await tasksOf(rows, plan.id)
  const isOver = plan.status !== 'proposed' && plan.status !== 'running'
  const warnings = isOver ? [] : targetWarnings(tasks, context.agents, line.folder ?? '')
  const lost = await dropRestored(await lostByPlan(rows, plan.id), context.protect)
  const approval = (await openApprovals(rows)).find(
    ({ tool, input }) => tool === gateTool && (input as { project_id?: unknown } | null)?.project_id === plan.id,
  )
  return {
    kind: 'plan',
    ...line,
    goal: plan.goal,
    revision: plan.revision,
    runId: plan.plannedBy,
    ...(approval && { approvalId: approval.id }),
    ...(warnings.length > 0 && { warnings }),
    ...(lost.length > 0 && { lost: lossLines(lost) }),
    tasks: await taskLines(rows, context, tasks),
  }
}

export async function viewTasks(
  rows: Reading,
  context: TaskViewContext,
  { plan, status, ...own }: OwnedBy & { plan?: string; status?: TaskStatus } = {},
): Promise<TaskLine[]> {
  const planId = plan === undefined ? undefined : (await resolvePlan(rows, plan)).id
  const found = await listTasks(rows, { ...own, ...(planId !== undefined && { planId }), ...(status && { status }) })
  return taskLines(rows, context, found)
}

export async function viewTask(rows: Reading, context: FileViewContext, text: string): Promise<TaskView> {
  const task = await resolveTask(rows, text)
  const [line] = await taskLines(rows, context, [task])
  const results = await listResults(rows, { taskId: task.id })
  const lost = (await lostByPlan(rows, task.planId)).filter((each) => each.lost.run.taskId === task.id)
  const lines = lossLines(await dropRestored(lost, context.protect))
  return {
    kind: 'task',
    ...(line as TaskLine),
    plan: (await findPlan(rows, task.planId))?.title ?? '',
    context: task.context,
    briefHash: briefHash(task),
    ...(lines.length > 0 && { lost: lines }),
    results: results.reverse().map(resultLine),
    narratives: await narrativesOfTask(rows, task.id),
  }
}

/** Results of agents, newest first. */
export async function viewResults(
  rows: Reading,
  { unprocessed = false, undelivered = false, ...own }: OwnedBy & { unprocessed?: boolean; undelivered?: boolean } = {},
): Promise<ResultLine[]> {
  const limit = unprocessed || undelivered ? {} : { limit: recentResults }
  return (await listResults(rows, { unprocessed, undelivered, ...limit, ...own })).map(resultLine)
}

export function resultLine({ output: _, artifacts: __, memoryIds: ___, createdAt, ...result }: Result): ResultLine {
  return { ...result, createdAt: new Date(createdAt).toISOString() }
}

/** Finds a plan by `plan:3` or `3`. */
export async function resolvePlan(rows: Reading, text: string): Promise<Plan> {
  const plan = await findPlan(rows, parseNumber(text, 'plan', 'heddle plans lists them'))
  if (!plan) throw notFound('plan', text.replace(/^plan:/, ''))
  return plan
}

/** Finds a task by `task:3` or `3`. */
export async function resolveTask(rows: Reading, text: string): Promise<Task> {
  const task = await findTask(rows, parseNumber(text, 'task', 'heddle tasks lists them'))
  if (!task) throw notFound('task', text.replace(/^task:/, ''))
  return task
}

function parseNumber(text: string, kind: 'plan' | 'task', remedy: string): number {
  const [, digits] = new RegExp(`^(?:${kind}:)?([1-9]\\d{0,14})$`).exec(text) ?? []
  if (digits === undefined) throw new UsageError(`"${text}" is not the number of a ${kind}`, remedy, 'bad_reference')
  return Number(digits)
}

async function planLine(rows: Reading, plan: Plan, waiting: readonly number[]): Promise<PlanLine> {
  const [session] = await findSessions(rows, { id: plan.sessionId })
  return {
    id: plan.id,
    title: plan.title,
    status: plan.status,
    session: session?.label ?? null,
    folder: session?.folder ?? null,
    counts: await countTasks(rows, plan.id),
    createdAt: new Date(plan.createdAt).toISOString(),
    finishedAt: plan.finishedAt === null ? null : new Date(plan.finishedAt).toISOString(),
    ...(waiting.includes(plan.id) && { needsYou: true as const }),
  }
}

async function taskLines(rows: Reading, context: TaskViewContext, tasks: Task[]): Promise<TaskLine[]> {
  const numbers = new Map<number, number>()
  for (const planId of new Set(tasks.map((task) => task.planId)))
    for (const [at, id] of (await taskIdsOf(rows, planId)).entries()) numbers.set(id, at + 1)
  const lines: TaskLine[] = []
  for (const task of tasks) lines.push({ ...(await taskLine(rows, context, task)), ...numberOf(task) })
  return lines

  function numberOf({ id }: Task): Pick<TaskLine, 'number'> {
    const number = numbers.get(id)
    return number === undefined ? {} : { number }
  }
}

async function taskLine(rows: Reading, { agents, now }: TaskViewContext, task: Task): Promise<TaskLine> {
  const run = task.runId === null ? undefined : await findRun(rows, task.runId)
  const [session] = run?.sessionId ? await findSessions(rows, { id: run.sessionId }) : []
  const result = task.resultId === null ? undefined : await findResult(rows, task.resultId)
  const doing = run?.finishedAt === null ? (await describeActivity(rows, [run], now)).get(run.id) : undefined
  const { id, planId, key, title, skill, dependsOn, status, attempts, reason } = task
  return {
    ...{ id, planId, key, title, skill },
    model: run?.modelRequested ?? agents.find(skill, session?.folder ?? '')?.model ?? null,
    ...{ dependsOn, status, attempts },
    ...(result && { resultId: result.id, summary: result.summary }),
    ...(run && { runId: run.id, seconds: Math.round(((run.finishedAt ?? now) - run.createdAt) / 1000) }),
    ...(doing !== undefined && { doing }),
    ...(run?.state === 'queued' && { isQueued: true as const }),
    ...(reason !== null && { reason }),
  }
}
