import { ownerText } from '../../../domain/access/principal.ts'
import { type Approval, budgetTool, type Decision, minHashLength, type Scope } from '../../../domain/approval.ts'
import { HeddleError, UsageError } from '../../../domain/errors.ts'
import type { Run } from '../../../domain/run.ts'
import type { Session } from '../../../domain/session.ts'
import { nextDay } from '../../../domain/spending.ts'
import { answerApproval, findApproval, insertGrant } from '../../../store/rows/approvals.ts'
import { type BudgetQuestion, budgetQuestions, isSameBudget } from '../../../store/rows/budget-questions.ts'
import { recordEvent } from '../../../store/rows/events.ts'
import { parkRun, requeueRun } from '../../../store/rows/released-runs.ts'
import { assignRun, findRun, lockRun } from '../../../store/rows/runs.ts'
import type { Tx } from '../../../store/store.ts'
import type { Engine, Runtime } from '../../runtime.ts'
import { notFound } from '../../turns/route.ts'
import { claimAtOnce, type ReadyRun } from '../claim.ts'
import type { Claimant, ClaimedRun } from '../claimed-run.ts'
import { relockRunWithSessions } from '../worker/recover.ts'
import { agentOf } from './grants.ts'
import { scopesOf } from './scopes.ts'

interface DecisionOptions {
  /** Text form of the principal who decides; the owner by default. */
  by?: string
  /** The worker of this process: it claims the run in the commit that requeues it. */
  worker?: { engine: Engine; claimant: Claimant }
}

/** An approval that was answered, with its run, that run's session, and the root run of its request. */
interface DecidedApproval {
  approval: Approval
  run: Run
  root: Run
  session: Session
  /** The run, if it was claimed in the same commit: the caller must start it. */
  claimed?: ClaimedRun
}

/** Records a decision about a pending call and requeues its run. */
export async function decide(
  runtime: Runtime,
  id: number,
  decision: Decision,
  { by = ownerText, worker }: DecisionOptions = {},
): Promise<DecidedApproval> {
  const at = runtime.clock.now()
  return runtime.store.write('approve', async (tx) => {
    const approval = await findApproval(tx, id)
    const known = approval && (await findRun(tx, approval.runId))
    if (!approval || !known) throw notFound('approval', String(id))
    const root = known.rootRunId === known.id ? known : ((await findRun(tx, known.rootRunId)) ?? known)
    const found = await relockRunWithSessions(tx, known)
    if (!found || found.run.finishedAt !== null) throw runEnded(found?.run ?? known)
    const { run, session } = found
    // A no holds even if the call has changed since; a yes must match what was shown.
    const hash = decision.answer === 'no' ? undefined : approval.hash
    const isStored =
      isValid(approval, decision) &&
      (await storeAnswer(tx, runtime, { id, run, by, ...(hash !== undefined && { hash }) }, decision))
    if (!isStored) throw refusal(approval, await findApproval(tx, id), decision)
    if (approval.tool === budgetTool) await answerSameBudget(tx, runtime, { ...approval, answeredBy: by }, decision)
    if ((decision.answer === 'session' || decision.answer === 'agent') && approval.coverage)
      await insertGrant(tx, {
        ...approval.coverage,
        scope: decision.answer,
        // The user's own session, not the agent's: the grant holds for all agents of its requests.
        sessionId: decision.answer === 'session' ? (root.sessionId ?? session.id) : null,
        agent: agentOf(known, session.personaId),
        approvalId: id,
        createdAt: at,
        grantedBy: by,
      })
    // Several runs may wait for the same budget: they are claimed in their order.
    const isOne = run.waitingFor === 'approval' && decision.answer !== 'tomorrow'
    const ready = isOne && worker ? readyRun(tx, run) : undefined
    const claimed =
      ready && worker && (await claimAtOnce(tx, worker.engine, worker.claimant, { sessions: [session], ready }))
    if (!ready) await requeueAnswered(tx, run, decision)
    if (!claimed) tx.hint('runs')
    return {
      approval: {
        ...approval,
        answer: decision.answer === 'tomorrow' ? 'once' : decision.answer,
        answerReason: decision.reason ?? null,
        answeredAt: at,
        answeredBy: by,
      },
      ...{ run: known, root, session },
      ...(claimed && { claimed }),
    }
  })
}

/** Whether the answer is one that the question offers, about what was shown. */
function isValid(approval: Approval | undefined, { answer, hash }: Decision): boolean {
  if (answer === 'no') return true
  const isShown = hash === undefined || isHashOf(approval, hash)
  return isShown && approval !== undefined && scopesOf(approval).includes(answer)
}

/** Why an answer is not taken; `now` is the question as it is stored. */
function refusal(shown: Approval, now: Approval | undefined, { answer, hash }: Decision): Error {
  if (now?.answer) return answeredBefore(shown)
  const isChanged = now?.hash !== shown.hash || (hash !== undefined && !isHashOf(now, hash))
  if (answer === 'no' || isChanged) return changedMeanwhile(shown)
  return answer === 'tomorrow' ? notTomorrow(shown) : scopeNotOffered(shown, answer)
}

/** A run that has waited for its answer. */
function readyRun(tx: Tx, run: Run): ReadyRun {
  return {
    run: { ...run, state: 'queued', waitingFor: null, wakeAt: null },
    queue: () => requeueRun(tx, run.id),
    take: ({ run: claimed, claim }) => assignRun(tx, claimed, claim.workerId),
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

/**
 * Stores an answer and requeues the run that waits for it; false if it was answered before, or has another hash. The run must
 * be locked; the caller tells workers of it.
 */
export async function recordAnswer(
  tx: Tx,
  runtime: Runtime,
  answered: AnsweredRun,
  decision: Decision,
): Promise<boolean> {
  const isStored = await storeAnswer(tx, runtime, answered, decision)
  if (isStored) await requeueAnswered(tx, answered.run, decision)
  return isStored
}

/** The run whose question is answered. */
interface AnsweredRun {
  id: number
  run: Run
  by: string
  hash?: string
}

/** The same without requeueing. */
async function storeAnswer(
  tx: Tx,
  { clock }: Runtime,
  { id, run, by, hash }: AnsweredRun,
  decision: Decision,
): Promise<boolean> {
  const at = clock.now()
  // 'tomorrow' is stored as a yes that raises no limit.
  const answer = decision.answer === 'tomorrow' ? 'once' : decision.answer
  const reason = decision.answer === 'tomorrow' ? decision.answer : decision.reason
  if (!(await answerApproval(tx, id, { answer, reason: reason ?? null, at, by, ...(hash !== undefined && { hash }) })))
    return false
  const payload = { run: run.id, answer }
  await recordEvent(tx, { at, kind: 'approval.answered', subject: `approval:${id}`, payload, scope: run })
  if (decision.answer === 'tomorrow')
    await parkRun(tx, run.id, { waitingFor: 'budget', wakeAt: nextDay(at), tries: run.tries })
  return true
}

/** Requeues a run that has waited for an answer, unless the answer is to wait longer. */
async function requeueAnswered(tx: Tx, { id, waitingFor }: Run, { answer }: Decision): Promise<void> {
  if (answer !== 'tomorrow' && (waitingFor === 'approval' || waitingFor === 'budget')) await requeueRun(tx, id)
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
