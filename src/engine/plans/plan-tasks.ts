import { z } from 'zod'
import {
  findPlanProblems,
  isGivenUp,
  isUserCancellation,
  type Plan,
  type Task,
  type TaskDraft,
} from '../../domain/plan.ts'
import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import type { Tool, ToolOutcome } from '../../domain/tools/tool.ts'
import { findPlan, insertPlan, listPlans, revisePlan, saveRunLabel } from '../../store/rows/plans.ts'
import { dropTask, insertTask, setEdges, tasksOf } from '../../store/rows/tasks.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { startableAgents } from '../policies/registered-agent.ts'
import type { Engine, Runtime } from '../runtime.ts'
import { tooLongReason } from './brief-size.ts'
import { recordPlanChange } from './dispatch.ts'
import { findCaller, refuseCall } from './plan-call.ts'
import { planningLimit } from './planning-limit.ts'
import { resolvePointers } from './pointers.ts'
import { targetWarnings } from './shared-targets.ts'

const maxTasks = 2000

const input = () =>
  z.strictObject({
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
      .max(maxTasks),
  })

/**
 * Tool that writes a whole plan or nothing; all problems are reported at once. With `project.id` it replans the unfinished
 * tasks.
 */
export function planTasks(engine: Engine): Tool<z.output<ReturnType<typeof input>>> {
  const { agents } = engine
  return defineTool(input, {
    name: 'plan_tasks',
    description:
      'Creates a plan. Each task has a key, a title, a context (the brief: several lines, everything its agent needs; ' +
      '[agent_result:ID] in it is replaced by that full result; a line "Writes: path, path" names the files it ' +
      'changes), a skill (the agent) and depends_on (keys of tasks whose results it needs). Nothing is stored if there ' +
      'is a problem; all problems are returned. project.id replans an existing plan; finished tasks stay.',
    effect: 'transactional',
    action: 'plan.change',
    guarded: true,
    async write(transaction, { project, tasks }, call) {
      const tx = transaction as Tx
      const { run, home } = await findCaller(tx, call.runId)
      const before = project.id === undefined ? undefined : await findPlan(tx, project.id)
      if (project.id !== undefined && before?.sessionId !== home.id)
        return refuseCall(`there is no plan ${project.id} here`, 'leave project.id out to make a new one')
      const made = before ? undefined : (await listPlans(tx, { sessionId: home.id })).find(isProposedBy(run.id))
      if (made) return refuseCall(`you already made plan:${made.id}`, `to change it give project.id ${made.id}`)
      const currentTasks = before ? await tasksOf(tx, before.id) : []
      if (before && isGivenUp(before, currentTasks))
        return refuseCall(`plan:${before.id} was cancelled`, 'make a new one')
      const limit = isNewPlanning(run, before, currentTasks) ? await planningLimit(tx, run.rootRunId) : undefined
      if (limit) return refuseCall(limit.error, limit.remedy)
      const drafts = tasks.map(draftOf)
      const names = await startableAgents(tx, engine, home.folder, run.ceiling)
      const problems = [
        ...problemsWith(drafts, currentTasks, names),
        ...longBriefs(engine, drafts, currentTasks, home),
        ...(await badPointers(tx, drafts, home)),
      ]
      if (problems.length > 0) return { status: 'error', output: { status: 'error', problems } }
      // The plan can be read before this run ends, and only the end would store the run's label.
      if (call.label) await saveRunLabel(tx, run.id, call.label)
      const fields = { title: project.title, goal: project.goal ?? null, plannedBy: run.id, rootRunId: run.rootRunId }
      const plan = before
        ? await replan(tx, before, currentTasks, fields)
        : { id: await insertPlan(tx, { ...fields, sessionId: home.id, createdAt: engine.clock.now() }), ...first }
      const ids = await insertTasks(tx, engine, plan, drafts)
      await recordPlanChange(tx, engine, { id: plan.id, status: 'proposed' })
      const listed = drafts.map(({ key }) => ({ key, id: ids.get(key) }))
      const warnings = targetWarnings(await tasksOf(tx, plan.id), agents, home.folder)
      const advice = warnings.length > 0 ? { warnings, remedy: sharedFileRemedy(plan.id) } : {}
      return { status: 'ok', output: { project_id: plan.id, tasks: listed, ...advice } } satisfies ToolOutcome
    },
  })
}

