import { type Approval, budgetTool, type Decision, lapses, shortestHash } from '../domain/approval.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import type { RequestedCall } from '../domain/model.ts'
import type { Run } from '../domain/run.ts'
import { nextDay } from '../domain/spending.ts'
import type { ToolOutcome } from '../domain/tool.ts'
import { visible } from '../domain/visible.ts'
import {
  answerApproval,
  approvalsOf,
  askAgain,
  findApproval,
  insertApproval,
  insertGrant,
  lapseGrant,
  revokeGrantsOf,
} from '../store/approvals.ts'
import { type BudgetAsked, budgetQuestions, isOfDay, isSameBudget } from '../store/budget-questions.ts'
import { recordEvent } from '../store/events.ts'
import { findRun, lockRun, parkRun, requeueRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { coverageOf, explained, prepareCall, type ReadyCall } from '../tools/call.ts'
import type { ActiveRun } from './active-run.ts'
import { changesSinceAsked, type FrozenCall, freezeCall } from './frozen-call.ts'
import { agentOf, grantFor, type Lapsed, lapsedFact } from './grants.ts'
import { whyNotMade } from './making.ts'
import { lockedRun } from './recover.ts'
import { notFound } from './route.ts'
import type { World } from './world.ts'

/** Nobody reads more at once; the model is told to ask for less. */
const mostQuestions = 20

/** What somebody must be asked before a call is made. */
export interface Question extends FrozenCall {
  ready: ReadyCall
  reason: string
  /** What was granted for such calls and does not hold any more. */
  lapsed: Lapsed[]
}

/** What is to become of each call of a reply. */
export interface Weighed {
  allowed: ReadyCall[]
  questions: Question[]
  refused: Refused[]
}

/** A call that is answered without being made. */
export interface Refused {
  call: RequestedCall
  outcome: ToolOutcome
}

/** Decides which calls are made at once: what nobody must be asked about, and what somebody has granted before. */
export async function weigh(run: ActiveRun, calls: RequestedCall[]): Promise<Weighed> {
  const { engine, claimed } = run
  const weighed: Weighed = { allowed: [], questions: [], refused: [] }
  for (const call of calls) {
    const prepared = prepareCall(call, engine.tools, claimed.run.effectiveTools)
    if ('refused' in prepared) {
      weighed.refused.push({ call, outcome: prepared.refused })
      continue
    }
    const before = [...weighed.allowed, ...weighed.questions.map(({ ready }) => ready)]
    const why = whyNotMade(run, prepared, before)
    if (why) {
      weighed.refused.push({ call, outcome: why })
      continue
    }
    const reason = await whyAsk(run, prepared)
    if (reason === undefined) weighed.allowed.push(prepared)
    // What cannot be done is not worth a question.
    else
      await askAbout(run, prepared, reason, weighed).catch((error) =>
        weighed.refused.push({ call, outcome: explained(error) }),
      )
  }
  return weighed
}

/** Puts a call where it belongs that somebody must be asked about, unless they have granted it. */
async function askAbout(run: ActiveRun, ready: ReadyCall, reason: string, weighed: Weighed): Promise<void> {
  const coverage = await coverageOf(ready, run.contextOf(ready.call.id))
  const { isGranted, lapsed } = await grantFor(run, coverage)
  if (isGranted) weighed.allowed.push(lapses(coverage) ? { ...ready, grant: coverage } : ready)
  else if (weighed.questions.length === mostQuestions)
    weighed.refused.push({ call: ready.call, outcome: tooManyQuestions })
  else {
    const { facts, ...frozen } = await freezeCall(run, ready)
    const all = [...lapsed.map(lapsedFact), ...facts]
    weighed.questions.push({ ready, ...frozen, facts: all, reason: reason + whereTo(ready), lapsed })
  }
}

/** Whether a call that was allowed by a grant is still covered: what was made before it may have changed files. */
export async function isStillGranted(run: ActiveRun, ready: ReadyCall): Promise<boolean> {
  if (!ready.grant) return true
  const now = await coverageOf(ready, run.contextOf(ready.call.id))
  return now.cwd === ready.grant.cwd && (await grantFor(run, now)).isGranted
}

/** Puts a question where people find it, in the commit that journals the reply it came with. */
export async function putQuestion(tx: Tx, run: ActiveRun, { ready, lapsed, ...question }: Question): Promise<void> {
  const { engine, claimed, label } = run
  const askedAt = engine.clock.now()
  const { id: callId, name: tool, input } = ready.call
  const asked = { runId: claimed.run.id, callId, tool, input, label }
  const id = await insertApproval(tx, { ...asked, ...question, askedAt })
  for (const { id, why } of lapsed) {
    await lapseGrant(tx, id, askedAt, why)
    await recordEvent(tx, { at: askedAt, kind: 'grant.lapsed', subject: `grant:${id}`, payload: { why } })
  }
  await tellAsked(tx, run, { id, tool })
}

function tellAsked(tx: Tx, { engine, claimed }: ActiveRun, { id, tool }: { id: number; tool: string }): Promise<void> {
  const { run, session } = claimed
  const payload = { run: run.id, root: run.rootRunId, tool, session: session.label }
  return recordEvent(tx, { at: engine.clock.now(), kind: 'approval.asked', subject: `approval:${id}`, payload })
}

/** What people said about the calls that wait for it. */
export interface Answers {
  approved: ReadyCall[]
  /** Refused by people, or not what they approved any more. */
  refused: Refused[]
  /** How many questions are asked once more: what they are about has changed. */
  askedAgain: number
}

/**
 * What is to be made now of what was answered. A call that rests on the files of the folder comes alone and after the
 * others: whatever is made before it may have changed them.
 */
export async function heardAnswers(run: ActiveRun): Promise<Answers> {
  const { engine, claimed, journal } = run
  const asked = await engine.store.read((rows) => approvalsOf(rows, claimed.run.id))
  const heard: Answers = { approved: [], refused: [], askedAgain: 0 }
  const agreed: { ready: ReadyCall; approval: Approval }[] = []
  for (const call of journal.pending) {
    const approval = asked.find(({ callId }) => callId === call.id)
    if (!approval) throw new Error(`nobody was asked about ${call.id}`)
    if (approval.answer === null) continue
    const prepared = prepareCall(call, engine.tools, claimed.run.effectiveTools)
    if (approval.answer === 'no')
      heard.refused.push({ call, outcome: denial(approval.answerReason, afterNo(prepared)) })
    else if ('refused' in prepared) heard.refused.push({ call, outcome: prepared.refused })
    else agreed.push({ ready: prepared, approval })
  }
  const simple = agreed.filter(({ ready }) => !restsOnFolder(ready))
  for (const each of simple.length > 0 ? simple : agreed.slice(0, 1)) await checkApproved(run, each, heard)
  return heard
}

/** Lets a call be made that is still what was approved; asks once more otherwise, and the second time refuses it. */
async function checkApproved(
  run: ActiveRun,
  { ready, approval }: { ready: ReadyCall; approval: Approval },
  heard: Answers,
): Promise<void> {
  const found = await changesSinceAsked(run, ready, approval).catch(explained)
  if (!('now' in found)) heard.refused.push({ call: ready.call, outcome: found })
  else if (found.changed.length === 0) heard.approved.push(ready)
  // A file that is written rests on what the model has read of it: it must read it again first.
  else if (approval.isAskedAgain || ready.tool.effect === 'idempotent')
    heard.refused.push({ call: ready.call, outcome: changedSince })
  else {
    await askOnceMore(run, approval, found)
    heard.askedAgain++
  }
}

/** Opens a question again, with what has changed before everything else; what its answer granted does not hold. */
async function askOnceMore(
  run: ActiveRun,
  approval: Approval,
  { changed, now }: { changed: string[]; now: FrozenCall },
): Promise<void> {
  const fact = { name: 'changed', value: `since you were asked: ${visible(changed.join('; '))}` }
  const askedAt = run.engine.clock.now()
  await run.write('step', async (tx) => {
    await askAgain(tx, approval.id, { ...now, hash: now.hashAgain, facts: [fact, ...now.facts], askedAt })
    await revokeGrantsOf(tx, approval.id, askedAt)
    await tellAsked(tx, run, approval)
  })
}

function restsOnFolder({ tool }: ReadyCall): boolean {
  return tool.effect !== 'transactional' && tool.changedSince !== undefined
}

/** Parks the run until somebody answers: no slot, no clock. False when somebody has answered meanwhile. */
export function waitForAnswers(run: ActiveRun): Promise<boolean> {
  const { engine, claimed, journal } = run
  return run.write('park', async (tx) => {
    const waiting = new Set(journal.pending.map(({ id }) => id))
    const asked = (await approvalsOf(tx, claimed.run.id)).filter(({ callId }) => waiting.has(callId))
    if (asked.some(({ answer }) => answer !== null)) return false
    await parkRun(tx, claimed.run.id, 'approval', null, run.tries)
    const payload = { for: 'approval', approvals: asked.map(({ id }) => id) }
    await recordEvent(tx, { at: engine.clock.now(), kind: 'run.waiting', subject: `run:${claimed.run.id}`, payload })
    tx.hint('runs')
    // Whoever waits for the request may be the one who is asked.
    tx.hint(`ended:${claimed.run.rootRunId}`)
    return true
  })
}

/** Says yes or no to a call that waits. Its run goes on as soon as a process has a slot for it. */
export async function decide(world: World, id: number, said: Decision): Promise<{ approval: Approval; run: Run }> {
  const { approval, known, root } = await world.store.read(async (rows) => {
    const approval = await findApproval(rows, id)
    const known = approval && (await findRun(rows, approval.runId))
    return { approval, known, root: known && (await findRun(rows, known.rootRunId)) }
  })
  if (!approval || !known) throw notFound('approval', String(id))
  const at = world.clock.now()
  await world.store.write('approve', async (tx) => {
    const found = await lockedRun(tx, known)
    if (!found || found.run.finishedAt !== null) throw tooLate(known)
    // Whoever says no means whatever it has become; whoever says yes has seen what they say it to.
    const now = await findApproval(tx, id)
    if (now?.answer) throw answeredBefore(approval)
    if (said.answer !== 'no' && said.hash !== undefined && !isHashOf(now, said.hash)) throw changedMeanwhile(approval)
    if (said.answer === 'tomorrow' && !(approval.tool === budgetTool && isOfDay(approval.input as BudgetAsked)))
      throw notTomorrow(approval)
    if (!(await noteAnswer(tx, world, { id, run: found.run }, said))) throw answeredBefore(approval)
    if (approval.tool === budgetTool) await answerAlike(tx, world, approval, said)
    if ((said.answer === 'session' || said.answer === 'agent') && now?.coverage)
      await insertGrant(tx, {
        ...now.coverage,
        scope: said.answer,
        // The person's own session: whatever agent asked, the next one of theirs is not to ask again.
        sessionId: said.answer === 'session' ? (root?.sessionId ?? found.session.id) : null,
        agent: agentOf(known, found.session.personaId),
        approvalId: id,
        createdAt: at,
      })
  })
  return {
    approval: {
      ...approval,
      answer: said.answer === 'tomorrow' ? 'once' : said.answer,
      answerReason: said.reason ?? null,
      answeredAt: at,
    },
    run: known,
  }
}

/** One answer is for every run that waits for the same budget. */
async function answerAlike(tx: Tx, world: World, { input, id }: Approval, said: Decision): Promise<void> {
  for (const { approval, asked } of await budgetQuestions(tx)) {
    if (approval.id === id || approval.answer !== null || !isSameBudget(asked, input as BudgetAsked)) continue
    const run = await lockRun(tx, approval.runId)
    if (run?.finishedAt === null) await noteAnswer(tx, world, { id: approval.id, run }, said)
  }
}

/** Whether these are the first characters of a question's hash, enough of them. */
function isHashOf(approval: Approval | undefined, begin: string): boolean {
  return begin.length >= shortestHash && approval?.hash.startsWith(begin) === true
}

/** Writes an answer down, and lets the run that waits for it go on; false where there is one already. The run must be locked. */
export async function noteAnswer(
  tx: Tx,
  { clock }: World,
  { id, run }: { id: number; run: Run },
  said: Decision,
): Promise<boolean> {
  const at = clock.now()
  // To go on tomorrow is a yes that raises nothing.
  const answer = said.answer === 'tomorrow' ? 'once' : said.answer
  const reason = said.answer === 'tomorrow' ? said.answer : said.reason
  if (!(await answerApproval(tx, id, { answer, reason: reason ?? null, at }))) return false
  const payload = { run: run.id, root: run.rootRunId, answer }
  await recordEvent(tx, { at, kind: 'approval.answered', subject: `approval:${id}`, payload })
  if (said.answer === 'tomorrow') await parkRun(tx, run.id, 'budget', nextDay(at), run.tries)
  else if (run.waitingFor === 'approval' || run.waitingFor === 'budget') await requeueRun(tx, run.id)
  tx.hint('runs')
  return true
}

/** What a person should know of a call whose input leaves the folder. */
function whereTo({ tool }: ReadyCall): string {
  return tool.sink === undefined
    ? ''
    : `; what it is given goes to ${{ network: 'the network', agents: 'another agent' }[tool.sink]}`
}

/** The owner's lists, the agent's own, and what the tool thinks of this very call. */
async function whyAsk(run: ActiveRun, { call, tool, value }: ReadyCall): Promise<string | undefined> {
  const { engine, claimed } = run
  const place = { persona: claimed.persona, folder: claimed.session.folder }
  return engine.mustAsk(call.name, claimed.run, place) ?? (await tool.asks?.(value, run.contextOf(call.id)))
}

function denial(reason: string | null, remedy = 'do not try this again in another way'): ToolOutcome {
  const error = reason === null ? 'the user said no' : `the user said no: ${reason}`
  return { status: 'forbidden', output: { status: 'denied', error, remedy } }
}

function afterNo(prepared: ReturnType<typeof prepareCall>): string | undefined {
  return 'tool' in prepared ? prepared.tool.afterNo : undefined
}

const changedSince: ToolOutcome = {
  status: 'error',
  output: {
    status: 'error',
    error: 'what this call rests on was changed after the user approved it, so it was not made',
    remedy: 'look again, and call it again if it still makes sense: the user will be asked again',
  },
}

/** A call that was allowed by a grant which ended before it was its turn. */
export const lapsedMeanwhile: ToolOutcome = {
  status: 'forbidden',
  output: {
    status: 'error',
    error: 'the user allowed this as the folder was then, and a file in it was changed before this call was made',
    remedy: 'call it again if it still makes sense: the user will be asked',
  },
}

const tooManyQuestions: ToolOutcome = {
  status: 'error',
  output: {
    status: 'error',
    error: `only ${mostQuestions} calls of one reply can wait for the user`,
    remedy: 'call it again when those are answered',
  },
}

function tooLate({ id, state }: Run): HeddleError {
  return new HeddleError('run_ended', `run:${id} has ended (${state})`, `to do it again: heddle retry run:${id}`)
}

function notTomorrow({ id }: Approval): Misuse {
  return new Misuse(
    `approval:${id} is not about the budget of a day, so that tomorrow changes nothing`,
    `say yes or no: heddle show approval:${id}`,
    'not_tomorrow',
  )
}

function changedMeanwhile({ id }: Approval): Misuse {
  return new Misuse(
    `approval:${id} is about something else now than what you were shown`,
    `look at it again: heddle show approval:${id}`,
    'approval_changed',
  )
}

function answeredBefore({ id }: Approval): Misuse {
  return new Misuse(`approval:${id} was answered before`, 'heddle approvals lists what is open', 'already_answered')
}
