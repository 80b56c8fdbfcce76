import { z } from 'zod'
import { joinLabels, type Label } from '../../domain/label.ts'
import { type Plan, taskActions, taskStatuses } from '../../domain/plan.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import { delegateTool } from '../../domain/tools/tool-names.ts'
import { approvalsOf } from '../../store/rows/approvals.ts'
import { childrenOf } from '../../store/rows/child-runs.ts'
import { hasOpenJoin } from '../../store/rows/joins.ts'
import { findPlan, listPlans, movePlan, saveRunLabel, startPlan } from '../../store/rows/plans.ts'
import { findRun } from '../../store/rows/runs.ts'
import { readSteps } from '../../store/rows/steps.ts'
import { findTask, listTasks, readyTasks, tasksOf } from '../../store/rows/tasks.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { dropRestored, lossLines, lostByPlan } from '../files/lost-writes.ts'
import { Journal } from '../run/context/journal.ts'
import { stoppingOutcome } from '../run/spawn.ts'
import type { Engine } from '../runtime.ts'
import { isPlanFor } from '../turns/ancestry.ts'
import { decideTask } from './decide-task.ts'
import { beginTasks, endPlanIfIdle, recordPlanChange, taskNames } from './dispatch.ts'
import { findCaller, findPlanFor, foreignPlanRefusal, plansFor, refuseCall } from './plan-call.ts'
import { type GateSettings, gateReason, matchesApproval, planPreview } from './plan-gate.ts'
import { targetWarnings } from './shared-targets.ts'

const projectInput = () => z.strictObject({ project_id: z.int().positive() })

/** The coordinator's tools for plans: start, inspect, decide about tasks, wait. */
export function projectTools(engine: Engine, gate: GateSettings): Tool[] {
  return [
    runProject(engine, gate),
    projectStatus(engine),
    taskList(engine),
    taskUpdate(engine),
    waitTool(engine),
  ] as Tool[]
}

/** Starts a plan: the only way from a proposal to work, and where approval is asked. */
function runProject(engine: Engine, gate: GateSettings): Tool<{ project_id: number }> {
  return defineTool(projectInput, {
    name: 'run_project',
    description:
      'Starts a plan. Tasks start automatically when their dependencies are done; you are called again when the plan ends ' +
      'or a task fails.',
    effect: 'transactional',
    action: 'plan.change',
    guarded: true,
    asks: (_, { runId }) => gateReason(engine, gate, runId),
    denialHint: 'spawn project-planner again with these words and the id of the plan as context, or ask the user',
    preview: ({ project_id }, { runId }) =>
      engine.store.read(async (rows) => {
        const { run, home } = await findCaller(rows, runId)
        return planPreview(rows, engine, await findPlanFor(rows, home, project_id), run.rootRunId)
      }),
    async write(transaction, { project_id }, { runId, callId, label }) {
      const tx = transaction as Tx
      const { run, home } = await findCaller(tx, runId)
      if (run.cancelReason !== null) return stoppingOutcome
      const plan = await findPlanFor(tx, home, project_id)
      if (plan.status === 'cancelled')
        return refuseCall(`plan:${plan.id} was cancelled`, 'ask project-planner for a new one')
      if (plan.status === 'running')
        return (await foreignPlanRefusal(tx, home, plan)) ?? refuseCall(`plan:${plan.id} is already running`, 'wait')
      if (!(await matchesApproval(tx, engine, plan, { run, callId, folder: home.folder })))
        return refuseCall(
          `plan:${plan.id} was changed after the user approved it`,
          'call it again: the user is asked again',
        )
      // A fork that starts its ancestor's plan takes it over: results are delivered here.
      if (plan.sessionId !== home.id && !(await movePlan(tx, plan, home.id)))
        return refuseCall(`plan:${plan.id} was just started elsewhere`, 'look at it with project_status')
      const starter = { rootRunId: run.rootRunId, startedBy: run.id }
      if (label) await saveRunLabel(tx, run.id, label)
      const now = { ...plan, ...starter, status: 'running' as const }
      await startPlan(tx, plan.id, starter)
      await recordPlanChange(tx, engine, now)
      const ready = await readyTasks(tx, { planId: plan.id })
      const isAuto = engine.scheduling === 'auto'
      if (isAuto) await beginTasks(tx, engine, now, { home, tasks: ready })
      const news = await endPlanIfIdle(tx, engine, now)
      const started = isAuto ? { begun: ready.length } : { ready: ready.map(({ id }) => id) }
      const status = news === undefined ? 'running' : 'ended'
      const output = { status, project_id, ...started, ...(news && { news }) }
      return { status: 'ok', output, ...(await planLabel(tx, [plan])) }
    },
  })
}

