import { z } from 'zod'
import { joinLabels, type Label } from '../domain/label.ts'
import { type Plan, taskActions, taskStatuses } from '../domain/plan.ts'
import type { Tool } from '../domain/tool.ts'
import { approvalsOf } from '../store/approvals.ts'
import { hasOpenJoin } from '../store/joins.ts'
import { findPlan, keepLabel, listPlans, movePlan, startPlan } from '../store/plans.ts'
import { childrenOf, findRun } from '../store/runs.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading, Tx } from '../store/store.ts'
import { findTask, listTasks, readyTasks, tasksOf } from '../store/tasks.ts'
import { parsedBy } from '../tools/tool-input.ts'
import { isPlanFor } from './ancestry.ts'
import { decideTask } from './decide-task.ts'
import { beginTasks, endIfAtRest, namesOf, tellPlan } from './dispatch.ts'
import { Journal } from './journal.ts'
import { belongsElsewhere, callerOf, planOf, plansFor, refused } from './plan-call.ts'
import { type GateSettings, gateReason, isAsApproved, planPage } from './plan-gate.ts'
import { stopping } from './spawn.ts'
import type { Engine } from './world.ts'

const projectId = { project_id: z.int().positive() }
const projectProperty = { project_id: { type: 'integer' } }

/** What the coordinator does with plans: it starts them, looks at them, decides about tasks, and waits. */
export function projectTools(engine: Engine, gate: GateSettings): Tool[] {
  return [
    runProject(engine, gate),
    projectStatus(engine),
    taskList(engine),
    taskUpdate(engine),
    waitTool(engine),
  ] as Tool[]
}

/** Starts a plan: the one way from a proposal to work, and the place where a person may have a say. */
function runProject(engine: Engine, gate: GateSettings): Tool<{ project_id: number }> {
  return {
    name: 'run_project',
    description: 'Starts a plan. Its tasks run by themselves in their order; you are woken when it ends or one fails.',
    inputSchema: { type: 'object', properties: projectProperty, required: ['project_id'], additionalProperties: false },
    effect: 'transactional',
    guarded: true,
    parse: parsedBy(z.strictObject(projectId)),
    asks: (_, { runId }) => gateReason(engine, gate, runId),
    afterNo: 'spawn project-planner again with these words and the id of the plan as context, or ask the person',
    preview: ({ project_id }, { runId }) =>
      engine.store.read(async (rows) => {
        const { run, home } = await callerOf(rows, runId)
        return planPage(rows, engine, await planOf(rows, home, project_id), run.rootRunId)
      }),
    async write(transaction, { project_id }, { runId, callId, label }) {
      const tx = transaction as Tx
      const { run, home } = await callerOf(tx, runId)
      if (run.cancelReason !== null) return stopping
      const plan = await planOf(tx, home, project_id)
      if (plan.status === 'cancelled') return refused(`plan:${plan.id} was cancelled`, 'have a new one made')
      if (plan.status === 'running')
        return (await belongsElsewhere(tx, home, plan)) ?? refused(`plan:${plan.id} runs already`, 'wait')
      if (!(await isAsApproved(tx, engine, plan, { run, callId, folder: home.folder })))
        return refused(
          `plan:${plan.id} was changed after the user approved it`,
          'call it again: the user is asked again',
        )
      // A branch that starts a plan of its ancestors makes it its own: its results come here.
      if (plan.sessionId !== home.id && !(await movePlan(tx, plan, home.id)))
        return refused(`plan:${plan.id} was just started elsewhere`, 'look at it with project_status')
      const starter = { rootRunId: run.rootRunId, startedBy: run.id }
      if (label) await keepLabel(tx, run.id, label)
      const now = { ...plan, ...starter, status: 'running' as const }
      await startPlan(tx, plan.id, starter)
      await tellPlan(tx, engine, now)
      const ready = await readyTasks(tx, { planId: plan.id })
      const isAuto = engine.scheduling === 'auto'
      if (isAuto) await beginTasks(tx, engine, now, home, ready)
      const news = await endIfAtRest(tx, engine, now)
      const started = isAuto ? { begun: ready.length } : { ready: ready.map(({ id }) => id) }
      const status = news === undefined ? 'running' : 'ended'
      const output = { status, project_id, ...started, ...(news && { news }) }
      return { status: 'ok', output, ...(await labelOf(tx, [plan])) }
    },
  }
}

