import { HeddleError, StorageFailure, withRemedy } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import type { RequestedCall } from '../../domain/model.ts'
import { type Ending, outcomeWord, type Step } from '../../domain/run.ts'
import type { ToolOutcome } from '../../domain/tools/tool.ts'
import { canonicalToolName } from '../../domain/tools/tool-names.ts'
import { dropBaseline } from '../../store/rows/approvals.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { requeueRun } from '../../store/rows/released-runs.ts'
import { advanceRun } from '../../store/rows/runs.ts'
import { settleUsage } from '../../store/rows/usage.ts'
import type { Tx } from '../../store/store.ts'
import { mayRepeat, prepareCall, type ReadyCall } from '../../tools/call.ts'
import type { ReceivedReply } from '../model/accept-reply.ts'
import { freeId } from '../model/model-messages.ts'
import type { Engine } from '../runtime.ts'
import { ActiveRun, Stop } from './active-run.ts'
import { grantLapsed, publishWait, readAnswers, storeQuestion, waitForAnswers } from './approvals/await-approval.ts'
import { dependsOnFolder } from './approvals/frozen-call.ts'
import { limitRedirects } from './approvals/sinks.ts'
import { isStillGranted, type RefusedCall, triageCalls } from './approvals/triage-calls.ts'
import { closeCalls } from './budget.ts'
import { callWithTimeout, loopingReason, runConcurrently, stoppedOutcome } from './calls/tool-execution.ts'
import { endedStep, finishTransactional } from './calls/transactional-calls.ts'
import type { ClaimedRun, QueueAfterRun, WorkerHandle } from './claimed-run.ts'
import { compactIfFull } from './context/compact.ts'
import { type BegunStep, unknownOutcome } from './context/journal.ts'
import { settle } from './settle.ts'
import { retractDeltas, think } from './think.ts'

/**
 * Executes a claimed run until it ends, parks or is taken over. Every step is journalled before it takes effect, so that
 * the next worker to claim the run continues where this one stopped. Returns what its end leads to, if it ended here.
 */
export async function executeRun(
  engine: Engine,
  claimed: ClaimedRun,
  pool: WorkerHandle,
): Promise<QueueAfterRun | undefined> {
  const run = await ActiveRun.open(engine, claimed, pool)
  try {
    run.assertAgentExists()
    await finishOpenCalls(run)
    if ((await finishPendingCalls(run)) === 'parked') return undefined
    for (;;) {
      if (run.journal.turnEnd) return await settle(run, waitingEnding(run))
      // The fallback's window may be smaller than that of the model that failed.
      const received = (await compactIfFull(run)) ?? (await think(run))
      if (received === 'parked') return undefined
      if (received === 'fallback') continue
      if (received.reply.calls.length === 0) {
        if (await engine.moments.beforeAnswer(run, received)) continue
        return await settle(run, endingOf(run, received), received)
      }
      const acted = await act(run, received)
      if (acted) return acted === 'parked' ? undefined : acted
    }
  } catch (error) {
    return stop(run, error).catch(ignoreFenced)
  }
}

/**
 * Journals a reply with all its calls in one commit, then makes the allowed calls concurrently. Calls that need approval
 * come last: the run may have to park for them.
 */
async function act(run: ActiveRun, { reply, call, by }: ReceivedReply): Promise<'parked' | QueueAfterRun | undefined> {
  const calls = withUniqueIds(resolveToolNames(reply.calls, run.claimed.run.effectiveTools), run.journal.callIds)
  const { allowed, questions, refused } = await triageCalls(run, calls)
  const replyStep = run.journal.next('reply', {
    text: reply.text,
    calls,
    model: reply.model,
    by,
    ...(reply.metadata !== undefined && { metadata: reply.metadata }),
  })
  const looping = loopingReason(run, refused)
  const isFirstRefusal = run.journal.spawns.refused === 0 && refused.some(({ outcome }) => outcome.overLimit)
  const steps = [replyStep, ...beginCalls(run, calls, allowed, refused)]
  const mustWait = questions.length > 0 && allowed.length === 0 && looping === undefined
  const parked = await run.commit('step', async (tx) => {
    // Nothing is left to do but to wait, unless a cancel was requested.
    const parked = mustWait ? await run.tryPark(tx) : undefined
    if (!parked) await run.fence(tx, advanceRun)
    await settleUsage(tx, { runId: run.claimed.run.id, call, model: reply.model }, reply.usage)
    const asked: number[] = []
    for (const question of questions) asked.push(await storeQuestion(tx, run, question))
    if (isFirstRefusal) await emitLimit(tx, run)
    await run.recordNotes(tx)
    run.insert(tx, steps)
    if (parked) await publishWait(tx, run, { approvals: asked, ...parked })
    return parked
  })
  run.addSteps(steps)
  run.noteCost(reply.usage)
  if (parked) return { next: undefined, isQueueEmpty: !parked.isAnyQueued }
  if (looping !== undefined)
    throw new HeddleError('looping', looping, 'ask in other words, or ask another model: -m NAME')
  await finishCalls(run, allowed)
  return finishPendingCalls(run)
}