function projectStatus(engine: Engine): Tool<{ project_id?: number | undefined }> {
  return defineTool(() => projectInput().partial(), {
    name: 'project_status',
    description: 'Titles, statuses and edges of a plan (the newest one without an id).',
    effect: 'pure',
    action: 'plan.list',
    run: async ({ project_id }, { runId }) =>
      engine.store.read(async (rows) => {
        const { home } = await findCaller(rows, runId)
        const plan = await findPlanFor(rows, home, project_id)
        const tasks = await tasksOf(rows, plan.id)
        const warnings = targetWarnings(tasks, engine.agents, home.folder)
        const lost = lossLines(await dropRestored(await lostByPlan(rows, plan.id), engine.protect))
        const extras = { ...(warnings.length > 0 && { warnings }), ...(lost.length > 0 && { lost }) }
        const output = {
          project_id: plan.id,
          title: plan.title,
          status: plan.status,
          tasks: tasks.map(rowOf),
          ...extras,
        }
        return { status: 'ok', output, ...(await planLabel(rows, [plan])) }
      }),
  })
}

const listInput = () =>
  z.strictObject({
    project_id: z.int().positive().optional(),
    status: z.enum(taskStatuses).optional(),
  })

function taskList(engine: Engine): Tool<z.output<ReturnType<typeof listInput>>> {
  return defineTool(listInput, {
    name: 'task_list',
    description: 'Tasks of your plans, without their briefs.',
    effect: 'pure',
    action: 'plan.list',
    run: async ({ project_id, status }, { runId }) =>
      engine.store.read(async (rows) => {
        const { home } = await findCaller(rows, runId)
        const plans =
          project_id === undefined ? await plansFor(rows, home) : [await findPlanFor(rows, home, project_id)]
        const tasks = []
        for (const { id } of plans) tasks.push(...(await listTasks(rows, { planId: id, ...(status && { status }) })))
        const output = { tasks: tasks.map((task) => ({ project_id: task.planId, ...rowOf(task) })) }
        return { status: 'ok', output, ...(await planLabel(rows, plans)) }
      }),
  })
}

const updateInput = () =>
  z.strictObject({
    id: z.int().positive(),
    action: z.enum(taskActions),
    context: z.string().min(1).exactOptional(),
    skill: z.string().min(1).exactOptional(),
    reason: z.string().exactOptional(),
  })

function taskUpdate(engine: Engine): Tool<z.output<ReturnType<typeof updateInput>>> {
  return defineTool(updateInput, {
    name: 'task_update',
    description: 'Changes a task: retry (context, skill: with another brief or agent), skip, cancel, edit.',
    effect: 'transactional',
    action: 'plan.change',
    guarded: true,
    async write(transaction, { id, ...change }, { runId, label }) {
      const tx = transaction as Tx
      const { run, home } = await findCaller(tx, runId)
      if (run.cancelReason !== null) return stoppingOutcome
      const task = await findTask(tx, id)
      const plan = task && (await findPlan(tx, task.planId))
      if (!task || !plan || !(await isPlanFor(tx, home, plan)))
        return refuseCall(`there is no task ${id} here`, 'task_list shows them')
      const elsewhere = await foreignPlanRefusal(tx, home, plan)
      if (elsewhere) return elsewhere
      const by = {
        runId: run.id,
        rootRunId: run.rootRunId,
        agent: run.agent ?? engine.defaultAgent,
        ...(label && { label }),
      }
      const { status, news } = await decideTask(tx, engine, { task, plan, home, by }, change)
      return { status: 'ok', output: { id, status, ...(news && { news }) }, ...(await planLabel(tx, [plan])) }
    },
  })
}

