import type { Millis } from './clock.ts'

/** `pending`: not started; `blocked`: something it needs failed, and somebody must decide. */
export const taskStatuses = ['pending', 'blocked', 'running', 'completed', 'failed', 'skipped', 'cancelled'] as const
export type TaskStatus = (typeof taskStatuses)[number]

export const planStatuses = ['proposed', 'running', 'completed', 'failed', 'cancelled'] as const
export type PlanStatus = (typeof planStatuses)[number]

/** Tasks that belong together, with what each needs of the others. The tables and tools say *project*. */
export interface Plan {
  id: number
  title: string
  goal: string | null
  status: PlanStatus
  /** The session that hears of it. */
  sessionId: string
  /** The request that its tasks are paid from: the one that made it, then the one that started or resumed it. */
  rootRunId: string
  /** The run that made it, and the one that started it. */
  plannedBy: string
  startedBy: string | null
  /** Counts the plannings: each replaces what had not been finished. */
  revision: number
  createdAt: Millis
  finishedAt: Millis | null
}

/** A unit of work: one brief for one agent. */
export interface Task {
  id: number
  planId: number
  /** What the planner calls it; of the tasks that count, no two of a plan have the same. */
  key: string
  title: string
  /** The brief: for nobody but the agent that does it. */
  context: string
  skill: string
  dependsOn: number[]
  status: TaskStatus
  priority: number
  /** How often it was begun. */
  attempts: number
  /** Of the last attempt that ended. */
  resultId: number | null
  /** The last run that was begun for it. */
  runId: string | null
  /** Why it is as it is, where somebody or something decided that. */
  reason: string | null
  revision: number
  createdAt: Millis
}

/** A task as a planner writes it. */
export interface TaskDraft {
  key: string
  title: string
  context: string
  skill: string
  dependsOn: string[]
  priority?: number
}

/** What can be decided about a task. */
export const taskActions = ['retry', 'skip', 'cancel', 'edit'] as const
export type TaskAction = (typeof taskActions)[number]

export interface TaskChange {
  action: TaskAction
  /** A new brief, with `edit` or `retry`. */
  context?: string
  /** Another agent, with `edit` or `retry`. */
  skill?: string
  reason?: string
}

/** Whether a task needs nobody any more. */
export function isSettled(status: TaskStatus): boolean {
  return status === 'completed' || status === 'skipped' || status === 'cancelled'
}

/** Briefs below this are a title in other words, unless they have more than one line. */
const shortestLine = 200

/** Why a plan cannot be carried out: everything at once, so that the planner can mend it in one go. */
export function problemsIn(
  tasks: readonly TaskDraft[],
  known: { isAgent(name: string): boolean; agents: readonly string[]; finishedKeys?: ReadonlySet<string> },
): string[] {
  const finished = known.finishedKeys ?? new Set<string>()
  const keys = new Map<string, number>()
  for (const { key } of tasks) keys.set(key, (keys.get(key) ?? 0) + 1)
  return [
    ...(tasks.length === 0 ? ['there is no task'] : []),
    ...[...keys].flatMap(([key, count]) => (count > 1 ? [`the key "${key}" is used ${count} times`] : [])),
    ...tasks.flatMap((task) => [
      ...briefProblems(task),
      ...(known.isAgent(task.skill)
        ? []
        : [`task "${task.key}": there is no agent "${task.skill}"; there are: ${known.agents.join(', ')}`]),
      ...task.dependsOn.flatMap((needed) =>
        keys.has(needed) || finished.has(needed)
          ? []
          : [`task "${task.key}" depends on "${needed}", which is not in the plan`],
      ),
    ]),
    ...cyclesIn(tasks).map((cycle) => `these tasks wait for each other: ${cycle.join(' → ')}`),
  ]
}

function briefProblems({ key, title, context }: TaskDraft): string[] {
  const brief = context.trim()
  if (brief === '') return [`task "${key}" has no brief: write down everything its agent needs`]
  if (plainWords(brief) === plainWords(title))
    return [`the brief of task "${key}" only repeats its title: write down what its agent needs to know`]
  if (!brief.includes('\n') && brief.length < shortestLine)
    return [`the brief of task "${key}" is one line: add what was found, what is required, and how to know it is done`]
  return []
}

function plainWords(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** One way round for each knot of tasks that wait for each other. */
function cyclesIn(tasks: readonly TaskDraft[]): string[][] {
  const byKey = new Map(tasks.map((task) => [task.key, task]))
  const done = new Set<string>()
  const cycles: string[][] = []
  for (const { key } of tasks) {
    // A walk with a stack of its own: a plan may be deeper than the language lets functions call each other.
    const path: string[] = []
    const onPath = new Set<string>()
    const walk = [{ key, leave: false }]
    for (let step = walk.pop(); step; step = walk.pop()) {
      if (step.leave) {
        onPath.delete(step.key)
        path.pop()
        done.add(step.key)
      } else if (onPath.has(step.key)) {
        cycles.push([...path.slice(path.indexOf(step.key)), step.key])
      } else if (!done.has(step.key)) {
        onPath.add(step.key)
        path.push(step.key)
        walk.push({ key: step.key, leave: true })
        for (const needed of byKey.get(step.key)?.dependsOn ?? []) walk.push({ key: needed, leave: false })
      }
    }
  }
  return cycles
}

/** Why a task is cancelled, where a person has done it: only they may have it tried again. */
export function byPerson(reason: string): string {
  return reason.startsWith(personCancelled) ? reason : `${personCancelled}: ${reason}`
}

export function isByPerson({ status, reason }: Pick<Task, 'status' | 'reason'>): boolean {
  return status === 'cancelled' && reason !== null && reason.startsWith(personCancelled)
}

const personCancelled = 'the person cancelled it'
