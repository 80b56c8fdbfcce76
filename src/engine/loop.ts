import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { type Delta, ModelFailure, type ModelRequest, type RequestedCall } from '../domain/model.ts'
import type { Ending } from '../domain/run.ts'
import type { ToolOutcome } from '../domain/tool.ts'
import { noUsage } from '../domain/turn.ts'
import { recordEvent } from '../store/events.ts'
import { bindItem, waitingItems } from '../store/inbox.ts'
import { parkRun, requeueRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { loseUsage, settleUsage } from '../store/usage.ts'
import { makeCall, mayRepeat, prepareCall, type ReadyCall, writeCall } from '../tools/call.ts'
import { ActiveRun, Stop } from './active-run.ts'
import { reserve } from './budget.ts'
import type { Claimed } from './claim.ts'
import { type BegunStep, type EndedStep, unknownOutcome } from './journal.ts'
import { type LastReply, settle } from './settle.ts'
import type { Engine } from './world.ts'

const firstPause: Millis = 1000
const longestPause: Millis = 60_000

/**
 * Runs a claimed run until it ends, waits or is taken away. Everything it does is journalled before anything acts on
 * it, so that whoever claims the run next goes on where this one stopped.
 */
export async function runToTheEnd(engine: Engine, claimed: Claimed, signal: AbortSignal): Promise<void> {
  const run = await ActiveRun.open(engine, claimed, signal)
  try {
    await finishOpenCalls(run)
    for (;;) {
      const thought = await think(run)
      if (thought === 'parked') return
      if (thought.reply.calls.length === 0) {
        await settle(run, { state: 'completed', text: thought.reply.text, error: null }, thought)
        return
      }
      await act(run, thought)
    }
  } catch (error) {
    await stop(run, error).catch(ignoreFenced)
  }
}

/** Asks the model once. A reply is nobody's until it is journalled; a failure that may pass parks the run. */
async function think(run: ActiveRun): Promise<LastReply | 'parked'> {
  const { engine, claimed } = run
  run.signal.throwIfAborted()
  if (run.journal.replies >= engine.limits.maxSteps) throw tooManySteps(engine.limits.maxSteps)
  const model = engine.model(claimed.run.modelRequested)
  const call = run.nextCall()
  const usage = { runId: claimed.run.id, call, rootRunId: claimed.run.rootRunId, model: model.name }
  await hearAndReserve(run, (tx, request) => reserve(tx, engine, usage, mostUsage(request, model.price)))
  engine.crash('model.before_request')
  try {
    const tell = (delta: Delta) => engine.live({ ...delta, runId: claimed.run.id, call })
    const reply = await run.until(model.reply(requestFor(run, call), tell))
    engine.crash('model.after_reply')
    return { reply, call }
  } catch (error) {
    engine.live({ kind: 'reset', runId: claimed.run.id, call })
    if (run.signal.aborted) throw run.signal.reason
    if (!(error instanceof ModelFailure)) throw error
    return afterFailure(run, call, model.name, error)
  }
}

/** Takes what people said meanwhile into the run, and sets aside what the next call may cost: one commit for both. */
async function hearAndReserve(
  run: ActiveRun,
  reserve: (tx: Tx, request: ModelRequest) => Promise<void>,
): Promise<void> {
  const {
    session,
    run: { id },
  } = run.claimed
  let heard: ReturnType<typeof run.journal.next> | undefined
  await run.write('step', async (tx) => {
    const steering = (await waitingItems(tx, session.id)).filter(({ kind }) => kind === 'steer')
    if (steering.length > 0) {
      // A body that runs again may find more: the number stays, what was heard is told anew.
      heard ??= run.journal.next('steer', undefined)
      heard.payload = { items: steering.map(({ id, content }) => ({ id, content })) }
      for (const item of steering) await bindItem(tx, item.id, id)
      await run.insert(tx, heard)
    }
    await reserve(tx, requestFor(run, 0))
  })
  if (heard) run.journal.add(heard)
}

async function afterFailure(run: ActiveRun, call: number, model: string, failure: ModelFailure): Promise<'parked'> {
  const { engine, claimed } = run
  const tries = run.tries + 1
  const lost = { runId: claimed.run.id, call, model }
  if (failure.retry === 'never' || tries >= engine.limits.maxTries) {
    await run.write('step', (tx) => settleUsage(tx, lost, 'lost', failure.usage ?? noUsage))
    throw failure
  }
  const wakeAt = engine.clock.now() + pauseBefore(tries, failure.retryAfter, claimed.claim.runId)
  await run.write('park', async (tx) => {
    await settleUsage(tx, lost, 'lost', failure.usage ?? noUsage)
    await parkRun(tx, claimed.run.id, 'retry', wakeAt, tries)
    await recordEvent(tx, {
      at: engine.clock.now(),
      kind: 'run.waiting',
      subject: `run:${claimed.run.id}`,
      payload: { for: 'retry', until: wakeAt, error: failure.code },
    })
    tx.hint('runs')
  })
  return 'parked'
}

/** Journals a reply with all its calls in one commit, then makes them side by side. */
async function act(run: ActiveRun, { reply, call }: LastReply): Promise<void> {
  const { engine, claimed } = run
  const calls = withOwnIds(reply.calls, run.journal.callIds)
  const prepared = calls.map((each) => prepareCall(each, engine.tools, claimed.run.effectiveTools))
  const replyStep = run.journal.next('reply', {
    text: reply.text,
    calls,
    model: reply.model,
    ...(reply.metadata !== undefined && { metadata: reply.metadata }),
  })
  const begun = calls.map((each, at) => {
    const ready = prepared[at]
    return run.journal.next('begun', { ...each, effect: ready && 'tool' in ready ? ready.tool.effect : 'pure' })
  })
  const refused = prepared.flatMap((each, at) =>
    'refused' in each ? [run.journal.next('ended', ended(calls[at] as RequestedCall, each.refused))] : [],
  )
  await run.record([replyStep, ...begun, ...refused], (tx) =>
    settleUsage(tx, { runId: claimed.run.id, call, model: reply.model }, 'spent', reply.usage),
  )
  await finishCalls(
    run,
    prepared.filter((each) => 'tool' in each),
  )
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

async function finishCalls(run: ActiveRun, calls: ReadyCall[]): Promise<void> {
  const results = await Promise.allSettled(calls.map((call) => finishCall(run, call)))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

async function finishCall(run: ActiveRun, ready: ReadyCall): Promise<void> {
  const { engine, claimed, signal } = run
  signal.throwIfAborted()
  const context = { runId: claimed.run.id, callId: ready.call.id, signal }
  if (ready.tool.effect === 'transactional') {
    const step = run.journal.next('ended', undefined)
    await run.record([step], async (tx) => {
      step.payload = ended(ready.call, await writeCall(ready, tx, context))
    })
    return
  }
  engine.crash('tool.before_run')
  const outcome = await run.until(makeCall(ready, context))
  engine.crash('tool.after_run')
  await run.record([run.journal.next('ended', ended(ready.call, outcome))])
}

/** What an end before the work was done means for the run. */
async function stop(run: ActiveRun, error: unknown): Promise<void> {
  if (!(error instanceof Stop)) return void (await settle(run, failed(run, error)))
  switch (error.kind) {
    case 'fenced':
      return
    case 'drain':
      return run.write('park', async (tx) => {
        await loseUsage(tx, run.claimed.run.id)
        await requeueRun(tx, run.claimed.run.id)
        tx.hint('runs')
      })
    case 'cancelled':
    case 'timeout':
      await settle(run, partial(run, error.kind, error.message))
  }
}

/** Somebody else has the run: whatever we would write is refused, and rightly. */
function ignoreFenced(error: unknown): void {
  if (!(error instanceof Stop && error.kind === 'fenced')) throw error
}

function failed(run: ActiveRun, error: unknown): Ending {
  const known = error instanceof HeddleError
  const message = error instanceof Error ? error.message : String(error)
  const remedy = known ? error.remedy : 'this is a bug: please report it with this message'
  return {
    state: 'failed',
    text: [...done(run), `Failed: ${message}. ${remedy}`].join('\n\n'),
    error: { code: known ? error.code : 'bug', message, remedy },
  }
}

function partial(run: ActiveRun, state: 'cancelled' | 'timeout', reason: string): Ending {
  const heading = state === 'timeout' ? 'Timed out' : 'Cancelled'
  return {
    state,
    text: [...done(run), `${heading}: ${reason}`].join('\n\n'),
    error: { code: state, message: reason, remedy: `try again: heddle retry run:${run.claimed.run.id}` },
  }
}

/** What there is of an answer: nothing that was done is thrown away. */
function done({ journal }: ActiveRun): string[] {
  const text = journal.lastReply?.text ?? ''
  const call = journal.lastCall
  return [...(text === '' ? [] : [text]), ...(call ? [`(last tool call: ${call.name}, ${call.status})`] : [])]
}

function requestFor(run: ActiveRun, call: number): ModelRequest {
  const { engine, claimed, signal } = run
  return {
    id: `${claimed.run.id}/${claimed.run.epoch}/${call}`,
    system: engine.systemPrompt,
    messages: [...run.context, ...run.journal.messages],
    tools: claimed.run.effectiveTools.flatMap((name) => {
      const tool = engine.tools.get(name)
      return tool ? [{ name, description: tool.description, inputSchema: tool.inputSchema }] : []
    }),
    maxOutputTokens: engine.limits.maxOutputTokens,
    signal,
  }
}

function mostUsage(request: ModelRequest, price: { input: number; output: number }) {
  const characters = request.system.length + JSON.stringify(request.messages).length
  const inputTokens = Math.ceil(characters / 3)
  const outputTokens = request.maxOutputTokens
  const costUsd = (inputTokens * price.input + outputTokens * price.output) / 1_000_000
  return { inputTokens, outputTokens, cachedTokens: 0, costUsd }
}

function ended({ id, name }: RequestedCall, { status, output }: ToolOutcome): EndedStep {
  return { id, name, status, output }
}

/** Providers repeat ids from reply to reply; in a run each call has its own. */
function withOwnIds(calls: RequestedCall[], taken: Set<string>): RequestedCall[] {
  return calls.map((call) => {
    let id = call.id
    for (let number = 2; taken.has(id); number++) id = `${call.id}-${number}`
    taken.add(id)
    return { ...call, id }
  })
}

/** Longer after each failure, spread by the run so that many do not come back at once. */
function pauseBefore(tries: number, retryAfter: Millis | undefined, runId: string): Millis {
  if (retryAfter !== undefined) return Math.round(Math.min(retryAfter, longestPause))
  const spread = 0.5 + (Number.parseInt(Buffer.from(runId.slice(-2)).toString('hex'), 16) % 100) / 100
  // Moments are whole milliseconds: the rows refuse anything else.
  return Math.round(Math.min(firstPause * 2 ** (tries - 1) * spread, longestPause))
}

function tooManySteps(most: number): HeddleError {
  return new HeddleError(
    'too_many_steps',
    `the run made ${most} model calls without an answer`,
    'ask for less at once, or raise budgets.perRequest.steps',
  )
}