function projectStatus(engine: Engine): Tool<{ project_id?: number | undefined }> {
  return {
    name: 'project_status',
    description: 'Titles, statuses and edges of a plan (the newest one without an id).',
    inputSchema: { type: 'object', properties: projectProperty, additionalProperties: false },
    effect: 'pure',
    parse: parsedBy(z.strictObject({ project_id: z.int().positive().optional() })),
    run: async ({ project_id }, { runId }) =>
      engine.store.read(async (rows) => {
        const plan = await planOf(rows, (await callerOf(rows, runId)).home, project_id)
        const tasks = (await tasksOf(rows, plan.id)).map(rowOf)
        const output = { project_id: plan.id, title: plan.title, status: plan.status, tasks }
        return { status: 'ok', output, ...(await labelOf(rows, [plan])) }
      }),
  }
}

const listInput = z.strictObject({
  project_id: z.int().positive().optional(),
  status: z.enum(taskStatuses).optional(),
})

function taskList(engine: Engine): Tool<z.output<typeof listInput>> {
  return {
    name: 'task_list',
    description: 'Tasks of your plans, without their briefs.',
    inputSchema: {
      type: 'object',
      properties: { ...projectProperty, status: { enum: [...taskStatuses] } },
      additionalProperties: false,
    },
    effect: 'pure',
    parse: parsedBy(listInput),
    run: async ({ project_id, status }, { runId }) =>
      engine.store.read(async (rows) => {
        const { home } = await callerOf(rows, runId)
        const plans = project_id === undefined ? await plansFor(rows, home) : [await planOf(rows, home, project_id)]
        const tasks = []
        for (const { id } of plans) tasks.push(...(await listTasks(rows, { planId: id, ...(status && { status }) })))
        const output = { tasks: tasks.map((task) => ({ project_id: task.planId, ...rowOf(task) })) }
        return { status: 'ok', output, ...(await labelOf(rows, plans)) }
      }),
  }
}

const updateInput = z.strictObject({
  id: z.int().positive(),
  action: z.enum(taskActions),
  context: z.string().min(1).exactOptional(),
  skill: z.string().min(1).exactOptional(),
  reason: z.string().exactOptional(),
})

function taskUpdate(engine: Engine): Tool<z.output<typeof updateInput>> {
  return {
    name: 'task_update',
    description: 'Decides about a task: retry (context, skill: with another brief or agent), skip, cancel, edit.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'integer' },
        action: { enum: [...taskActions] },
        context: { type: 'string' },
        skill: { type: 'string' },
        reason: { type: 'string' },
      },
      required: ['id', 'action'],
      additionalProperties: false,
    },
    effect: 'transactional',
    guarded: true,
    parse: parsedBy(updateInput),
    async write(transaction, { id, ...change }, { runId, label }) {
      const tx = transaction as Tx
      const { run, home } = await callerOf(tx, runId)
      if (run.cancelReason !== null) return stopping
      const task = await findTask(tx, id)
      const plan = task && (await findPlan(tx, task.planId))
      if (!task || !plan || !(await isPlanFor(tx, home, plan)))
        return refused(`there is no task ${id} here`, 'task_list shows them')
      const elsewhere = await belongsElsewhere(tx, home, plan)
      if (elsewhere) return elsewhere
      const by = { runId: run.id, rootRunId: run.rootRunId, ...(label && { label }) }
      const { status, news } = await decideTask(tx, engine, { task, plan, home, by }, change)
      return { status: 'ok', output: { id, status, ...(news && { news }) }, ...(await labelOf(tx, [plan])) }
    },
  }
}

