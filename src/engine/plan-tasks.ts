import { z } from 'zod'
import { type Plan, problemsIn, type Task, type TaskDraft } from '../domain/plan.ts'
import type { Session } from '../domain/session.ts'
import type { Tool, ToolOutcome } from '../domain/tool.ts'
import { findPlan, insertPlan, keepLabel, listPlans, revisePlan } from '../store/plans.ts'
import type { Reading, Tx } from '../store/store.ts'
import { dropTask, insertTask, setEdges, tasksOf } from '../store/tasks.ts'
import { parsedBy } from '../tools/tool-input.ts'
import { tellPlan } from './dispatch.ts'
import { callerOf, refused } from './plan-call.ts'
import { resolvePointers } from './pointers.ts'
import type { AgentIndex, World } from './world.ts'

const most = 2000

const input = z.strictObject({
  project: z.strictObject({
    id: z.int().positive().optional(),
    title: z.string().trim().min(1).max(200),
    goal: z.string().max(4000).optional(),
  }),
  tasks: z
    .array(
      z.strictObject({
        key: z.string().trim().min(1).max(64),
        title: z.string().trim().min(1).max(200),
        context: z.string(),
        skill: z.string().min(1),
        depends_on: z.array(z.string()).default([]),
        priority: z.int().min(-100).max(100).optional(),
      }),
    )
    .max(most),
})

/**
 * Writes a whole plan or nothing: everything that is wrong with it is told at once. With `project.id` it plans anew what
 * has not been finished.
 */
export function planTasks(world: World, agents: AgentIndex): Tool<z.output<typeof input>> {
  return {
    name: 'plan_tasks',
    description:
      'Writes the plan: each task has a key, a title, a context (the brief: several lines, everything its agent needs; ' +
      '[agent_result:ID] in it becomes that whole result), ' +
      'the skill (name of the agent that does it) and the keys of tasks whose results it needs. Refused whole, with ' +
      'every reason, if something is wrong. project.id plans an existing one anew; what is finished stays.',
    inputSchema: {
      type: 'object',
      properties: {
        project: {
          type: 'object',
          properties: { id: { type: 'integer' }, title: { type: 'string' }, goal: { type: 'string' } },
          required: ['title'],
          additionalProperties: false,
        },
        tasks: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              key: { type: 'string' },
              title: { type: 'string' },
              context: { type: 'string' },
              skill: { type: 'string' },
              depends_on: { type: 'array', items: { type: 'string' } },
              priority: { type: 'integer' },
            },
            required: ['key', 'title', 'context', 'skill'],
            additionalProperties: false,
          },
        },
      },
      required: ['project', 'tasks'],
      additionalProperties: false,
    },
    effect: 'transactional',
    guarded: true,
    parse: parsedBy(input),
    async write(transaction, { project, tasks }, call) {
      const tx = transaction as Tx
      const { run, home } = await callerOf(tx, call.runId)
      const before = project.id === undefined ? undefined : await findPlan(tx, project.id)
      if (project.id !== undefined && before?.sessionId !== home.id)
        return refused(`there is no plan ${project.id} here`, 'leave project.id out to make a new one')
      const made = before ? undefined : (await listPlans(tx, { sessionId: home.id })).find(isProposedBy(run.id))
      if (made) return refused(`you have made plan:${made.id} already`, `to change it give project.id ${made.id}`)
      if (before?.status === 'cancelled') return refused(`plan:${before.id} was cancelled`, 'make a new one')
      const standing = before ? await tasksOf(tx, before.id) : []
      const drafts = tasks.map(draftOf)
      const names = agents.list(home.folder).map(({ name }) => name)
      const problems = [...problemsWith(drafts, standing, names), ...(await badPointers(tx, drafts, home))]
      if (problems.length > 0) return { status: 'error', output: { status: 'error', problems } }
      // Its words can be read before it ends, and its row would know what it has seen only then.
      if (call.label) await keepLabel(tx, run.id, call.label)
      const about = { title: project.title, goal: project.goal ?? null, plannedBy: run.id, rootRunId: run.rootRunId }
      const plan = before
        ? await replan(tx, before, standing, about)
        : { id: await insertPlan(tx, { ...about, sessionId: home.id, createdAt: world.clock.now() }), ...first }
      const ids = await insertTasks(tx, world, plan, drafts)
      await tellPlan(tx, world, { id: plan.id, status: 'proposed' })
      const listed = drafts.map(({ key }) => ({ key, id: ids.get(key) }))
      return { status: 'ok', output: { project_id: plan.id, tasks: listed } } satisfies ToolOutcome
    },
  }
}

