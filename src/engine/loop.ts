import { HeddleError, StorageFailure } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { RequestedCall } from '../domain/model.ts'
import { type Ending, outcomeWord, type Step } from '../domain/run.ts'
import type { CallContext, ToolOutcome } from '../domain/tool.ts'
import { toolNamed } from '../domain/tool-names.ts'
import { dropBaseline } from '../store/approvals.ts'
import { recordEvent } from '../store/events.ts'
import { requeueRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { settleUsage } from '../store/usage.ts'
import { explained, mayRepeat, prepareCall, type ReadyCall, writeCall } from '../tools/call.ts'
import { ActiveRun, type HandsOn, Stop } from './active-run.ts'
import {
  heardAnswers,
  isStillGranted,
  lapsedMeanwhile,
  putQuestion,
  type Refused,
  waitForAnswers,
  weigh,
} from './approve.ts'
import { closeCalls } from './budget.ts'
import { changeFor } from './change.ts'
import type { Claimed } from './claim.ts'
import { makeRoom } from './compact.ts'
import { type BegunStep, type EndedStep, unknownOutcome } from './journal.ts'
import { makeInTime, sideBySide, whyHopeless } from './making.ts'
import { freeId } from './model-messages.ts'
import { owesPlan } from './owed-plan.ts'
import { lockPlaces, settle } from './settle.ts'
import { type Thought, takeBack, think } from './think.ts'
import type { Engine } from './world.ts'

/**
 * Runs a claimed run until it ends, waits or is taken away. Everything it does is journalled before anything acts on
 * it, so that whoever claims the run next goes on where this one stopped. Answers the run to go on with, if its end
 * made one that is ours already.
 */
export async function runToTheEnd(engine: Engine, claimed: Claimed, hands: HandsOn): Promise<Claimed | undefined> {
  const run = await ActiveRun.open(engine, claimed, hands)
  try {
    run.mustBeSomebody()
    await finishOpenCalls(run)
    if ((await finishAsked(run)) === 'parked') return undefined
    for (;;) {
      if (run.journal.rest) return await settle(run, resting(run))
      // Whoever is asked next may have less room than the one that did not answer.
      const thought = (await makeRoom(run)) ?? (await think(run))
      if (thought === 'parked') return undefined
      if (thought === 'elsewhere') continue
      if (thought.reply.calls.length === 0) {
        if (await owesPlan(run, thought)) continue
        return await settle(run, endingOf(run, thought), thought)
      }
      if ((await act(run, thought)) === 'parked') return undefined
    }
  } catch (error) {
    return stop(run, error).catch(ignoreFenced)
  }
}

/**
 * Journals a reply with all its calls in one commit, then makes them side by side. Those that somebody must be asked about
 * come last: they may wait.
 */
async function act(run: ActiveRun, { reply, call, by }: Thought): Promise<'parked' | undefined> {
  const calls = withOwnIds(named(reply.calls, run.claimed.run.effectiveTools), run.journal.callIds)
  const { allowed, questions, refused } = await weigh(run, calls)
  const replyStep = run.journal.next('reply', {
    text: reply.text,
    calls,
    model: reply.model,
    by,
    ...(reply.metadata !== undefined && { metadata: reply.metadata }),
  })
  const hopeless = whyHopeless(run, refused)
  const isFirstLimit = run.journal.spawns.refused === 0 && refused.some(({ outcome }) => outcome.overLimit)
  const steps = [replyStep, ...begin(run, calls, allowed, refused)]
  await run.record(steps, async (tx) => {
    await settleUsage(tx, { runId: run.claimed.run.id, call, model: reply.model }, reply.usage)
    for (const question of questions) await putQuestion(tx, run, question)
    if (isFirstLimit) await tellLimit(tx, run)
  })
  if (hopeless !== undefined) throw new HeddleError('looping', hopeless, 'ask otherwise, or ask another model: -m NAME')
  await finishCalls(run, allowed)
  return finishAsked(run)
}

/** Whoever watches is told what the model is told: no more agents in this turn. */
function tellLimit(tx: Tx, { engine, claimed }: ActiveRun): Promise<void> {
  const why = `it has started ${engine.limits.maxSpawnsPerTurn} agents in this turn and may start no more`
  return recordEvent(tx, {
    at: engine.clock.now(),
    kind: 'run.limited',
    subject: `run:${claimed.run.id}`,
    payload: { why, setting: 'tools.subagents.maxPerTurn' },
  })
}

/** Makes what was approved and tells what was not; waits for the rest. */
async function finishAsked(run: ActiveRun): Promise<'parked' | undefined> {
  while (run.journal.pending.length > 0) {
    const { approved, refused, askedAgain } = await heardAnswers(run)
    if (approved.length + refused.length === 0) {
      if (askedAgain === 0 && (await waitForAnswers(run))) return 'parked'
      continue
    }
    await run.record(begin(run, run.journal.pending, approved, refused), async (tx) => {
      for (const { call } of [...approved, ...refused])
        await dropBaseline(tx, { runId: run.claimed.run.id, callId: call.id })
    })
    await finishCalls(run, approved)
  }
  return undefined
}

/** The beginnings of calls, in the order of the reply; those that are not made are answered at once. */
function begin(run: ActiveRun, calls: RequestedCall[], made: ReadyCall[], refused: Refused[]): Step[] {
  const [ready, outcomes] = [
    new Map(made.map((each) => [each.call.id, each])),
    new Map(refused.map((each) => [each.call.id, each.outcome])),
  ]
  return calls.flatMap((call) => {
    const tool = ready.get(call.id)?.tool
    if (tool) return [run.journal.next('begun', { ...call, effect: tool.effect })]
    const outcome = outcomes.get(call.id)
    if (!outcome) return []
    return [run.journal.next('begun', { ...call, effect: 'pure' }), run.journal.next('ended', ended(call, outcome))]
  })
}

/** After a crash: what may be repeated is repeated, the rest is told to the model as unknown. */
async function finishOpenCalls(run: ActiveRun): Promise<void> {
  const { engine, claimed } = run
  const unknown: BegunStep[] = []
  const again: ReadyCall[] = []
  for (const call of run.journal.open) {
    const prepared = prepareCall(call, engine.tools, claimed.run.effectiveTools)
    if ('tool' in prepared && mayRepeat(call.effect)) again.push(prepared)
    else unknown.push(call)
  }
  const told = unknown.map((call) =>
    run.journal.next('ended', ended(call, { status: 'unknown', output: unknownOutcome })),
  )
  if (told.length > 0) await run.record(told)
  await finishCalls(run, again)
}

const finishCalls = (run: ActiveRun, calls: ReadyCall[]) => sideBySide(calls, (call) => finishCall(run, call))

async function finishCall(run: ActiveRun, ready: ReadyCall): Promise<void> {
  const { engine, signal } = run
  signal.throwIfAborted()
  const context = { ...run.contextOf(ready.call.id), change: changeFor(run, ready.call.id) }
  if (ready.tool.effect === 'transactional') return finishInside(run, ready, context)
  if (!(await isStillGranted(run, ready)))
    return run.record([run.journal.next('ended', ended(ready.call, lapsedMeanwhile))])
  engine.crash('tool.before_run')
  run.mayAct()
  const outcome = await run.until(makeInTime(engine.clock, ready, context))
  engine.crash('tool.after_run')
  await run.record([run.journal.next('ended', ended(ready.call, outcome))])
}

/** A call that only writes our rows ends in the commit that makes them. One that throws leaves no rows, and is told. */
async function finishInside(run: ActiveRun, ready: ReadyCall, context: CallContext): Promise<void> {
  const step = run.journal.next('ended', undefined)
  const isGuarded = ready.tool.effect === 'transactional' && ready.tool.guarded
  const locks = isGuarded ? (tx: Tx) => lockPlaces(tx, run.claimed.run) : undefined
  const write = async (tx: Tx) => {
    step.payload = ended(ready.call, await writeCall(ready, tx, context))
  }
  try {
    await run.record([step], write, locks)
  } catch (error) {
    if (error instanceof Stop || error instanceof StorageFailure) throw error
    step.payload = ended(ready.call, explained(error))
    await run.record([step])
  }
}

/** What an end before the work was done means for the run. */
async function stop(run: ActiveRun, error: unknown): Promise<Claimed | undefined> {
  // The worker gives the run back as soon as the database answers, and it goes on from its journal.
  if (error instanceof StorageFailure) throw error
  if (!(error instanceof Stop)) return settle(run, failed(run, error))
  switch (error.kind) {
    case 'fenced':
      takeBack(run)
      return undefined
    case 'drain':
      takeBack(run)
      return run.write('park', async (tx) => {
        await closeCalls(tx, run)
        await requeueRun(tx, run.claimed.run.id)
        tx.hint('runs')
        return undefined
      })
    case 'cancelled':
    case 'timeout':
      return settle(run, partial(run, error.kind, error.message))
  }
}

/** Somebody else has the run: whatever we would write is refused, and rightly. */
function ignoreFenced(error: unknown): undefined {
  if (!(error instanceof Stop && error.kind === 'fenced')) throw error
}

function failed(run: ActiveRun, error: unknown): Ending {
  const known = error instanceof HeddleError
  const message = error instanceof Error ? error.message : String(error)
  const remedy = known ? error.remedy : 'this is a bug: please report it with this message'
  const said = done(run)
  return {
    state: 'failed',
    text: [...said, `Failed: ${message}. ${remedy}`].join('\n\n'),
    error: { code: known ? error.code : 'bug', message, remedy },
    said: said.join('\n\n'),
  }
}

function partial(run: ActiveRun, state: 'cancelled' | 'timeout', reason: string): Ending {
  const said = done(run)
  return {
    state,
    text: [...said, `${outcomeWord[state]}: ${reason}`].join('\n\n'),
    error: { code: state, message: reason, remedy: `try again: heddle retry run:${run.claimed.run.id}` },
    said: said.join('\n\n'),
  }
}

/** A reply without calls is the answer; an empty one is a failure, not a result. */
function endingOf(run: ActiveRun, { reply }: Thought): Ending {
  if (reply.text.trim() !== '') return { state: 'completed', text: reply.text, error: null }
  const isChild = run.claimed.run.requesterSessionId !== null
  const message = isChild ? 'the agent ended without an answer' : 'the model answered nothing'
  const remedy = isChild ? 'try again with another brief or model' : 'ask again, or ask another model: -m NAME'
  return failed(run, new HeddleError('nothing_returned', message, remedy))
}

/** A turn that ends by waiting says what its last reply said. */
function resting({ journal }: ActiveRun): Ending {
  const said = journal.lastReply?.text.trim() ?? ''
  const names = journal.rest?.runIds?.map((id) => `run:${tail(id)}`)
  const waits = `Waiting for ${names?.join(', ') ?? 'what was started'}.`
  return { state: 'completed', text: said === '' ? waits : said, error: null }
}

/** What there is of an answer: nothing that was done or said is thrown away. */
function done({ journal, asked }: ActiveRun): string[] {
  const call = journal.lastCall
  const parts = [
    journal.lastReply?.text ?? '',
    call ? `(last tool call: ${call.name}, ${call.status})` : '',
    asked?.text.trim() ?? '',
  ]
  return parts.filter((part) => part !== '')
}

function ended({ id, name }: RequestedCall, { status, output, label, ...more }: ToolOutcome): EndedStep {
  return { id, name, status, output, ...(label && { label }), ...more }
}

/** Models that were raised on other programs call tools by the names they had there. */
function named(calls: RequestedCall[], tools: readonly string[]): RequestedCall[] {
  return calls.map((call) => (tools.includes(call.name) ? call : { ...call, name: toolNamed(call.name) ?? call.name }))
}

/** Providers repeat ids from reply to reply; in a run each call has its own. */
function withOwnIds(calls: RequestedCall[], taken: Set<string>): RequestedCall[] {
  return calls.map((call) => {
    const id = freeId(call.id, taken)
    taken.add(id)
    return { ...call, id }
  })
}
