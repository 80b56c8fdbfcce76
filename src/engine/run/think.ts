import type { Millis } from '../../domain/clock.ts'
import type { EventKind } from '../../domain/event.ts'
import type { InboxItem } from '../../domain/inbox.ts'
import { type Delta, ModelFailure, recordedName } from '../../domain/model.ts'
import type { Step } from '../../domain/run.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { bindItem, waitingItems } from '../../store/rows/inbox.ts'
import { parkRun } from '../../store/rows/released-runs.ts'
import { countRetrying } from '../../store/rows/requests.ts'
import { markAttended, setTries } from '../../store/rows/runs.ts'
import { settleUsage } from '../../store/rows/usage.ts'
import type { Tx } from '../../store/store.ts'
import { acceptReply, type ReceivedReply } from '../model/accept-reply.ts'
import { InFlightCall } from '../model/in-flight-call.ts'
import { type ModelInput, maxOutput } from '../model/model-request.ts'
import { maxUsage, requestBytes } from '../model/weight.ts'
import type { ActiveRun } from './active-run.ts'
import { waitForBudget } from './approvals/budget-question.ts'
import { closeCalls, lockPool, reserve } from './budget.ts'
import type { SteerStep } from './context/journal.ts'
import { isStillAllowed } from './sender.ts'

const minPause: Millis = 1000
export const maxPause: Millis = 60_000
/** With a fallback configured, a run never waits longer than this for its first model. */
const maxWaitBeforeFallback: Millis = 10_000

/** Why there is no reply: the run is parked, or the fallback model is next, whose window may be smaller. */
export type NoReply = 'parked' | 'fallback'

/** Asks the model what to do next. A reply counts once it is journalled; a transient failure parks the run. */
export async function think(run: ActiveRun): Promise<ReceivedReply | NoReply> {
  // A call that was reserved with the claim skips steering; it is picked up at the next step.
  const call = (await takeReservation(run)) ?? (await reserveBudget(run, () => run.modelInput, 'steer'))
  if (call === 'parked') return call
  return requestReply(run, call, run.modelInput, { isAside: false })
}

/** Asks the model on behalf of the runtime, e.g. for a summary, and charges the run. It is not streamed to clients. */
export async function askForRuntime(run: ActiveRun, input: ModelInput): Promise<ReceivedReply | NoReply> {
  const call = (await takeReservation(run)) ?? (await reserveBudget(run, () => input))
  return call === 'parked' ? call : requestReply(run, call, input, { isAside: true })
}

async function requestReply(
  run: ActiveRun,
  call: number,
  input: ModelInput,
  { isAside }: { isAside: boolean },
): Promise<ReceivedReply | NoReply> {
  const { engine, claimed, model, signal } = run
  const id = `${claimed.run.id}/${claimed.run.epoch}/${call}`
  const modelCall = new InFlightCall(call, model, input, { isAside })
  const onDelta = ({ kind, text }: Delta) => {
    modelCall.addDelta({ kind, text })
    if (kind !== 'call' && !isAside) engine.live({ kind, text, runId: claimed.run.id, call })
  }
  engine.crash('model.before_request')
  run.assertLease()
  run.modelCall = modelCall
  try {
    // Summaries ignore the run's max tokens and temperature.
    const settings = isAside ? {} : run.settings
    if (!isAside) run.sent = settings
    const { maxTokens: _, ...more } = settings
    const request = {
      id,
      ...input,
      maxOutputTokens: maxOutput(engine, run.window, claimed.run, settings),
      ...more,
      signal,
    }
    const begun = engine.clock.monotonic()
    const replying = model.reply(request, onDelta).finally(() => {
      engine.observeCall?.(model.name, engine.clock.monotonic() - begun)
    })
    const received = acceptReply(await run.abortable(replying))
    engine.crash('model.after_reply')
    const reply = modelCall.complete(received)
    if (claimed.run.crashes > 0) await noteReply(run, modelCall)
    return { reply, call, by: model.name }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (!(error instanceof ModelFailure)) throw error
    modelCall.failure = error
    return afterFailure(run, modelCall, error)
  }
}

/**
 * For a run that crashed a process before: settles the usage as soon as the reply arrives, so that after another crash
 * recovery can tell waiting for a model (not the run's fault) from handling its reply.
 */
async function noteReply(run: ActiveRun, { call, answeredBy, cost }: InFlightCall): Promise<void> {
  if (cost)
    await run.write('step', (tx) => settleUsage(tx, { runId: run.claimed.run.id, call, model: answeredBy }, cost))
}

/** A reservation made with the claim needs no commit, only a check that the run is still ours. */
async function takeReservation(run: ActiveRun): Promise<number | undefined> {
  const call = run.takeReserved()
  if (call !== undefined) await run.assertOwned()
  return call
}

/** Reserves the next call's budget and takes in steering messages, in one commit. */
async function reserveBudget(run: ActiveRun, input: () => ModelInput, steering?: 'steer'): Promise<number | 'parked'> {
  const { engine, claimed, signal } = run
  signal.throwIfAborted()
  const { model } = run
  const settings = steering ? run.settings : {}
  const call = run.nextCall()
  const { id: runId, rootRunId, principal } = claimed.run
  const reservation = { runId, call, rootRunId, model: recordedName(model), principal }
  let steerStep: Step | undefined
  const refusal = await run.commit('step', async (tx) => {
    await lockPool(tx, claimed.run)
    await run.fence(tx)
    // A retried transaction may find more messages: it keeps the step's number and replaces its payload.
    if (steering) steerStep = await takeSteering(tx, run, steerStep)
    const bytes = requestBytes(input()) + (steerStep ? Buffer.byteLength(JSON.stringify(steerStep.payload)) : 0)
    return reserve(
      tx,
      engine,
      reservation,
      maxUsage(bytes, maxOutput(engine, run.window, claimed.run, settings), model),
    )
  })
  if (steerStep) run.journal.add(steerStep)
  if (refusal === 'in use') return waitForOthers(run)
  return refusal ? waitForBudget(run, refusal) : call
}

