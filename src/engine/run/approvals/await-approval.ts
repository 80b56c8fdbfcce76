import type { Approval } from '../../../domain/approval.ts'
import { escapeInvisible } from '../../../domain/text/visible.ts'
import type { ToolOutcome } from '../../../domain/tools/tool.ts'
import { approvalsOf, askAgain, insertApproval, lapseGrant, revokeGrantsOf } from '../../../store/rows/approvals.ts'
import { recordEvent } from '../../../store/rows/events.ts'
import { parkRun } from '../../../store/rows/released-runs.ts'
import type { Tx } from '../../../store/store.ts'
import { prepareCall, type ReadyCall, toErrorOutcome } from '../../../tools/call.ts'
import type { ActiveRun } from '../active-run.ts'
import { changesSinceApproval, dependsOnFolder, type FrozenCall } from './frozen-call.ts'
import type { CallQuestion, RefusedCall } from './triage-calls.ts'

/** Stores a question to the user in the commit that journals the reply it came with; returns its id. */
export async function storeQuestion(
  tx: Tx,
  run: ActiveRun,
  { ready, lapsed, ...question }: CallQuestion,
): Promise<number> {
  const { engine, claimed, label } = run
  const askedAt = engine.clock.now()
  const { id: callId, name: tool, input } = ready.call
  const callFields = { runId: claimed.run.id, callId, tool, input, label }
  const id = await insertApproval(tx, { ...callFields, ...question, askedAt })
  for (const { id, why } of lapsed) {
    await lapseGrant(tx, id, askedAt, why)
    const event = { kind: 'grant.lapsed' as const, subject: `grant:${id}`, payload: { why }, scope: claimed.run }
    await recordEvent(tx, { at: askedAt, ...event })
  }
  await emitAsked(tx, run, { id, tool })
  return id
}

function emitAsked(tx: Tx, { engine, claimed }: ActiveRun, { id, tool }: { id: number; tool: string }): Promise<void> {
  const { run, session } = claimed
  const event = { kind: 'approval.asked' as const, subject: `approval:${id}`, scope: run }
  return recordEvent(tx, { at: engine.clock.now(), ...event, payload: { run: run.id, tool, session: session.label } })
}

/** The user's answers about pending calls. */
interface Answers {
  approved: ReadyCall[]
  /** Denied by the user, or changed since the approval. */
  refused: RefusedCall[]
  /** Number of questions that were reopened because the call has changed. */
  askedAgain: number
}

/**
 * Reads the user's answers and selects the calls to make now. A call that depends on the folder's files is checked and
 * made alone, after the others: any call made before it may change those files.
 */
export async function readAnswers(run: ActiveRun): Promise<Answers> {
  const { engine, claimed, journal } = run
  const approvals = await engine.store.read((rows) => approvalsOf(rows, claimed.run.id))
  const answers: Answers = { approved: [], refused: [], askedAgain: 0 }
  const agreed: { ready: ReadyCall; approval: Approval }[] = []
  for (const call of journal.pendingCalls) {
    const approval = approvals.find(({ callId }) => callId === call.id)
    if (!approval) throw new Error(`call ${call.id} has no approval`)
    if (approval.answer === null) continue
    const prepared = prepareCall(call, engine.tools, claimed.run.effectiveTools)
    if (approval.answer === 'no')
      answers.refused.push({ call, outcome: denial(approval.answerReason, denialHint(prepared)) })
    else if ('refused' in prepared) answers.refused.push({ call, outcome: prepared.refused })
    else agreed.push({ ready: prepared, approval })
  }
  const independent = agreed.filter(({ ready }) => !dependsOnFolder(ready))
  for (const each of independent.length > 0 ? independent : agreed.slice(0, 1)) await checkApproved(run, each, answers)
  return answers
}

/** Allows a call that is unchanged since its approval; otherwise asks once more, and refuses it the second time. */
async function checkApproved(
  run: ActiveRun,
  { ready, approval }: { ready: ReadyCall; approval: Approval },
  answers: Answers,
): Promise<void> {
  const found = await changesSinceApproval(run, ready, approval).catch(toErrorOutcome)
  if (!('now' in found)) answers.refused.push({ call: ready.call, outcome: found })
  else if (found.changed.length === 0) answers.approved.push(ready)
  // A file write depends on what the model has read of the file: the model must read it again first.
  else if (approval.isAskedAgain || ready.tool.effect === 'idempotent')
    answers.refused.push({ call: ready.call, outcome: changedSinceApproval })
  else {
    await reopenQuestion(run, approval, found)
    answers.askedAgain++
  }
}

/** Reopens a question and lists the changes first; revokes the grants of its earlier answer. */
async function reopenQuestion(
  run: ActiveRun,
  approval: Approval,
  { changed, now }: { changed: string[]; now: FrozenCall },
): Promise<void> {
  const fact = { name: 'changed', value: `since you were asked: ${escapeInvisible(changed.join('; '))}` }
  const askedAt = run.engine.clock.now()
  await run.write('step', async (tx) => {
    await askAgain(tx, approval.id, { ...now, hash: now.hashAgain, facts: [fact, ...now.facts], askedAt })
    await revokeGrantsOf(tx, approval.id, askedAt)
    await emitAsked(tx, run, approval)
  })
}

/** Parks the run until the user answers. False if an answer arrived meanwhile. */
export function waitForAnswers(run: ActiveRun): Promise<boolean> {
  const { claimed, journal } = run
  return run.park(async (tx) => {
    const waiting = new Set(journal.pendingCalls.map(({ id }) => id))
    const approvals = (await approvalsOf(tx, claimed.run.id)).filter(({ callId }) => waiting.has(callId))
    if (approvals.some(({ answer }) => answer !== null)) return false
    await parkRun(tx, claimed.run.id, { waitingFor: 'approval', tries: run.tries })
    await publishWait(tx, run, { approvals: approvals.map(({ id }) => id) })
    return true
  })
}

/** Tells clients that a run waits for these approvals, and workers that it has left its slot. */
export async function publishWait(
  tx: Tx,
  { engine, claimed: { run } }: ActiveRun,
  { approvals, isAnyQueued = true }: { approvals: number[]; isAnyQueued?: boolean },
): Promise<void> {
  const payload = { for: 'approval', approvals }
  const parked = { kind: 'run.waiting' as const, subject: `run:${run.id}`, scope: run }
  await recordEvent(tx, { at: engine.clock.now(), ...parked, payload })
  if (isAnyQueued) tx.hint('runs')
  // The client that waits for this request may have to show the question.
  tx.hint(`ended:${run.rootRunId}`)
}

function denial(reason: string | null, remedy = 'do not try this again in another way'): ToolOutcome {
  const error = reason === null ? 'the user said no' : `the user said no: ${reason}`
  return { status: 'forbidden', output: { status: 'denied', error, remedy } }
}

function denialHint(prepared: ReturnType<typeof prepareCall>): string | undefined {
  return 'tool' in prepared ? prepared.tool.denialHint : undefined
}

/** Outcome of an approved call that changed again after its second question. */
const changedSinceApproval: ToolOutcome = {
  status: 'error',
  output: {
    status: 'error',
    error: 'files this call depends on changed after the user approved it, so it was not run',
    remedy: 'look again, and call it again if it still makes sense: the user will be asked again',
  },
}

/** Outcome of a call whose grant lapsed before the call was made. */
export const grantLapsed: ToolOutcome = {
  status: 'forbidden',
  output: {
    status: 'error',
    error: 'the approval covered the folder as it was; a file changed before this call ran',
    remedy: 'call it again if it still makes sense: the user will be asked',
  },
}
