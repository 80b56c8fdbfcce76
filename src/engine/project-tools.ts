import { z } from 'zod'
import { taskActions, taskStatuses } from '../domain/plan.ts'
import type { Tool } from '../domain/tool.ts'
import { approvalsOf } from '../store/approvals.ts'
import { hasOpenJoin } from '../store/joins.ts'
import { findPlan, listPlans, startPlan } from '../store/plans.ts'
import { childrenOf } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { findTask, listTasks, readyTasks, tasksOf } from '../store/tasks.ts'
import { parsedBy } from '../tools/tool-input.ts'
import { decideTask } from './decide-task.ts'
import { beginTasks, endIfAtRest, tellPlan } from './dispatch.ts'
import { callerOf, planOf, refused } from './plan-call.ts'
import { type GateSettings, gateReason, planPage } from './plan-gate.ts'
import type { Engine } from './world.ts'

const projectId = { project_id: z.int().positive() }
const projectProperty = { project_id: { type: 'integer' } }

/** What the coordinator does with plans: it starts them, looks at them, decides about tasks, and waits. */
export function projectTools(engine: Engine, gate: GateSettings): Tool[] {
  return [runProject(engine, gate), projectStatus(engine), taskList(engine), taskUpdate(engine), waitTool] as Tool[]
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
    async write(transaction, { project_id }, { runId }) {
      const tx = transaction as Tx
      const { run, home } = await callerOf(tx, runId)
      const plan = await planOf(tx, home, project_id)
      if (plan.status === 'cancelled') return refused(`plan:${plan.id} was cancelled`, 'have a new one made')
      if (plan.status === 'running') return refused(`plan:${plan.id} runs already`, 'wait')
      const starter = { rootRunId: run.rootRunId, startedBy: run.id }
      const now = { ...plan, ...starter, status: 'running' as const }
      await startPlan(tx, plan.id, starter)
      await tellPlan(tx, engine, now)
      const ready = await readyTasks(tx, { planId: plan.id })
      const isAuto = engine.scheduling === 'auto'
      if (isAuto) await beginTasks(tx, engine, now, home, ready)
      const news = await endIfAtRest(tx, engine, now)
      const started = isAuto ? { begun: ready.length } : { ready: ready.map(({ id }) => id) }
      return { status: 'ok', output: { status: 'running', project_id, ...started, ...(news && { news }) } }
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
        return { status: 'ok', output: { project_id: plan.id, title: plan.title, status: plan.status, tasks } }
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
        const plans =
          project_id === undefined
            ? await listPlans(rows, { sessionId: home.id })
            : [await planOf(rows, home, project_id)]
        const tasks = []
        for (const { id } of plans) tasks.push(...(await listTasks(rows, { planId: id, ...(status && { status }) })))
        return { status: 'ok', output: { tasks: tasks.map((task) => ({ project_id: task.planId, ...rowOf(task) })) } }
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
    async write(transaction, { id, ...change }, { runId }) {
      const tx = transaction as Tx
      const { run, home } = await callerOf(tx, runId)
      const task = await findTask(tx, id)
      const plan = task && (await findPlan(tx, task.planId))
      if (!task || plan?.sessionId !== home.id) return refused(`there is no task ${id} here`, 'task_list shows them')
      const by = { runId: run.id, rootRunId: run.rootRunId }
      const { status, news } = await decideTask(tx, engine, { task, plan, home, by }, change)
      return { status: 'ok', output: { id, status, ...(news && { news }) } }
    },
  }
}

const waitInput = z.strictObject({
  run_ids: z.array(z.string().min(3)).min(1).optional(),
  project_id: z.int().positive().optional(),
})

/** Ends the turn until what was begun has ended. It answers nothing: the session is woken. */
const waitTool: Tool<z.output<typeof waitInput>> = {
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
    const isRunning = project_id === undefined ? await hasRunningPlan(tx, home.id) : await runs(tx, project_id, home.id)
    // A plan that a person is asked about in the same reply begins with their yes; their no is heard, and nothing waits.
    const isAsked = (await approvalsOf(tx, runId)).some(({ answer }) => answer === null)
    if (project_id !== undefined && !isRunning && !isAsked)
      return refused(`plan:${project_id} does not run`, 'start it with run_project')
    if (!isRunning && !isAsked && children.length === 0 && !(await hasOpenJoin(tx, home.id)))
      return refused('there is nothing to wait for', 'start something, or answer')
    return { status: 'ok', output: { status: 'waiting' }, ends: {} }
  },
}

async function hasRunningPlan(tx: Tx, sessionId: string): Promise<boolean> {
  return (await listPlans(tx, { sessionId, status: 'running' })).length > 0
}

async function runs(tx: Tx, planId: number, sessionId: string): Promise<boolean> {
  const plan = await findPlan(tx, planId)
  return plan?.sessionId === sessionId && plan.status === 'running'
}

function rowOf(task: Awaited<ReturnType<typeof tasksOf>>[number]) {
  const { id, key, title, skill, status, dependsOn, resultId, attempts } = task
  return { id, key, title, skill, status, depends_on: dependsOn, attempts, ...(resultId && { result_id: resultId }) }
}
