import { type Approval, answers, budgetTool, type Scope } from '../../../domain/approval.ts'
import { type BudgetQuestion, isDayBudget } from '../../../store/rows/budget-questions.ts'

/** Scopes that a yes to a question can have. */
export function scopesOf({ tool, input }: Pick<Approval, 'tool' | 'input'>): (Scope | 'tomorrow')[] {
  if (tool !== budgetTool) return answers.filter((answer) => answer !== 'no')
  return isDayBudget(input as BudgetQuestion) ? ['once', 'tomorrow'] : ['once']
}
