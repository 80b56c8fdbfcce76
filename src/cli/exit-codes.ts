import type { RequestAnswer } from '../api/views/question.ts'
import { budgetTool } from '../domain/approval.ts'
import { shortId } from '../domain/id.ts'
import { approveLine } from './approvals/question-page.ts'
import { printable } from './terminal/screen.ts'

const needsYou = 3

/** Exit code for the status of a question. */
export function exitCodeOf({ status, approvals }: Pick<RequestAnswer, 'status' | 'approvals'>): number {
  if (approvals) return needsYou
  return { completed: 0, accepted: 0, failed: 1, timeout: 124, waiting: 124, cancelled: 130 }[status]
}

/** The line for a run that needs the user, with the command that approves its first question. */
export function needsYouLine({ questions = [], session, runId }: RequestAnswer): string {
  const run = runId ? `run:${shortId(runId)}` : printable(session)
  const [first] = questions
  const others = questions.length > 1 ? `, and ${questions.length - 1} more: heddle approvals` : ''
  if (!first) return `${run} needs you    heddle approvals`
  const look = `${run} needs you: approval:${first.id}${others}    heddle show approval:${first.id}`
  if (first.tool !== budgetTool) return `${look}\n${approveLine(first)}    heddle deny ${first.id}`
  return `${printable(first.reason)}\n${look}\nraise it: ${approveLine(first)}    stop: heddle deny ${first.id}`
}

/** The answer as JSON, with the commands that approve its questions. */
export function answerJson(answer: RequestAnswer): object {
  return answer.questions ? { ...answer, approve: answer.questions.map(approveLine) } : answer
}
