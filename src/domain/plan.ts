import type { Millis } from './clock.ts'

/** `pending`: not started; `blocked`: a dependency failed, and the user or coordinator must decide. */
export const taskStatuses = ['pending', 'blocked', 'running', 'completed', 'failed', 'skipped', 'cancelled'] as const
export type TaskStatus = (typeof taskStatuses)[number]

const planStatuses = ['proposed', 'running', 'completed', 'failed', 'cancelled'] as const
export type PlanStatus = (typeof planStatuses)[number]

/** Tasks with their dependencies. Tables and tools say *project*. */
export interface Plan {
  id: number
  title: string
  goal: string | null
  status: PlanStatus
  /** The session that is notified of its progress. */
  sessionId: string
  /** The request that pays for its tasks: the one that made it, then the one that started or resumed it. */
  rootRunId: string
  /** The run that made it, and the one that started it. */
  plannedBy: string
  startedBy: string | null
  /** Number of the current planning; each planning replaces the unfinished tasks. */
  revision: number
  createdAt: Millis
  finishedAt: Millis | null
}

/** A unit of work: one brief for one agent. */
export interface Task {
  id: number
  planId: number
  /** The planner's name for it; unique among the plan's current tasks. */
  key: string
  title: string
  /** The brief, shown only to the agent that does the task. */
  context: string
  skill: string
  dependsOn: number[]
  status: TaskStatus
  priority: number
  /** Number of runs started for it. */
  attempts: number
  /** Result of the last finished attempt. */
  resultId: number | null
  /** The last run started for it. */
  runId: string | null
  /** Reason for its status, if it was decided. */
  reason: string | null
  revision: number
  createdAt: Millis
}

/** A task as the planner writes it. */
export interface TaskDraft {
  key: string
  title: string
  context: string
  skill: string
  dependsOn: string[]
  priority?: number
}

/** Decisions about a task. */
export const taskActions = ['retry', 'skip', 'cancel', 'edit'] as const
export type TaskAction = (typeof taskActions)[number]

export interface TaskChange {
  action: TaskAction
  /** A new brief, with `edit` or `retry`. */
  context?: string
  /** Another agent, with `edit` or `retry`. */
  skill?: string
  /** The `briefHash` of the task that the change is of: refused if the task has another one by now. */
  expectedBrief?: string
  reason?: string
}

/** Whether a task needs no more work and no decision. */
export function isSettled(status: TaskStatus): boolean {
  return status === 'completed' || status === 'skipped' || status === 'cancelled'
}

/** A one-line brief shorter than this only rephrases the title. */
const minBriefLength = 200

/** All reasons why a plan cannot be carried out, so that the planner can fix them in one go. */
export function findPlanProblems(
  tasks: readonly TaskDraft[],
  known: {
    isAgent(name: string): boolean
    agents: readonly string[]
    finishedKeys?: ReadonlySet<string>
    /** The reader's name for a task; its key in quotes by default. */
    nameOf?(task: TaskDraft): string
  },
): string[] {
  const nameOf = known.nameOf ?? (({ key }) => `task "${key}"`)
  const finished = known.finishedKeys ?? new Set<string>()
  const keys = new Map<string, number>()
  for (const { key } of tasks) keys.set(key, (keys.get(key) ?? 0) + 1)
  return [
    ...(tasks.length === 0 ? ['there is no task'] : []),
    ...[...keys].flatMap(([key, count]) => (count > 1 ? [`the key "${key}" is used ${count} times`] : [])),
    ...tasks.flatMap((task) => [
      ...briefProblems(task, nameOf(task)),
      ...(known.isAgent(task.skill)
        ? []
        : [`${nameOf(task)}: there is no agent "${task.skill}"; there are: ${known.agents.join(', ')}`]),
      ...task.dependsOn.flatMap((needed) =>
        keys.has(needed) || finished.has(needed)
          ? []
          : [`${nameOf(task)} depends on "${needed}", which is not in the plan`],
      ),
    ]),
    ...cyclesIn(tasks).map((cycle) => `these tasks wait for each other: ${cycle.join(' → ')}`),
  ]
}

function briefProblems({ title, context }: TaskDraft, name: string): string[] {
  const brief = context.trim()
  if (brief === '') return [`${name} has no brief: write down everything its agent needs`]
  if (plainWords(brief) === plainWords(title))
    return [`the brief of ${name} only repeats its title: write down what its agent needs to know`]
  if (!brief.includes('\n') && brief.length < minBriefLength)
    return [`the brief of ${name} is one line: add what was found, what is required, and how to know it is done`]
  return []
}

function plainWords(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** One cycle for each group of tasks that wait for each other. */
function cyclesIn(tasks: readonly TaskDraft[]): string[][] {
  const byKey = new Map(tasks.map((task) => [task.key, task]))
  const done = new Set<string>()
  const cycles: string[][] = []
  for (const { key } of tasks) {
    // An explicit stack: a plan may be deeper than the call stack allows.
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

/** Marks a cancellation reason as the user's: only the user may decide about the task then. */
export function asUserCancellation(reason?: string): string {
  if (reason === undefined) return userCancelled
  return cancelledByUser.test(reason) ? reason : `${userCancelled}: ${reason}`
}

/** Marks the reason of a task that was cancelled because the user cancelled its whole plan; a user cancellation, too. */
export function asPlanCancellation(reason: string): string {
  return cancelledWithPlan.test(reason) ? reason : `${userCancelled} with its plan: ${reason}`
}

/** A reason given by a model: its agent in front, so that it never reads like the user's. */
export function asAgentReason(agent: string, reason: string): string {
  return `@${agent}: ${reason}`
}

export function isUserCancellation({ status, reason }: Pick<Task, 'status' | 'reason'>): boolean {
  return status === 'cancelled' && reason !== null && cancelledByUser.test(reason)
}

/**
 * Whether the user cancelled the plan as a whole. The other plans with status `cancelled` ended by themselves: all their
 * tasks are settled, and at least one was cancelled on its own.
 */
export function isGivenUp(
  { status }: Pick<Plan, 'status'>,
  tasks: readonly Pick<Task, 'status' | 'reason'>[],
): boolean {
  if (status !== 'cancelled') return false
  const cancelled = tasks.filter((task) => task.status === 'cancelled')
  return (
    cancelled.length === 0 ||
    tasks.some((task) => !isSettled(task.status)) ||
    cancelled.some(({ reason }) => reason !== null && cancelledWithPlan.test(reason))
  )
}

const userCancelled = 'the user cancelled it'
// Rows that were written earlier say "the person".
const cancelledByUser = /^the (?:user|person) cancelled it/
const cancelledWithPlan = /^the (?:user|person) cancelled it with its plan/
