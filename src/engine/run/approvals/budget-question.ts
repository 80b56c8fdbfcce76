import { budgetTool } from '../../../domain/approval.ts'
import { insertApproval } from '../../../store/rows/approvals.ts'
import { type BudgetQuestion, budgetQuestions, isDayBudget } from '../../../store/rows/budget-questions.ts'
import { recordEvent } from '../../../store/rows/events.ts'
import { parkRun } from '../../../store/rows/released-runs.ts'
import { findRun } from '../../../store/rows/runs.ts'
import { spendingBy } from '../../../store/rows/usage.ts'
import type { Tx } from '../../../store/store.ts'
import type { ActiveRun } from '../active-run.ts'
import { amountOf, type BudgetSpent } from '../budget.ts'
import { hashOfCall } from './frozen-call.ts'

/**
 * Handles a spent budget. An attended request asks the user and parks; an unattended one, or one the user stopped, fails
 * with the reason.
 */
export async function waitForBudget(run: ActiveRun, spent: BudgetSpent): Promise<'parked'> {
  // What a user may spend is the owner's decision, made with `users set`: no answer of a request raises it.
  if (spent.key === 'perUserDay.usd') throw spent
  const { engine, claimed } = run
  const questions = await engine.store.read(budgetQuestions)
  const before = questions.filter((each) => each.question.request === claimed.run.rootRunId)
  // A stop holds for the whole request, including the runs it wakes later.
  if (before.some(({ approval }) => approval.answer === 'no') || !(await isAttended(run))) throw spent
  await run.park(async (tx) => {
    const id = await insertQuestion(tx, run, spent, `${budgetTool}-${before.length + 1}`)
    await parkRun(tx, claimed.run.id, { waitingFor: 'budget', tries: run.tries })
    const waiting = { kind: 'run.waiting' as const, subject: `run:${claimed.run.id}`, scope: claimed.run }
    await recordEvent(tx, { at: engine.clock.now(), ...waiting, payload: { for: 'budget', approvals: [id] } })
    tx.hint('runs')
    // The client that waits for this request may have to show the question.
    tx.hint(`ended:${claimed.run.rootRunId}`)
    return true
  })
  return 'parked'
}

/** Whether a user waits for this request and can be asked. */
async function isAttended({ engine, claimed }: ActiveRun): Promise<boolean> {
  // Read again: a user who steers it may watch since its claim.
  const run = await engine.store.read((rows) => findRun(rows, claimed.run.id))
  return run?.options.attended === true || run?.options.waitsForBudget === true
}

async function insertQuestion(
  tx: Tx,
  run: ActiveRun,
  { key, limit, raise, message }: BudgetSpent,
  callId: string,
): Promise<number> {
  const { engine, claimed, label } = run
  const input: BudgetQuestion = { key, limit, to: raise, request: claimed.run.rootRunId }
  const spent = await spendingBy(tx, { rootRunId: claimed.run.rootRunId })
  const cost = spent.costUsd + spent.estimatedUsd + spent.lostUsd
  const askedAt = engine.clock.now()
  const id = await insertApproval(tx, {
    ...{ runId: claimed.run.id, callId, tool: budgetTool, input, label, askedAt },
    facts: [
      { name: 'spent', value: `$${cost.toFixed(2)} and ${spent.calls} model calls for this request so far` },
      { name: 'yes', value: `raises it from ${amountOf(key, limit)} to ${amountOf(key, raise)}` },
      { name: 'no', value: 'stops here; what was done is kept' },
      ...(isDayBudget(input) ? [{ name: 'tomorrow', value: 'continues with the budget of the next day (UTC)' }] : []),
    ],
    change: '',
    reason: message,
    hash: hashOfCall({ name: budgetTool, input }, claimed.session.folder, callId, { isAskedAgain: false, label }),
    covers: '',
    coverage: null,
    baseline: null,
  })
  const payload = { run: claimed.run.id, tool: budgetTool, session: claimed.session.label }
  const scope = claimed.run
  await recordEvent(tx, { at: askedAt, kind: 'approval.asked', subject: `approval:${id}`, payload, scope })
  return id
}
