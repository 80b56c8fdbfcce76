import { z } from 'zod'
import { type CheckReader, type CheckResult, checkOf, joinWords } from './check.ts'
import { countField, nonEmptyText } from './check-fields.ts'
import type { Evidence, PlannedTask } from './evidence.ts'

/** Checks of the plan that a planner made. */
export const planChecks: Record<string, CheckReader> = {
  plan_tasks: checkOf(
    z.strictObject({ atLeast: countField.default(1), atMost: countField.default(12) }),
    ({ atLeast, atMost }) => `there is one plan with ${atLeast} to ${atMost} tasks`,
    ({ atLeast, atMost }, evidence) =>
      ofPlan(evidence, (tasks) => ({
        ok: tasks.length >= atLeast && tasks.length <= atMost,
        saw: `${tasks.length}: ${joinWords(tasks.map(({ title }) => title))}`,
      })),
  ),
  plan_order: checkOf(
    z.strictObject({ edges: countField.default(1) }),
    ({ edges }) => `tasks wait for others ${edges} times or more, and none for itself`,
    ({ edges }, evidence) =>
      ofPlan(evidence, (tasks) => {
        const stuck = deadlockedTasks(tasks)
        if (stuck.length > 0) return { ok: false, saw: `these wait for each other: ${joinWords(stuck)}` }
        const count = tasks.reduce((sum, { dependsOn }) => sum + dependsOn.length, 0)
        return { ok: count >= edges, saw: `${count} times` }
      }),
  ),
  plan_briefs: checkOf(
    z.strictObject({ atLeast: countField }),
    ({ atLeast }) => `each brief has at least ${atLeast} characters`,
    ({ atLeast }, evidence) =>
      ofPlan(evidence, (tasks) => {
        const short = tasks.filter(({ context }) => context.trim().length < atLeast)
        const lengths = short.map(({ key, context }) => `${key} has ${context.trim().length}`)
        return lengths.length > 0 ? { ok: false, saw: joinWords(lengths) } : { ok: true, saw: 'all do' }
      }),
  ),
  plan_mentions: checkOf(
    z.strictObject({ text: nonEmptyText, tasks: countField.default(1) }),
    ({ text, tasks }) => `${tasks === 1 ? 'a brief' : `${tasks} briefs`} or more mention "${text}"`,
    ({ text, tasks: wanted }, evidence) =>
      ofPlan(evidence, (tasks) => {
        const count = tasks.filter(({ context }) => context.toLowerCase().includes(text.toLowerCase())).length
        return { ok: count >= wanted, saw: `${count} of ${tasks.length}` }
      }),
  ),
  plan_agents: checkOf(
    z.strictObject({ include: z.array(nonEmptyText).min(1) }),
    ({ include }) => `tasks are given to ${joinWords(include)}`,
    ({ include }, evidence) =>
      ofPlan(evidence, (tasks) => {
        const skills = [...new Set(tasks.map(({ skill }) => skill))]
        return { ok: include.every((name) => skills.includes(name)), saw: joinWords(skills) }
      }),
  ),
}

function ofPlan({ plans }: Evidence, look: (tasks: PlannedTask[]) => CheckResult): CheckResult {
  const [tasks, ...more] = plans
  if (!tasks) return { ok: false, saw: 'no plan' }
  return more.length > 0 ? { ok: false, saw: `${plans.length} plans` } : look(tasks)
}

/** Keys of the tasks that can never start, since they wait for each other. */
function deadlockedTasks(tasks: readonly PlannedTask[]): string[] {
  let left = [...tasks]
  for (;;) {
    const ids = new Set(left.map(({ id }) => id))
    const still = left.filter(({ dependsOn }) => dependsOn.some((id) => ids.has(id)))
    if (still.length === left.length) return still.map(({ key }) => key)
    left = still
  }
}
