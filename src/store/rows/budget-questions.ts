import { type Approval, budgetTool } from '../../domain/approval.ts'
import type { Millis } from '../../domain/clock.ts'
import type { Reading } from '../store.ts'
import { approvalsWhere } from './approvals.ts'

/** Question to the user when a budget is used up. */
export interface BudgetQuestion {
  key: string
  limit: number
  /** Limit after a yes. */
  to: number
  /** Root run of the request that needs it. */
  request: string
}

/** Whether the budget is the daily one, which all requests share and which renews itself. */
export function isDayBudget({ key }: Pick<BudgetQuestion, 'key'>): boolean {
  return key === 'perDay.usd'
}

export function isSameBudget(one: BudgetQuestion, other: BudgetQuestion): boolean {
  return one.key === other.key && (isDayBudget(one) || one.request === other.request)
}

/** Limit to which the user raised a request's budget, or today's; 0 if not raised. */
export async function raisedLimit(
  rows: Reading,
  key: string,
  scope: { rootRunId: string } | { today: Millis },
): Promise<number> {
  const raised = (await budgetQuestions(rows)).filter(({ approval, question }) => {
    if (approval.answer !== 'once' || approval.answerReason === 'tomorrow' || question.key !== key) return false
    return 'today' in scope ? (approval.answeredAt ?? 0) >= scope.today : question.request === scope.rootRunId
  })
  return Math.max(0, ...raised.map(({ question }) => question.to))
}

/** All budget questions ever asked, oldest first: there are few. */
export async function budgetQuestions(rows: Reading): Promise<{ approval: Approval; question: BudgetQuestion }[]> {
  return (await approvalsWhere(rows, { tool: budgetTool })).map((approval) => ({
    approval,
    question: approval.input as BudgetQuestion,
  }))
}
