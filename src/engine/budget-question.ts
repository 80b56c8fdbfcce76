import { budgetTool } from '../domain/approval.ts'
import { insertApproval } from '../store/approvals.ts'
import { type BudgetAsked, budgetQuestions, isOfDay } from '../store/budget-questions.ts'
import { recordEvent } from '../store/events.ts'
import { itemsOfRun } from '../store/inbox.ts'
import { parkRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { spentBy } from '../store/usage.ts'
import type { ActiveRun } from './active-run.ts'
import { amountOf, type BudgetSpent } from './budget.ts'
import { hashOfCall } from './frozen-call.ts'

/**
 * What becomes of a run whose budget is spent. Where somebody is there it asks, and waits without a slot; where nobody is,
 * or they said stop, it fails with the reason.
 */
export async function waitForBudget(run: ActiveRun, spent: BudgetSpent): Promise<'parked'> {
  const { engine, claimed } = run
  const asked = await engine.store.read(budgetQuestions)
  const before = asked.filter((each) => each.asked.request === claimed.run.rootRunId)
  // Whoever said stop meant the request, and with it whatever it wakes.
  if (before.some(({ approval }) => approval.answer === 'no') || !(await isAttended(run))) throw spent
  await run.write('park', async (tx) => {
    const id = await ask(tx, run, spent, `${budgetTool}-${before.length + 1}`)
    await parkRun(tx, claimed.run.id, 'budget', null, run.tries)
    const payload = { for: 'budget', approvals: [id] }
    await recordEvent(tx, { at: engine.clock.now(), kind: 'run.waiting', subject: `run:${claimed.run.id}`, payload })
    tx.hint('runs')
    // Whoever waits for the request may be the one who is asked.
    tx.hint(`ended:${claimed.run.rootRunId}`)
  })
  return 'parked'
}

/** Whether somebody waits for the request who can be asked. */
function isAttended({ engine, claimed }: ActiveRun): Promise<boolean> {
  return engine.store.read(async (rows) =>
    (await itemsOfRun(rows, claimed.run.rootRunId)).some(({ wishes }) => wishes.attended || wishes.waitsForBudget),
  )
}

async function ask(
  tx: Tx,
  run: ActiveRun,
  { key, limit, raise, message }: BudgetSpent,
  callId: string,
): Promise<number> {
  const { engine, claimed, label } = run
  const input: BudgetAsked = { key, limit, to: raise, request: claimed.run.rootRunId }
  const spent = await spentBy(tx, { rootRunId: claimed.run.rootRunId })
  const cost = spent.costUsd + spent.estimatedUsd + spent.lostUsd
  const askedAt = engine.clock.now()
  const id = await insertApproval(tx, {
    ...{ runId: claimed.run.id, callId, tool: budgetTool, input, label, askedAt },
    facts: [
      { name: 'spent', value: `$${cost.toFixed(2)} and ${spent.calls} model calls for this request so far` },
      { name: 'yes', value: `raises it from ${amountOf(key, limit)} to ${amountOf(key, raise)}` },
      { name: 'no', value: 'stops here; what was done is kept' },
      ...(isOfDay(input) ? [{ name: 'tomorrow', value: 'goes on with the budget of the next day (UTC)' }] : []),
    ],
    change: '',
    reason: message,
    hash: hashOfCall({ name: budgetTool, input }, claimed.session.folder, callId),
    covers: '',
    coverage: null,
    baseline: null,
  })
  const payload = { run: claimed.run.id, root: claimed.run.rootRunId, tool: budgetTool, session: claimed.session.label }
  await recordEvent(tx, { at: askedAt, kind: 'approval.asked', subject: `approval:${id}`, payload })
  return id
}