const waitInput = z.strictObject({
  run_ids: z.array(z.string().min(3)).min(1).optional(),
  project_id: z.int().positive().optional(),
})

/** Ends the turn until what was begun has ended. It answers nothing: the session is woken. */
const waitTool = ({ scheduling }: Engine): Tool<z.output<typeof waitInput>> => ({
  name: 'wait',
  description: 'Ends your turn; you are woken once, when all agents you started, or these, or the plan have ended.',
  inputSchema: {
    type: 'object',
    properties: { run_ids: { type: 'array', items: { type: 'string' } }, ...projectProperty },
    additionalProperties: false,
  },
  effect: 'transactional',
  guarded: true,
  comesLast: true,
  parse: parsedBy(waitInput),
  async write(transaction, { run_ids, project_id }, { runId }) {
    const tx = transaction as Tx
    const { home } = await callerOf(tx, runId)
    const children = await childrenOf(tx, runId)
    if (run_ids) {
      const found = run_ids.map((name) => children.find(({ id }) => id.endsWith(name.replace(/^run:/, ''))))
      const unknown = run_ids.filter((_, at) => !found[at])
      if (unknown.length > 0) return refused(`you did not start ${unknown.join(', ')} in this turn`, 'wait for all')
      const runIds = found.flatMap((run) => run?.id ?? [])
      return { status: 'ok', output: { status: 'waiting', run_ids: runIds }, ends: { runIds } }
    }
    const plans = (await listPlans(tx, { sessionId: home.id, status: 'running' })).filter(
      ({ id }) => project_id === undefined || id === project_id,
    )
    const isRunning = plans.length > 0
    // A plan that a person is asked about in the same reply begins with their yes; their no is heard, and nothing waits.
    const isAsked = (await approvalsOf(tx, runId)).some(({ answer }) => answer === null)
    const isBeginning = await hasBeginning(tx, scheduling, runId)
    if (project_id !== undefined && !isRunning && !isAsked && !isBeginning)
      return refused(`plan:${project_id} does not run`, 'start it with run_project')
    if (!isRunning && !isAsked && !isBeginning && children.length === 0 && !(await hasOpenJoin(tx, home.id)))
      return refused('there is nothing to wait for', 'start something, or answer')
    // A plan of which nothing runs wakes nobody where the coordinator itself must begin its tasks.
    const idle = scheduling === 'coordinator' && !isBeginning && children.length === 0 ? await readyOf(tx, plans) : []
    if (idle.length > 0) return refused(`nothing runs; ${namesOf(idle)} ready`, 'begin them: spawn_agent with task_id')
    return { status: 'ok', output: { status: 'waiting' }, ends: {} }
  },
})

/**
 * Whether a call of the same reply is about to begin something: calls are made side by side, and this one may come first.
 * If the other fails, the turn does not end.
 */
async function hasBeginning(tx: Tx, scheduling: Engine['scheduling'], runId: string): Promise<boolean> {
  return new Journal(runId, await readSteps(tx, runId)).open.some(
    ({ name, input }) =>
      name === 'spawn_agent' ||
      (name === 'run_project' && scheduling === 'auto') ||
      (name === 'task_update' && (input as { action?: unknown }).action === 'retry'),
  )
}

/** What could be begun of plans of which nothing runs; nothing if something does. */
async function readyOf(tx: Tx, plans: Plan[]): Promise<number[]> {
  const ready: number[] = []
  for (const { id } of plans) {
    if ((await listTasks(tx, { planId: id, status: 'running' })).length > 0) return []
    ready.push(...(await readyTasks(tx, { planId: id })).map((task) => task.id))
  }
  return ready
}

/** A plan's words are those of its planner: whoever reads them has read what that one had. */
async function labelOf(rows: Reading, plans: Plan[]): Promise<{ label?: Label }> {
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