/** Tells clients what the model is told: it may start no more agents in this turn. */
function emitLimit(tx: Tx, { engine, claimed }: ActiveRun): Promise<void> {
  const why = `it has started ${engine.limits.maxSpawnsPerTurn} agents in this turn and may start no more`
  return recordEvent(tx, {
    at: engine.clock.now(),
    kind: 'run.limited',
    subject: `run:${claimed.run.id}`,
    payload: { why, setting: 'tools.subagents.maxPerTurn' },
    scope: claimed.run,
  })
}

/** Makes the approved calls and journals the denied ones; parks the run while questions are open. */
async function finishPendingCalls(run: ActiveRun): Promise<'parked' | undefined> {
  while (run.journal.pendingCalls.length > 0) {
    const { approved, refused, askedAgain } = await readAnswers(run)
    if (approved.length + refused.length === 0) {
      if (askedAgain === 0 && (await waitForAnswers(run))) return 'parked'
      continue
    }
    await run.record(beginCalls(run, run.journal.pendingCalls, approved, refused), async (tx) => {
      const decided = [...approved.filter(dependsOnFolder), ...refused].map(({ call }) => call.id)
      for (const callId of decided) await dropBaseline(tx, { runId: run.claimed.run.id, callId })
    })
    await finishCalls(run, approved)
  }
  return undefined
}

/** Steps that begin calls, in the order of the reply; a refused call is ended at once. */
function beginCalls(run: ActiveRun, calls: RequestedCall[], allowed: ReadyCall[], refused: RefusedCall[]): Step[] {
  const [ready, outcomes] = [
    new Map(allowed.map((each) => [each.call.id, each])),
    new Map(refused.map((each) => [each.call.id, each.outcome])),
  ]
  return calls.flatMap((call) => {
    const tool = ready.get(call.id)?.tool
    if (tool) return [run.journal.next('begun', { ...call, effect: tool.effect })]
    const outcome = outcomes.get(call.id)
    if (!outcome) return []
    return [run.journal.next('begun', { ...call, effect: 'pure' }), run.journal.next('ended', endedStep(call, outcome))]
  })
}

/** After a crash: repeats the open calls that are safe to repeat, and journals the others as unknown outcomes. */
async function finishOpenCalls(run: ActiveRun): Promise<void> {
  const { engine, claimed } = run
  const unknown: BegunStep[] = []
  const repeatable: ReadyCall[] = []
  for (const call of run.journal.openCalls) {
    const prepared = prepareCall(call, engine.tools, claimed.run.effectiveTools)
    if ('tool' in prepared && mayRepeat(call.effect)) repeatable.push(await limitRedirects(run, prepared))
    else unknown.push(call)
  }
  const steps = unknown.map((call) =>
    run.journal.next('ended', endedStep(call, { status: 'unknown', output: unknownOutcome })),
  )
  if (steps.length > 0) await run.record(steps)
  await finishCalls(run, repeatable)
}

async function finishCalls(run: ActiveRun, calls: ReadyCall[]): Promise<void> {
  let open = calls.length
  const end: EndCall = async ({ tool }, step, record) => {
    // Only once the ends of all others are stored: nothing else may write for the run while a step is held. What a call has done
    // is known after a crash only if its end is stored at once; a pure one has done nothing.
    if (open === 1 && tool.effect === 'pure' && !record && run.journal.pendingCalls.length === 0) return run.hold(step)
    await run.record([step], record)
    open--
  }
  await runConcurrently(calls, {
    one: (call) => finishCall(run, call, end),
    transactional: (group) => finishTransactional(run, group),
  })
}

/** Stores the end of a call, with whatever else belongs to it. */
type EndCall = (ready: ReadyCall, step: Step, record?: (tx: Tx) => Promise<void>) => Promise<void>

async function finishCall(run: ActiveRun, ready: ReadyCall, end: EndCall): Promise<void> {
  const { engine, signal } = run
  signal.throwIfAborted()
  const context = { ...run.contextOf(ready.call.id), change: engine.moments.changeFiles(run, ready.call.id) }
  if (!(await isStillGranted(run, ready)))
    return end(ready, run.journal.next('ended', endedStep(ready.call, grantLapsed)))
  const labelOutcome = await engine.moments.watchFiles(run, ready)
  engine.crash('tool.before_run')
  run.assertLease()
  const store = async (made: ToolOutcome) => {
    engine.crash('tool.after_run')
    const { outcome, record } = await labelOutcome(made)
    await end(ready, run.journal.next('ended', endedStep(ready.call, outcome)), record)
  }
  const making = callWithTimeout(engine.clock, ready, context)
  const made = await run.abortable(making).catch(async (error) => {
    const left = isEnding(error) ? await stoppedOutcome(engine.clock, ready, making) : undefined
    if (left) await store(left)
    throw error
  })
  await store(made)
}

