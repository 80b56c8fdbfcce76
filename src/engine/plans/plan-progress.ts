import type { Plan } from '../../domain/plan.ts'
import { allPlansOf, listPlans } from '../../store/rows/plans.ts'
import { findRun } from '../../store/rows/runs.ts'
import { countTasks, tasksOf } from '../../store/rows/tasks.ts'
import type { Reading } from '../../store/store.ts'
import type { ChildEnd, RequestOutcome, ResultEffects } from '../run/moments.ts'
import type { Engine } from '../runtime.ts'
import { countLine, finishTask } from './dispatch.ts'
import { planningLimit } from './planning-limit.ts'
import { targetWarnings } from './shared-targets.ts'

/** Takes a child's result into its plan, and names the plan that a planner made. */
export async function advancePlan(end: ChildEnd<Engine>, resultId: number): Promise<ResultEffects> {
  const done = await finishTask(end, resultId)
  const remarks = await planRemarks(end)
  if (!done) return { remarks, started: [] }
  return {
    name: `task:${done.task.id} "${done.task.title}"`,
    // A task wakes no session by itself: its plan does, when something must be decided.
    wakes: end.engine.scheduling === 'coordinator',
    news: done.news,
    remarks,
    started: done.begun,
  }
}

/** The plan that a planner made, with what to look at before it is started. */
async function planRemarks({ tx, engine, run, requester }: ChildEnd<Engine>): Promise<string[]> {
  if (!run.effectiveTools.includes('plan_tasks')) return []
  const plan = (await listPlans(tx, { sessionId: requester.id })).find(({ plannedBy }) => plannedBy === run.id)
  if (!plan) {
    const limit = await planningLimit(tx, run.rootRunId)
    return limit ? [`[heddle: ${limit.error}; ${limit.remedy}]`] : []
  }
  const tasks = await tasksOf(tx, plan.id)
  const warnings = targetWarnings(tasks, engine.agents, requester.folder)
  return [`[plan:${plan.id}, ${tasks.length} tasks]`, ...warnings.map((warning) => `[heddle: ${warning}]`)]
}

/**
 * A request has not completed if a plan that it started did not complete, whatever its last turn says. Plans that it only
 * proposed are named and change nothing.
 */
export async function planOutcome(rows: Reading, rootRunId: string): Promise<RequestOutcome> {
  const plans = await allPlansOf(rows, rootRunId)
  const undone: Plan[] = []
  const unstarted: number[] = []
  for (const plan of plans) {
    const wasStarted = await isStartedBy(rows, plan)
    // A proposal that the user cancelled counts if no other plan replaced it.
    const isLast = plan === plans.at(-1)
    if (plan.status === 'failed' || (plan.status === 'cancelled' && (wasStarted || isLast))) undone.push(plan)
    // Planned again after it was tried, and left like that.
    else if (plan.status === 'proposed' && wasStarted) undone.push(plan)
    else if (plan.status === 'proposed') unstarted.push(plan.id)
  }
  const more = unstarted.length > 0 ? { unstartedPlans: unstarted } : {}
  if (undone.length === 0) return more
  const lines: string[] = []
  for (const { id } of undone) lines.push(`plan:${id} did not complete: ${countLine(await countTasks(rows, id))}`)
  const status = undone.every((plan) => plan.status === 'cancelled') ? 'cancelled' : 'failed'
  const remedy = `look at ${undone.length === 1 ? 'it' : 'them'}: ${undone.map(({ id }) => `heddle plans plan:${id}`).join(', ')}`
  return { ...more, status, error: { code: `plan_${status}`, message: lines.join('; '), remedy } }
}

/** Whether the request that pays for a plan has also started it. */
async function isStartedBy(rows: Reading, { startedBy, rootRunId }: Plan): Promise<boolean> {
  const starter = startedBy === null ? undefined : await findRun(rows, startedBy)
  return starter?.rootRunId === rootRunId
}