/** A second proposal of one planner would be one that nobody hears of. */
function isProposedBy(runId: string): (plan: Plan) => boolean {
  return ({ plannedBy, status }) => plannedBy === runId && status === 'proposed'
}

type About = Pick<Plan, 'title' | 'goal' | 'plannedBy' | 'rootRunId'>

/** Takes what was not finished out of the plan, unless it runs: that goes on under its key. */
async function replan(tx: Tx, before: Plan, standing: Task[], about: About) {
  const revision = before.revision + 1
  await revisePlan(tx, before.id, { ...about, revision, status: 'proposed' })
  for (const task of standing)
    if (!isKept(task)) await dropTask(tx, task.id, { revision, reason: `left out by planning ${revision}` })
  return { id: before.id, revision, kept: standing.filter(isKept) }
}

const first = { revision: 1, kept: [] as Task[] }

async function insertTasks(
  tx: Tx,
  { clock }: World,
  plan: { id: number; revision: number; kept: Task[] },
  drafts: TaskDraft[],
): Promise<Map<string, number>> {
  const ids = new Map(plan.kept.map(({ key, id }) => [key, id]))
  const fresh = drafts.filter(({ key }) => !ids.has(key))
  const createdAt = clock.now()
  for (const { dependsOn: _, priority = 0, ...draft } of fresh) {
    const id = await insertTask(tx, { ...draft, priority, planId: plan.id, revision: plan.revision, createdAt })
    ids.set(draft.key, id)
  }
  for (const { key, dependsOn } of fresh) {
    const needs = [...new Set(dependsOn)].flatMap((needed) => ids.get(needed) ?? [])
    if (needs.length > 0) await setEdges(tx, ids.get(key) ?? 0, needs)
  }
  return ids
}

/** A brief that points to what is not there would reach its agent with a hole in it. */
async function badPointers(rows: Reading, drafts: TaskDraft[], home: Session): Promise<string[]> {
  const problems: string[] = []
  for (const { key, context } of drafts) {
    const resolved = await resolvePointers(rows, context, home)
    if ('problems' in resolved) problems.push(...resolved.problems.map((problem) => `task "${key}": ${problem}`))
  }
  return problems
}

function problemsWith(drafts: TaskDraft[], standing: Task[], agents: string[]): string[] {
  const kept = standing.filter(isKept)
  const planned = new Set(drafts.map(({ key }) => key))
  return [
    ...problemsIn(drafts, {
      isAgent: (name) => agents.includes(name),
      agents,
      finishedKeys: new Set(kept.map(({ key }) => key)),
    }),
    ...kept.flatMap(({ key, id, status }) =>
      status === 'running' && !planned.has(key)
        ? [`task:${id} "${key}" is running: keep its key in the plan, or have it cancelled first`]
        : [],
    ),
  ]
}

function isKept({ status }: Task): boolean {
  return status === 'completed' || status === 'skipped' || status === 'running'
}

function draftOf({ depends_on, skill, priority, ...task }: z.output<typeof input>['tasks'][number]): TaskDraft {
  return { ...task, skill: skill.replace(/^@/, ''), dependsOn: depends_on, ...(priority !== undefined && { priority }) }
}