/** Most calls under way cost less than they reserved, so a call that does not fit now may fit when they have ended. */
async function waitForOthers(run: ActiveRun): Promise<'parked'> {
  const { engine, claimed, tries } = run
  await run.park(async (tx) => {
    // A woken run may have to park again, so the pause grows with the number of runs that wait.
    const before = await countRetrying(tx, claimed.run.rootRunId)
    const pause = Math.min(minPause * (1 + Math.floor(before / engine.limits.lanes[run.claimed.run.lane])), maxPause)
    return park(tx, run, { pause, tries, error: 'budget_in_use' })
  })
  return 'parked'
}

async function takeSteering(tx: Tx, run: ActiveRun, before: Step | undefined): Promise<Step | undefined> {
  const waiting = await waitingItems(tx, run.claimed.session.id)
  const steering = await allowedSteering(
    tx,
    run,
    waiting.filter(({ kind }) => kind === 'steer'),
  )
  if (steering.length === 0) return undefined
  const steerStep = before ?? run.journal.next('steer', undefined)
  steerStep.payload = {
    items: steering.map(({ id, content, parts, label, source }) => ({
      id,
      content,
      ...(parts.length > 0 && { parts }),
      label,
      source,
    })),
  } satisfies SteerStep
  for (const item of steering) bindItem(tx, item.id, run.claimed.run.id)
  // The user who steers watches, and can be asked from now on.
  if (steering.some(({ options }) => options.attended)) await markAttended(tx, run.claimed.run)
  run.insert(tx, [steerStep])
  return steerStep
}

/** Steering of senders with the right to this run: it may have been accepted while another run was under way. */
async function allowedSteering(tx: Tx, { claimed }: ActiveRun, items: InboxItem[]): Promise<InboxItem[]> {
  const checks = items.map((item) => isStillAllowed(tx, item.principal, 'run.steer', claimed.run))
  const allowed = await Promise.all(checks)
  return items.filter((_, index) => allowed[index])
}

/**
 * A transient failure parks the run or moves on to the fallback; partial output is discarded. A permanent one ends the
 * run with its remedy.
 */
async function afterFailure(run: ActiveRun, modelCall: InFlightCall, failure: ModelFailure): Promise<NoReply> {
  const { claimed, chain } = run
  const model = modelCall.model.name
  const tries = nextTries(run, failure)
  if (failure.retry === 'never' || tries >= chain.maxTries) throw failure
  retractDeltas(run)
  const next = chain.at(tries).name
  if (next !== model) {
    await run.write('step', async (tx) => {
      await closeCalls(tx, run)
      await setTries(tx, claimed.run.id, tries)
      await emitRunEvent(tx, run, 'run.fallback', { from: model, to: next, error: failure.code })
    })
    run.tries = tries
    run.modelCall = undefined
    return 'fallback'
  }
  const pause = pauseBefore(chain.triesOfModel(tries), failure.retryAfter, claimed.claim.runId)
  await run.park(async (tx) => {
    await closeCalls(tx, run)
    return park(tx, run, { pause, tries, error: failure.code })
  })
  return 'parked'
}

/** Parks a run; it is retried after the pause. */
async function park(tx: Tx, run: ActiveRun, why: { pause: Millis; tries: number; error: string }): Promise<true> {
  const until = run.engine.clock.now() + why.pause
  await parkRun(tx, run.claimed.run.id, { waitingFor: 'retry', wakeAt: until, tries: why.tries })
  await emitRunEvent(tx, run, 'run.waiting', { for: 'retry', until, error: why.error })
  tx.hint('runs')
  return true
}

/** Tells clients to discard what was streamed: the call will be made again. */
export function retractDeltas({ engine, claimed, modelCall }: ActiveRun): void {
  if (modelCall) engine.live({ kind: 'reset', runId: claimed.run.id, call: modelCall.call })
}

function nextTries({ chain, tries }: ActiveRun, { retry, retryAfter = 0 }: ModelFailure): number {
  const skipped = retry === 'later' && retryAfter > maxWaitBeforeFallback ? chain.triesAtNext(tries) : undefined
  return skipped ?? tries + 1
}

function emitRunEvent(tx: Tx, { engine, claimed }: ActiveRun, kind: EventKind, payload: Record<string, unknown>) {
  return recordEvent(tx, {
    at: engine.clock.now(),
    kind,
    subject: `run:${claimed.run.id}`,
    payload,
    scope: claimed.run,
  })
}

/** Exponential backoff, with a jitter derived from the run id so that runs do not retry all at once. */
function pauseBefore(tries: number, retryAfter: Millis | undefined, runId: string): Millis {
  if (retryAfter !== undefined) return Math.round(Math.min(retryAfter, maxPause))
  const jitter = 0.5 + (Number.parseInt(Buffer.from(runId.slice(-2)).toString('hex'), 16) % 100) / 100
  // The database stores whole milliseconds only.
  return Math.round(Math.min(minPause * 2 ** (tries - 1) * jitter, maxPause))
}
