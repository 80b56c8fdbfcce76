import type { TaskChange, TaskStatus } from '../domain/plan.ts'
import type { PlanLine, ResultLine, TaskLine } from './views/plan.ts'

/** Plans, their tasks, and results of agents. */
export interface PlanApp {
  /** Plans, newest first: those of a folder, or all; with `needsYou`, only those that the user must carry on. */
  plans(filter?: { folder?: string; needsYou?: boolean }): Promise<PlanLine[]>
  tasks(filter?: { plan?: string; status?: TaskStatus }): Promise<TaskLine[]>
  /** Results of agents, newest first; `undelivered` are those that no session was told of. */
  results(filter?: { unprocessed?: boolean; undelivered?: boolean }): Promise<ResultLine[]>
  /** Applies a decision to a task. Edits of a plan that waits for approval change its question. */
  changeTask(task: string, change: TaskChange): Promise<{ id: number; status: TaskStatus; runId: string | null }>
}
