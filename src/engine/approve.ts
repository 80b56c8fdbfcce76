import { createHash } from 'node:crypto'
import type { Approval, Decision } from '../domain/approval.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import type { RequestedCall } from '../domain/model.ts'
import type { Persona } from '../domain/persona.ts'
import type { Run } from '../domain/run.ts'
import type { ToolOutcome } from '../domain/tool.ts'
import {
  answerApproval,
  approvalsOf,
  findApproval,
  insertApproval,
  insertGrant,
  isGranted,
} from '../store/approvals.ts'
import { recordEvent } from '../store/events.ts'
import { findRun, parkRun, requeueRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { coveredBy, explained, prepareCall, previewCall, type ReadyCall } from '../tools/call.ts'
import type { ActiveRun } from './active-run.ts'
import { whyNotMade } from './making.ts'
import { lockedRun } from './recover.ts'
import { notFound } from './route.ts'
import type { World } from './world.ts'

/** Nobody reads more at once; the model is told to ask for less. */
const mostQuestions = 20

/** What somebody must be asked before a call is made. */
export interface Question extends Pick<Approval, 'change' | 'reason' | 'hash' | 'pattern'> {
  ready: ReadyCall
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
    const why = whyNotMade(run.journal, prepared, weighed.allowed.length + weighed.questions.length)
    if (why) {
      weighed.refused.push({ call, outcome: why })
      continue
    }
    const reason = await whyAsk(run, prepared)
    const pattern = coveredBy(prepared)
    if (reason === undefined || (await wasGranted(run, call.name, pattern))) weighed.allowed.push(prepared)
    else if (weighed.questions.length === mostQuestions) weighed.refused.push({ call, outcome: tooManyQuestions })
    else
      await frozen(run, prepared).then(
        ({ change, hash }) =>
          weighed.questions.push({ ready: prepared, change, reason: reason + whereTo(prepared), hash, pattern }),
        // What cannot be done is not worth a question.
        (error) => weighed.refused.push({ call, outcome: explained(error) }),
      )
  }
  return weighed
}

/** Puts a question where people find it, in the commit that journals the reply it came with. */
export async function putQuestion(tx: Tx, run: ActiveRun, { ready, ...question }: Question): Promise<void> {
  const { engine, claimed, label } = run
  const askedAt = engine.clock.now()
  const { id: callId, name: tool, input } = ready.call
  const asked = { runId: claimed.run.id, callId, tool, input, label }
  const id = await insertApproval(tx, { ...asked, ...question, askedAt })
  await recordEvent(tx, {
    at: askedAt,
    kind: 'approval.asked',
    subject: `approval:${id}`,
    payload: {
      run: claimed.run.id,
      root: claimed.run.rootRunId,
      tool: ready.call.name,
      session: claimed.session.label,
    },
  })
}

/** What people said about the calls that wait for it. */
export interface Answers {
  approved: ReadyCall[]
  /** Refused by people, or not what they approved any more. */
  refused: Refused[]
}