const waitInput = () =>
  z.strictObject({
    run_ids: z.array(z.string().min(3)).min(1).optional(),
    project_id: z.int().positive().optional(),
  })

/** Ends the turn; the session is woken when what it started has ended. */
const waitTool = ({ scheduling }: Engine): Tool<z.output<ReturnType<typeof waitInput>>> =>
  defineTool(waitInput, {
    name: 'wait',
    description:
      'Ends your turn. You are called again once, when all agents you started (or the given runs, or the plan) have ended.',
    effect: 'transactional',
    action: 'run.spawn',
    guarded: true,
    runsLast: true,
    async write(transaction, { run_ids, project_id }, { runId }) {
      const tx = transaction as Tx
      const { home } = await findCaller(tx, runId)
      const children = await childrenOf(tx, runId)
      if (run_ids) {
        const found = run_ids.map((name) => children.find(({ id }) => id.endsWith(name.replace(/^run:/, ''))))
        const unknown = run_ids.filter((_, at) => !found[at])
        if (unknown.length > 0)
          return refuseCall(`you did not start ${unknown.join(', ')} in this turn`, 'wait for all')
        const runIds = found.flatMap((run) => run?.id ?? [])
        return { status: 'ok', output: { status: 'waiting', run_ids: runIds }, ends: { runIds } }
      }
      const plans = (await listPlans(tx, { sessionId: home.id, status: 'running' })).filter(
        ({ id }) => project_id === undefined || id === project_id,
      )
      const isRunning = plans.length > 0
      // An approval asked in the same reply may start a plan: yes starts it; no is reported to the model, which goes on.
      const isAsked = (await approvalsOf(tx, runId)).some(({ answer }) => answer === null)
      const isStarting = await startsWork(tx, scheduling, runId)
      if (project_id !== undefined && !isRunning && !isAsked && !isStarting)
        return refuseCall(`plan:${project_id} is not running`, 'start it with run_project')
      if (!isRunning && !isAsked && !isStarting && children.length === 0 && !(await hasOpenJoin(tx, home.id)))
        return refuseCall('nothing is running', 'start an agent or a plan, or answer')
      // With scheduling `coordinator`, a plan in which nothing runs never wakes the session.
      const idle = scheduling === 'coordinator' && !isStarting && children.length === 0 ? await readyOf(tx, plans) : []
      if (idle.length > 0)
        return refuseCall(`nothing runs; ${taskNames(idle)} ready`, 'begin them: spawn_agent with task_id')
      return { status: 'ok', output: { status: 'waiting' }, ends: {} }
    },
  })

/**
 * Whether another call of the same reply is about to start work: calls run concurrently, and `wait` may come first. If the
 * other call fails, the turn does not end.
 */
async function startsWork(tx: Tx, scheduling: Engine['scheduling'], runId: string): Promise<boolean> {
  return new Journal(runId, await readSteps(tx, runId)).openCalls.some(
    ({ name, input }) =>
      name === 'spawn_agent' ||
      name === delegateTool ||
      (name === 'run_project' && scheduling === 'auto') ||
      (name === 'task_update' && (input as { action?: unknown }).action === 'retry'),
  )
}

/** Ready tasks of idle plans; empty if any task runs. */
async function readyOf(tx: Tx, plans: Plan[]): Promise<number[]> {
  const ready: number[] = []
  for (const { id } of plans) {
    if ((await listTasks(tx, { planId: id, status: 'running' })).length > 0) return []
    ready.push(...(await readyTasks(tx, { planId: id })).map((task) => task.id))
  }
  return ready
}

/** Label of plans: a plan's text carries its planner's label to every run that reads it. */
async function planLabel(rows: Reading, plans: Plan[]): Promise<{ label?: Label }> {
  const labels: Label[] = []
  for (const { plannedBy } of plans) {
    const planner = await findRun(rows, plannedBy)
    if (planner) labels.push(planner.label)
  }
  return labels.length > 0 ? { label: joinLabels(labels) } : {}
}

function rowOf(task: Awaited<ReturnType<typeof tasksOf>>[number]) {
  const { id, key, title, skill, status, dependsOn, resultId, attempts } = task
  return { id, key, title, skill, status, depends_on: dependsOn, attempts, ...(resultId && { result_id: resultId }) }
}
