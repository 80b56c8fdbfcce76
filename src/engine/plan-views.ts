import type { Millis } from '../domain/clock.ts'
import { Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { Plan, Task, TaskStatus } from '../domain/plan.ts'
import type { PlanLine, PlanView, ResultLine, TaskLine, TaskView } from '../domain/plan-views.ts'
import { openApprovals } from '../store/approvals.ts'
import { findPlan, listPlans } from '../store/plans.ts'
import { findResult, listResults, type Result } from '../store/results.ts'
import { findRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import { countTasks, findTask, listTasks, tasksOf } from '../store/tasks.ts'
import { Journal } from './journal.ts'
import { gateTool } from './plan-gate.ts'
import { notFound } from './route.ts'
import type { Engine } from './world.ts'

const recentResults = 100

/** What views need besides the rows. */
interface Around extends Pick<Engine, 'agents'> {
  now: Millis
}

/** Plans, newest first; of one folder if one is named. */
export async function viewPlans(rows: Reading, { folder }: { folder?: string } = {}): Promise<PlanLine[]> {
  const lines = await Promise.all((await listPlans(rows)).map((plan) => planLine(rows, plan)))
  return lines.filter((line) => folder === undefined || line.folder === folder)
}

export async function viewPlan(rows: Reading, around: Around, text: string): Promise<PlanView> {
  const plan = await planNamed(rows, text)
  const line = await planLine(rows, plan)
  const asked = (await openApprovals(rows)).find(
    ({ tool, input }) => tool === gateTool && (input as { project_id?: unknown } | null)?.project_id === plan.id,
  )
  return {
    kind: 'plan',
    ...line,
    goal: plan.goal,
    revision: plan.revision,
    runId: plan.plannedBy,
    ...(asked && { approvalId: asked.id }),
    tasks: await linesOf(rows, around, await tasksOf(rows, plan.id)),
  }
}

export async function viewTasks(
  rows: Reading,
  around: Around,
  { plan, status }: { plan?: string; status?: TaskStatus } = {},
): Promise<TaskLine[]> {
  const planId = plan === undefined ? undefined : (await planNamed(rows, plan)).id
  const found = await listTasks(rows, { ...(planId !== undefined && { planId }), ...(status && { status }) })
  return linesOf(rows, around, found)
}

export async function viewTask(rows: Reading, around: Around, text: string): Promise<TaskView> {
  const task = await taskNamed(rows, text)
  const [line] = await linesOf(rows, around, [task])
  const results = await listResults(rows, { taskId: task.id })
  return {
    kind: 'task',
    ...(line as TaskLine),
    plan: (await findPlan(rows, task.planId))?.title ?? '',
    context: task.context,
    results: results.reverse().map(resultLine),
  }
}

/** What agents handed over, newest first. */
export async function viewResults(rows: Reading, { unprocessed = false } = {}): Promise<ResultLine[]> {
  return (await listResults(rows, { unprocessed, ...(unprocessed ? {} : { limit: recentResults }) })).map(resultLine)
}

export function resultLine({ output: _, artifacts: __, memoryIds: ___, createdAt, ...result }: Result): ResultLine {
  return { ...result, createdAt: new Date(createdAt).toISOString() }
}

/** `plan:3` or `3`. */
export async function planNamed(rows: Reading, text: string): Promise<Plan> {
  const plan = await findPlan(rows, numberIn(text, 'plan', 'heddle plans lists them'))
  if (!plan) throw notFound('plan', text.replace(/^plan:/, ''), 'heddle plans')
  return plan
}

/** `task:3` or `3`. */
export async function taskNamed(rows: Reading, text: string): Promise<Task> {
  const task = await findTask(rows, numberIn(text, 'task', 'heddle tasks lists them'))
  if (!task) throw notFound('task', text.replace(/^task:/, ''), 'heddle tasks')
  return task
}

function numberIn(text: string, kind: 'plan' | 'task', remedy: string): number {
  const [, digits] = new RegExp(`^(?:${kind}:)?([1-9]\\d{0,14})$`).exec(text) ?? []
  if (digits === undefined) throw new Misuse(`"${text}" is not the number of a ${kind}`, remedy, 'bad_reference')
  return Number(digits)
}

async function planLine(rows: Reading, plan: Plan): Promise<PlanLine> {
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
  }
}

async function linesOf(rows: Reading, around: Around, tasks: Task[]): Promise<TaskLine[]> {
  const lines: TaskLine[] = []
  for (const task of tasks) lines.push(await taskLine(rows, around, task))
  return lines
}

async function taskLine(rows: Reading, { agents, now }: Around, task: Task): Promise<TaskLine> {
  const run = task.runId === null ? undefined : await findRun(rows, task.runId)
  const [session] = run?.sessionId ? await findSessions(rows, { id: run.sessionId }) : []
  const result = task.resultId === null ? undefined : await findResult(rows, task.resultId)
  const { id, planId, key, title, skill, dependsOn, status, attempts, reason } = task
  return {
    ...{ id, planId, key, title, skill },
    model: run?.modelRequested ?? agents.find(skill, session?.folder ?? '')?.model ?? null,
    ...{ dependsOn, status, attempts },
    ...(result && { resultId: result.id, summary: result.summary }),
    ...(run && { runId: run.id, seconds: Math.round(((run.finishedAt ?? now) - run.createdAt) / 1000) }),
    ...(run && run.finishedAt === null && { doing: await doing(rows, run.id, run.state) }),
    ...(run?.state === 'queued' && { isQueued: true as const }),
    ...(reason !== null && { reason }),
  }
}

async function doing(rows: Reading, runId: string, state: string): Promise<string> {
  if (state === 'queued') return 'waits for its turn'
  if (state === 'waiting') return `waits: heddle approvals (run:${tail(runId)})`
  const open = new Journal(runId, await readSteps(rows, runId)).open.map(({ name }) => name)
  return open.length === 0 ? 'thinks' : open.join(', ')
}
