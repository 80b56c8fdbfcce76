import type { Answered } from '../domain/app.ts'
import { tail } from '../domain/id.ts'
import { printable } from './screen.ts'

const needsYou = 3

/** What came of a question, as an exit code. */
export function exitCodeOf({ status, approvals }: Pick<Answered, 'status' | 'approvals'>): number {
  if (approvals) return needsYou
  return { completed: 0, accepted: 0, failed: 1, timeout: 124, waiting: 124, cancelled: 130 }[status]
}

/** What is said when nothing goes on without a person. */
export function needsYouLine({ approvals = [], session, runId }: Answered): string {
  const run = runId ? `run:${tail(runId)}` : printable(session)
  const [first] = approvals
  const others = approvals.length > 1 ? `, and ${approvals.length - 1} more` : ''
  return `${run} needs you: approval:${first}${others}    heddle approvals, heddle approve ${first}, heddle deny ${first}`
}