/** Whether an error ends the run here; after the others another process continues it. */
function isEnding(error: unknown): boolean {
  return error instanceof Stop && (error.kind === 'cancelled' || error.kind === 'timeout')
}

/** Ends, requeues or leaves a run whose loop was interrupted by this error. */
async function stop(run: ActiveRun, error: unknown): Promise<QueueAfterRun | undefined> {
  // The worker releases the run once the database answers; the run then continues from its journal.
  if (error instanceof StorageFailure) throw error
  if (!(error instanceof Stop)) return settle(run, failedEnding(run, error))
  switch (error.kind) {
    case 'fenced':
      retractDeltas(run)
      return undefined
    case 'drain':
      retractDeltas(run)
      return run.write('park', async (tx) => {
        await closeCalls(tx, run)
        await requeueRun(tx, run.claimed.run.id)
        tx.hint('runs')
        return undefined
      })
    case 'cancelled':
    case 'timeout':
      return settle(run, stoppedEnding(run, error.kind, error.message))
  }
}

/** Another worker owns the run now; our writes are refused, as they should be. */
function ignoreFenced(error: unknown): undefined {
  if (!(error instanceof Stop && error.kind === 'fenced')) throw error
}

function failedEnding(run: ActiveRun, error: unknown): Ending {
  const isExpected = error instanceof HeddleError
  const message = error instanceof Error ? error.message : String(error)
  const remedy = isExpected ? error.remedy : 'this is a bug: please report it with this message'
  const answer = partialAnswer(run)
  return {
    state: 'failed',
    text: [...answer, `Failed: ${withRemedy({ message, remedy })}`].join('\n\n'),
    error: { code: isExpected ? error.code : 'bug', message, remedy },
    said: answer.join('\n\n'),
  }
}

function stoppedEnding(run: ActiveRun, state: 'cancelled' | 'timeout', reason: string): Ending {
  const answer = partialAnswer(run)
  return {
    state,
    text: [...answer, `${outcomeWord[state]}: ${reason}`].join('\n\n'),
    error: { code: state, message: reason, remedy: `try again: heddle retry run:${run.claimed.run.id}` },
    said: answer.join('\n\n'),
  }
}

/** Why a reply is incomplete. Its tool calls are not made. */
const cutOff = {
  length: "cut off at the model's limit of output; no tool call in it was made",
  refused: "cut off by the provider's content filter; no tool call in it was made",
}

/** A reply without calls is the answer, marked if it was cut off. An empty reply is a failure. */
function endingOf(run: ActiveRun, { reply }: ReceivedReply): Ending {
  const why = reply.finish === 'length' || reply.finish === 'refused' ? cutOff[reply.finish] : undefined
  if (reply.text.trim() !== '')
    return { state: 'completed', text: why === undefined ? reply.text : `[heddle: ${why}] ${reply.text}`, error: null }
  if (why !== undefined)
    return failedEnding(
      run,
      new HeddleError('reply_cut', `the reply was empty: ${why}`, 'ask for less, or in other words'),
    )
  const isChild = run.claimed.run.requesterSessionId !== null
  const message = isChild ? 'the agent ended without an answer' : 'the model answered nothing'
  const remedy = isChild ? 'try again with another brief or model' : 'ask again, or ask another model: -m NAME'
  return failedEnding(run, new HeddleError('nothing_returned', message, remedy))
}

/** A turn that ends by waiting for children answers with the text of its last reply. */
function waitingEnding({ journal }: ActiveRun): Ending {
  const text = journal.lastReply?.text.trim() ?? ''
  const names = journal.turnEnd?.runIds?.map((id) => `run:${shortId(id)}`)
  const waits = `Waiting for ${names?.join(', ') ?? 'what was started'}.`
  return { state: 'completed', text: text === '' ? waits : text, error: null }
}

/** The text and the last call of an unfinished run, so that no output is lost. */
function partialAnswer({ journal, modelCall }: ActiveRun): string[] {
  const call = journal.lastCall
  const parts = [
    journal.lastReply?.text ?? '',
    call ? `(last tool call: ${call.name}, ${call.status})` : '',
    modelCall?.text.trim() ?? '',
  ]
  return parts.filter((part) => part !== '')
}

/** Models trained on other programs use their tool names; maps those to ours. */
function resolveToolNames(calls: RequestedCall[], tools: readonly string[]): RequestedCall[] {
  return calls.map((call) =>
    tools.includes(call.name) ? call : { ...call, name: canonicalToolName(call.name) ?? call.name },
  )
}

/** Providers reuse call ids across replies; within a run each call needs its own. */
function withUniqueIds(calls: RequestedCall[], taken: Set<string>): RequestedCall[] {
  return calls.map((call) => {
    const id = freeId(call.id, taken)
    taken.add(id)
    return { ...call, id }
  })
}
