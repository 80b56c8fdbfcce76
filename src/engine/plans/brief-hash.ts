import { hash } from 'node:crypto'
import { HeddleError } from '../../domain/errors.ts'
import type { Task, TaskChange } from '../../domain/plan.ts'

/** Names what a task is, so that a change can say which brief and agent it replaces. */
export function briefHash({ context, skill }: Pick<Task, 'context' | 'skill'>): string {
  return hash('sha256', JSON.stringify([skill, context]), 'hex')
}

/** Refuses the change of a brief or an agent that another change has replaced meanwhile. */
export function assertExpectedBrief(task: Task, { expectedBrief }: TaskChange): void {
  if (expectedBrief === undefined || expectedBrief === briefHash(task)) return
  throw new HeddleError(
    'changed_meanwhile',
    `task:${task.id} has changed since you read it: it has another brief or agent`,
    `read it again, reapply your change, and retry: heddle show task:${task.id}`,
  )
}
