import type { Millis } from '../domain/clock.ts'
import type { PlanStatus, TaskStatus } from '../domain/plan.ts'
import type { RunState } from '../domain/run.ts'
import type { ListPage, PageOptions } from './views/page.ts'
import type { Question, RequestAnswer, SubmitResult } from './views/question.ts'
import type { UndoReport } from './views/result.ts'
import type { DayUsage, RunFilter, RunLine, RunSteps, SpendingKey, UsageReport } from './views/run.ts'
import type { StatusView } from './views/status.ts'

/** Inputs, the runs that answer them, and what they cost. `folder` is the caller's working directory. */
export interface RunApp {
  /** Queues an input: durable when this resolves, whether a worker runs or not. */
  submit(folder: string, question: Question): Promise<SubmitResult>
  /** Resolves when all work caused by the input is done, or with `waiting` on abort or when an approval is needed. */
  answer(folder: string, itemId: string, signal: AbortSignal): Promise<RequestAnswer>
  /** The newest runs, oldest first; older ones follow `next`. */
  runs(filter?: RunFilter): Promise<ListPage<RunLine>>
  /**
   * Cancels a run with all runs it started, a `task:` with its run, or a `plan:` with all its tasks. Without a reason, it
   * says who did.
   */
  cancel(reference: string, reason?: string): Promise<{ id: string; state: RunState | TaskStatus | PlanStatus }>
  /** Runs a run's inputs again, or a failed `task:`. */
  retry(reference: string): Promise<{ runId: string | null }>
  /** Restores the files that a run and its descendants changed. */
  undo(run: string, options?: { dryRun?: boolean }): Promise<UndoReport>
  usage(by: SpendingKey, options?: PageOptions & { today?: boolean }): Promise<UsageReport>
  /** Spending of the last days, by day and model, oldest first; at most 366 days. */
  usageByDay(days: number): Promise<DayUsage[]>
  /** What a run did, with the words; `run:ID` or an id. */
  runSteps(run: string): Promise<RunSteps>
  /** State of a folder, and its turns since a given time. */
  status(folder: string, since: Millis): Promise<StatusView>
}
