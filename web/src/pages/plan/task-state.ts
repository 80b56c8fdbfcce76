import type { TaskLine } from '../../api/wire.ts'
import { type StateName, stateOf } from '../../parts/state.tsx'

type TaskCondition = Pick<TaskLine, 'status' | 'isQueued' | 'doing'>

/** State of a task: one that waits for a free slot is queued, one that waits for an answer needs you. */
export function stateOfTask(task: TaskCondition): StateName {
  if (task.isQueued) return 'queued'
  if (needsAnswer(task)) return 'needs-you'
  return task.status === 'blocked' ? 'waiting' : stateOf(task.status)
}

export function wordOf(task: TaskCondition): string {
  if (task.isQueued) return 'queued'
  if (needsAnswer(task)) return 'needs you'
  switch (task.status) {
    case 'pending':
      return 'not started'
    case 'completed':
      return 'done'
    default:
      return task.status
  }
}

/** What a task does now, or what came of it. */
export function outcomeOf({ doing, summary, reason }: TaskLine): string {
  return (doing ?? summary ?? reason ?? '').replace(/ \(heddle approve \d+\)/, '')
}

function needsAnswer({ status, doing }: TaskCondition): boolean {
  return status === 'running' && /^waiting for approval:\d/.test(doing ?? '')
}