function sharedFileRemedy(planId: number): string {
  return (
    'tasks that write one file at the same time overwrite each other: make one depend on the other (depends_on) or use ' +
    `separate files, and call again with project.id ${planId}; if they only read it, continue`
  )
}

/** Finds an earlier proposal of this planner: its requester would never learn of a second one. */
function isProposedBy(runId: string): (plan: Plan) => boolean {
  return ({ plannedBy, status }) => plannedBy === runId && status === 'proposed'
}

/** Whether a plan counts as another one of its request: changing a proposal of it that was not tried does not. */
function isNewPlanning({ rootRunId }: Run, before: Plan | undefined, currentTasks: Task[]): boolean {
  if (before?.rootRunId !== rootRunId) return true
  return currentTasks.some((task) => task.attempts > 0 && !isKept(task))
}

type PlanFields = Pick<Plan, 'title' | 'goal' | 'plannedBy' | 'rootRunId'>

/** Drops the unfinished tasks of a plan; running ones, and what the user cancelled, stay under their key. */
async function replan(tx: Tx, before: Plan, currentTasks: Task[], fields: PlanFields) {
  const revision = before.revision + 1
  await revisePlan(tx, before.id, { ...fields, revision, status: 'proposed' })
  for (const task of currentTasks)
    if (!isKept(task)) await dropTask(tx, task.id, { revision, reason: `dropped in revision ${revision}` })
  return { id: before.id, revision, kept: currentTasks.filter(isKept) }
}

const first = { revision: 1, kept: [] as Task[] }

async function insertTasks(
  tx: Tx,
  { clock }: Runtime,
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

/** Problems of briefs that the models of their agents have no room for. */
function longBriefs(engine: Engine, drafts: TaskDraft[], currentTasks: Task[], { folder }: Session): string[] {
  const keptKeys = new Set(currentTasks.filter(isKept).map(({ key }) => key))
  return drafts.flatMap(({ key, context, skill }) => {
    if (keptKeys.has(key)) return []
    const reason = tooLongReason(engine, context, { agent: skill, folder })
    return reason === undefined ? [] : [`task "${key}": ${reason}`]
  })
}

/** Problems of briefs that point to a result that does not exist. */
async function badPointers(rows: Reading, drafts: TaskDraft[], home: Session): Promise<string[]> {
  const problems: string[] = []
  for (const { key, context } of drafts) {
    const resolved = await resolvePointers(rows, context, home)
    if ('problems' in resolved) problems.push(...resolved.problems.map((problem) => `task "${key}": ${problem}`))
  }
  return problems
}

function problemsWith(drafts: TaskDraft[], currentTasks: Task[], agents: string[]): string[] {
  const kept = currentTasks.filter(isKept)
  const planned = new Set(drafts.map(({ key }) => key))
  const cancelled = new Set(kept.filter(isUserCancellation).map(({ key }) => key))
  return [
    ...findPlanProblems(drafts, {
      isAgent: (name) => agents.includes(name),
      agents,
      finishedKeys: new Set(kept.map(({ key }) => key)),
    }),
    ...kept.flatMap(({ key, id, status }) =>
      status === 'running' && !planned.has(key)
        ? [`task:${id} "${key}" is running: keep its key in the plan, or have it cancelled first`]
        : [],
    ),
    ...kept.flatMap((task) =>
      cancelled.has(task.key) && planned.has(task.key)
        ? [
            `the user cancelled task:${task.id} "${task.key}": leave it out; only the user can bring it back: ` +
              `heddle retry task:${task.id}`,
          ]
        : [],
    ),
    ...drafts.flatMap(({ key, dependsOn }) =>
      dependsOn.flatMap((needed) =>
        cancelled.has(needed) && !planned.has(needed)
          ? [`task "${key}" depends on "${needed}", which the user cancelled: plan it without that`]
          : [],
      ),
    ),
  ]
}

function isKept(task: Task): boolean {
  const { status } = task
  return status === 'completed' || status === 'skipped' || status === 'running' || isUserCancellation(task)
}

function draftOf({
  depends_on,
  skill,
  priority,
  ...task
}: z.output<ReturnType<typeof input>>['tasks'][number]): TaskDraft {
  return { ...task, skill: skill.replace(/^@/, ''), dependsOn: depends_on, ...(priority !== undefined && { priority }) }
}