export async function heardAnswers(run: ActiveRun): Promise<Answers> {
  const { engine, claimed, journal } = run
  const asked = await engine.store.read((rows) => approvalsOf(rows, claimed.run.id))
  const heard: Answers = { approved: [], refused: [] }
  for (const call of journal.pending) {
    const approval = asked.find(({ callId }) => callId === call.id)
    if (!approval) throw new Error(`nobody was asked about ${call.id}`)
    if (approval.answer === null) continue
    const prepared = prepareCall(call, engine.tools, claimed.run.effectiveTools)
    if (approval.answer === 'no')
      heard.refused.push({ call, outcome: denial(approval.answerReason, afterNo(prepared)) })
    else if ('refused' in prepared) heard.refused.push({ call, outcome: prepared.refused })
    else {
      const now = await frozen(run, prepared).catch(explained)
      if ('hash' in now && now.hash === approval.hash) heard.approved.push(prepared)
      else heard.refused.push({ call, outcome: 'hash' in now ? changedSince : now })
    }
  }
  return heard
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
  const { approval, known } = await world.store.read(async (rows) => {
    const approval = await findApproval(rows, id)
    return { approval, known: approval && (await findRun(rows, approval.runId)) }
  })
  if (!approval || !known) throw notFound('approval', String(id))
  const at = world.clock.now()
  await world.store.write('approve', async (tx) => {
    const found = await lockedRun(tx, known)
    if (!found || found.run.finishedAt !== null) throw tooLate(known)
    // Whoever says no means whatever it has become; whoever says yes has seen what they say it to.
    const now = await findApproval(tx, id)
    if (said.answer !== 'no' && said.hash !== undefined && now?.hash !== said.hash) throw changedMeanwhile(approval)
    if (!(await noteAnswer(tx, world, { id, run: found.run }, said))) throw answeredBefore(approval)
    if (said.answer === 'session' || said.answer === 'agent')
      await insertGrant(tx, {
        scope: said.answer,
        sessionId: said.answer === 'session' ? found.session.id : null,
        agent: agentOf(known, found.session.personaId),
        folder: found.session.folder,
        tool: approval.tool,
        pattern: approval.pattern,
        approvalId: id,
        createdAt: at,
      })
  })
  return {
    approval: { ...approval, answer: said.answer, answerReason: said.reason ?? null, answeredAt: at },
    run: known,
  }
}

/** Writes an answer down, and lets the run that waits for it go on; false where there is one already. The run must be locked. */
export async function noteAnswer(
  tx: Tx,
  { clock }: World,
  { id, run }: { id: number; run: Run },
  { answer, reason }: Decision,
): Promise<boolean> {
  const at = clock.now()
  if (!(await answerApproval(tx, id, { answer, reason: reason ?? null, at }))) return false
  const payload = { run: run.id, root: run.rootRunId, answer }
  await recordEvent(tx, { at, kind: 'approval.answered', subject: `approval:${id}`, payload })
  if (run.waitingFor === 'approval') await requeueRun(tx, run.id)
  tx.hint('runs')
  return true
}

/** The name under which an agent is granted something. */
export function agentOf(run: Pick<Run, 'agent' | 'parentRunId'>, personaId: Persona['id'] | null): string {
  const [first, second] = run.parentRunId === null ? [personaId, run.agent] : [run.agent, personaId]
  return first ?? second ?? 'general'
}

/** What a person should know of a call whose input leaves the folder. */
function whereTo({ tool }: ReadyCall): string {
  return tool.sink === undefined
    ? ''
    : `; what it is given goes to ${{ network: 'the network', agents: 'another agent' }[tool.sink]}`
}

/** A child has what was granted to the request that it belongs to, and nothing that was granted to its siblings. */
function wasGranted(run: ActiveRun, tool: string, pattern: string): Promise<boolean> {
  const { engine, claimed } = run
  const { session, persona } = claimed
  return engine.store.read(async (rows) => {
    const root = await findRun(rows, claimed.run.rootRunId)
    const sessionIds = [session.id, ...(root?.sessionId ? [root.sessionId] : [])]
    const agent = agentOf(claimed.run, persona?.id ?? null)
    return isGranted(rows, { tool, pattern, sessionIds, agent, folder: session.folder })
  })
}

/** A call as it would be shown now, and a mark that changes with anything that decides what it does. */
async function frozen(run: ActiveRun, ready: ReadyCall): Promise<{ change: string; hash: string }> {
  const { change, frozen } = await previewCall(ready, run.contextOf(ready.call.id))
  const { name, input } = ready.call
  return { change, hash: markOf({ name, input }, run.claimed.session.folder, frozen) }
}

/** The mark of a call in a folder, and of what it rests on. */
export function markOf({ name, input }: { name: string; input: unknown }, folder: string, frozen: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([name, input, folder, frozen]))
    .digest('hex')
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
