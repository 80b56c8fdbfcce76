import { ownerText } from '../../../domain/access/principal.ts'
import { type Approval, budgetTool, type Decision, minHashLength, type Scope } from '../../../domain/approval.ts'
import { HeddleError, UsageError } from '../../../domain/errors.ts'
import type { Run } from '../../../domain/run.ts'
import { nextDay } from '../../../domain/spending.ts'
import { answerApproval, findApproval, insertGrant } from '../../../store/rows/approvals.ts'
import { type BudgetQuestion, budgetQuestions, isSameBudget } from '../../../store/rows/budget-questions.ts'
import { recordEvent } from '../../../store/rows/events.ts'
import { findRun, lockRun, parkRun, requeueRun } from '../../../store/rows/runs.ts'
import type { Tx } from '../../../store/store.ts'
import type { Runtime } from '../../runtime.ts'
import { notFound } from '../../turns/route.ts'
import { lockRunWithSessions } from '../worker/recover.ts'
import { agentOf } from './grants.ts'
import { scopesOf } from './scopes.ts'

/** Records a decision about a pending call and requeues its run. `by` is the text form of the principal who decides. */
export async function decide(
  runtime: Runtime,
  id: number,
  decision: Decision,
  by = ownerText,
): Promise<{ approval: Approval; run: Run }> {
  const { approval, known, root } = await runtime.store.read(async (rows) => {
    const approval = await findApproval(rows, id)
    const known = approval && (await findRun(rows, approval.runId))
    return { approval, known, root: known && (await findRun(rows, known.rootRunId)) }
  })
  if (!approval || !known) throw notFound('approval', String(id))
  const at = runtime.clock.now()
  await runtime.store.write('approve', async (tx) => {
    const found = await lockRunWithSessions(tx, known)
    if (!found || found.run.finishedAt !== null) throw runEnded(known)
    // A no holds even if the call has changed since; a yes must match what was shown.
    const now = await findApproval(tx, id)
    if (now?.answer) throw answeredBefore(approval)
    if (decision.answer !== 'no' && decision.hash !== undefined && !isHashOf(now, decision.hash))
      throw changedMeanwhile(approval)
    if (decision.answer !== 'no' && !scopesOf(approval).includes(decision.answer))
      throw decision.answer === 'tomorrow' ? notTomorrow(approval) : scopeNotOffered(approval, decision.answer)
    if (!(await recordAnswer(tx, runtime, { id, run: found.run, by }, decision))) throw answeredBefore(approval)
    if (approval.tool === budgetTool) await answerSameBudget(tx, runtime, { ...approval, answeredBy: by }, decision)
    if ((decision.answer === 'session' || decision.answer === 'agent') && now?.coverage)
      await insertGrant(tx, {
        ...now.coverage,
        scope: decision.answer,
        // The user's own session, not the agent's: the grant holds for all agents of its requests.
        sessionId: decision.answer === 'session' ? (root?.sessionId ?? found.session.id) : null,
        agent: agentOf(known, found.session.personaId),
        approvalId: id,
        createdAt: at,
        grantedBy: by,
      })
  })
  return {
    approval: {
      ...approval,
      answer: decision.answer === 'tomorrow' ? 'once' : decision.answer,
      answerReason: decision.reason ?? null,
      answeredAt: at,
      answeredBy: by,
    },
    run: known,
  }
}

/** Applies one answer to all runs that wait for the same budget. */
async function answerSameBudget(tx: Tx, runtime: Runtime, answered: Approval, decision: Decision): Promise<void> {
  const { input, id, answeredBy } = answered
  for (const { approval, question } of await budgetQuestions(tx)) {
    if (approval.id === id || approval.answer !== null || !isSameBudget(question, input as BudgetQuestion)) continue
    const run = await lockRun(tx, approval.runId)
    if (run?.finishedAt === null)
      await recordAnswer(tx, runtime, { id: approval.id, run, by: answeredBy ?? ownerText }, decision)
  }
}

/** Whether this is a prefix of the question's hash, and long enough. */
function isHashOf(approval: Approval | undefined, prefix: string): boolean {
  return prefix.length >= minHashLength && approval?.hash.startsWith(prefix) === true
}

/** Stores an answer and requeues the run that waits for it; false if it was answered before. The run must be locked. */
export async function recordAnswer(
  tx: Tx,
  { clock }: Runtime,
  { id, run, by }: { id: number; run: Run; by: string },
  decision: Decision,
): Promise<boolean> {
  const at = clock.now()
  // 'tomorrow' is stored as a yes that raises no limit.
  const answer = decision.answer === 'tomorrow' ? 'once' : decision.answer
  const reason = decision.answer === 'tomorrow' ? decision.answer : decision.reason
  if (!(await answerApproval(tx, id, { answer, reason: reason ?? null, at, by }))) return false
  const payload = { run: run.id, answer }
  await recordEvent(tx, { at, kind: 'approval.answered', subject: `approval:${id}`, payload, scope: run })
  if (decision.answer === 'tomorrow')
    await parkRun(tx, run.id, { waitingFor: 'budget', wakeAt: nextDay(at), tries: run.tries })
  else if (run.waitingFor === 'approval' || run.waitingFor === 'budget') await requeueRun(tx, run.id)
  tx.hint('runs')
  return true
}

function runEnded({ id, state }: Run): HeddleError {
  return new HeddleError('run_ended', `run:${id} has ended (${state})`, `to do it again: heddle retry run:${id}`)
}

function notTomorrow({ id }: Approval): UsageError {
  return new UsageError(
    `approval:${id} is not about the daily budget, so it cannot wait for tomorrow`,
    `say yes or no: heddle show approval:${id}`,
    'not_tomorrow',
  )
}

function scopeNotOffered(approval: Approval, scope: Scope): UsageError {
  const offered = scopesOf(approval).map((each) => `--scope ${each}`)
  return new UsageError(
    `approval:${approval.id} is about a budget, which cannot be raised for ${scope === 'agent' ? 'an agent' : 'a session'}`,
    `leave out --scope ${scope}; it takes ${offered.join(' or ')}`,
    'scope_not_offered',
  )
}

function changedMeanwhile({ id }: Approval): UsageError {
  return new UsageError(
    `approval:${id} has changed since you saw it`,
    `look at it again: heddle show approval:${id}`,
    'approval_changed',
  )
}

function answeredBefore({ id }: Approval): UsageError {
  return new UsageError(`approval:${id} is already answered`, 'heddle approvals lists what is open', 'already_answered')
}
