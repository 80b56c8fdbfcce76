import type { PlanStatus, TaskStatus } from './plan.ts'
import type { Outcome } from './run.ts'

/** A plan in a list. */
export interface PlanLine {
  id: number
  title: string
  status: PlanStatus
  session: string | null
  folder: string | null
  /** How many of its tasks are so; only what there is. */
  counts: Partial<Record<TaskStatus, number>>
  createdAt: string
  finishedAt: string | null
}

/** A task in a list: everything but its brief. */
export interface TaskLine {
  id: number
  planId: number
  key: string
  title: string
  skill: string
  /** The model that its agent asks for; null for the default one. */
  model: string | null
  dependsOn: number[]
  status: TaskStatus
  attempts: number
  resultId?: number
  /** Of its last result. */
  summary?: string
  /** The last run that was begun for it. */
  runId?: string
  /** What that run is at, while it has not ended. */
  doing?: string
  /** It has begun, and its run waits until fewer run. */
  isQueued?: true
  /** How long that run has been at it, or was. */
  seconds?: number
  reason?: string
}

export interface PlanView extends PlanLine {
  kind: 'plan'
  goal: string | null
  revision: number
  /** The run that planned it. */
  runId: string
  /** The question whose answer starts it, while nobody has answered. */
  approvalId?: number
  tasks: TaskLine[]
}

export interface TaskView extends TaskLine {
  kind: 'task'
  plan: string
  context: string
  /** Of all its attempts, oldest first. */
  results: ResultLine[]
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
