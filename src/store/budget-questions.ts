import { type Approval, budgetTool } from '../domain/approval.ts'
import type { Millis } from '../domain/clock.ts'
import { approvalsWhere } from './approvals.ts'
import type { Reading } from './store.ts'

/** What a person is asked when a budget is spent. */
export interface BudgetAsked {
  key: string
  limit: number
  /** What a yes raises it to. */
  to: number
  /** The root run of the request that needs it. */
  request: string
}

/** The budget of a day is everybody's, and there again tomorrow. */
export function isOfDay({ key }: Pick<BudgetAsked, 'key'>): boolean {
  return key === 'perDay.usd'
}

export function isSameBudget(one: BudgetAsked, other: BudgetAsked): boolean {
  return one.key === other.key && (isOfDay(one) || one.request === other.request)
}

/** Up to where people have raised a budget: that of a request, or that of a day since it began. 0 where nobody has. */
export async function raisedTo(
  rows: Reading,
  key: string,
  whose: { rootRunId: string } | { today: Millis },
): Promise<number> {
  const raised = (await budgetQuestions(rows)).filter(({ approval, asked }) => {
    if (approval.answer !== 'once' || approval.answerReason === 'tomorrow' || asked.key !== key) return false
    return 'today' in whose ? (approval.answeredAt ?? 0) >= whose.today : asked.request === whose.rootRunId
  })
  return Math.max(0, ...raised.map(({ asked }) => asked.to))
}

/** Every question about a budget that was ever asked, oldest first: there are few. */
export async function budgetQuestions(rows: Reading): Promise<{ approval: Approval; asked: BudgetAsked }[]> {
  return (await approvalsWhere(rows, { tool: budgetTool })).map((approval) => ({
    approval,
    asked: approval.input as BudgetAsked,
  }))
}
