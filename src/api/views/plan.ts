import type { PlanStatus, TaskStatus } from '../../domain/plan.ts'
import type { Outcome } from '../../domain/run.ts'

/** A plan in a list. */
export interface PlanLine {
  id: number
  title: string
  status: PlanStatus
  session: string | null
  folder: string | null
  /** Number of tasks by status; no zeros. */
  counts: Partial<Record<TaskStatus, number>>
  createdAt: string
  finishedAt: string | null
  /** Only the user can carry it on: tasks failed, or it was never started. */
  needsYou?: true
}

/** A task in a list: everything but its brief. */
export interface TaskLine {
  id: number
  planId: number
  /** Its place in the plan, from 1; none once a new version of the plan has dropped it. */
  number?: number
  key: string
  title: string
  skill: string
  /** The model that its agent asks for; null for the default one. */
  model: string | null
  dependsOn: number[]
  status: TaskStatus
  attempts: number
  resultId?: number
  /** Summary of its last result. */
  summary?: string
  /** The last run started for it. */
  runId?: string
  /** Current step of that run. */
  doing?: string
  /** Started, but its run waits for a free slot. */
  isQueued?: true
  /** Duration of that run so far, or in total. */
  seconds?: number
  reason?: string
}

export interface PlanView extends PlanLine {
  kind: 'plan'
  goal: string | null
  revision: number
  /** The run that planned it. */
  runId: string
  /** The open approval that starts it. */
  approvalId?: number
  /** Files named by several tasks that can run at the same time, a sentence each. */
  warnings?: string[]
  /** Lost writes of its tasks, a sentence each. */
  lost?: string[]
  tasks: TaskLine[]
}

export interface TaskView extends TaskLine {
  kind: 'task'
  plan: string
  context: string
  /** Changes with its brief and its agent. */
  briefHash: string
  /** Its lost writes, a sentence each. */
  lost?: string[]
  /** Results of all its attempts, oldest first. */
  results: ResultLine[]
  /** Narratives that tell of it, oldest first. */
  narratives: number[]
}

/** A result in a list: everything but the output itself. */
export interface ResultLine {
  id: number
  taskId: number | null
  runId: string
  skillUsed: string | null
  status: Outcome
  summary: string
  processed: boolean
  createdAt: string
}
