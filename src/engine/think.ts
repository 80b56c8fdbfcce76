import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { wishesOf } from '../domain/inbox.ts'
import type { ThinkingConfig } from '../domain/message.ts'
import { type Delta, ModelFailure, type ModelReply } from '../domain/model.ts'
import type { Step } from '../domain/run.ts'
import { noUsage } from '../domain/turn.ts'
import { recordEvent } from '../store/events.ts'
import { bindItem, waitingItems } from '../store/inbox.ts'
import { parkRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { settleUsage } from '../store/usage.ts'
import type { ActiveRun } from './active-run.ts'
import { holdPool, reserve } from './budget.ts'
import type { SteerStep } from './journal.ts'
import { mostOutput, type Shown } from './model-request.ts'
import { bytesOf, mostUsage } from './weight.ts'

const firstPause: Millis = 1000
const longestPause: Millis = 60_000

/** A reply that nobody has journalled yet, and the call it came from. */
export interface Thought {
  reply: ModelReply
  call: number
}

/** Asks the model what to do next. A reply is nobody's until it is journalled; a failure that may pass parks the run. */
export async function think(run: ActiveRun): Promise<Thought | 'parked'> {
  const { maxSteps } = run.engine.limits
  if (run.journal.replies >= maxSteps) throw tooManySteps(maxSteps)
  // What was set aside with the claim needs no commit; what people say from then on is heard at the next step.
  const call = run.takeReserved() ?? (await setAside(run, () => run.shown, 'hear'))
  return ask(run, call, run.shown, wishesOf(run.claimed.items).thinking)
}

/** Asks the model something of the runtime's own, such as a summary, on the run's account. */
export async function thinkAbout(run: ActiveRun, shown: Shown): Promise<Thought | 'parked'> {
  return ask(run, run.takeReserved() ?? (await setAside(run, () => shown)), shown)
}

async function ask(run: ActiveRun, call: number, shown: Shown, thinking?: ThinkingConfig): Promise<Thought | 'parked'> {
  const { engine, claimed, model, signal } = run
  const id = `${claimed.run.id}/${claimed.run.epoch}/${call}`
  const tell = (delta: Delta) => engine.live({ ...delta, runId: claimed.run.id, call })
  engine.crash('model.before_request')
  run.mayAct()
  try {
    const maxOutputTokens = mostOutput(engine, model)
    const request = { id, ...shown, maxOutputTokens, ...(thinking && { thinking }), signal }
    const reply = await run.until(model.reply(request, tell))
    engine.crash('model.after_reply')
    return { reply, call }
  } catch (error) {
    engine.live({ kind: 'reset', runId: claimed.run.id, call })
    if (signal.aborted) throw signal.reason
    if (!(error instanceof ModelFailure)) throw error
    return afterFailure(run, call, model.name, error)
  }
}

/** Sets aside what the next call may cost, and takes in what people said meanwhile: one commit for both. */
async function setAside(run: ActiveRun, shown: () => Shown, hearing?: 'hear'): Promise<number> {
  const { engine, claimed, signal } = run
  signal.throwIfAborted()
  const { model } = run
  const call = run.nextCall()
  const asked = { runId: claimed.run.id, call, rootRunId: claimed.run.rootRunId, model: model.name }
  let heard: Step | undefined
  const refusal = await engine.store.write('step', async (tx) => {
    await holdPool(tx, claimed.run)
    await run.hold(tx)
    // A body that runs again may find more: the number stays, what was heard is told anew.
    if (hearing) heard = await hear(tx, run, heard)
    const bytes = bytesOf(shown()) + (heard ? Buffer.byteLength(JSON.stringify(heard.payload)) : 0)
    return reserve(tx, engine, asked, mostUsage(bytes, mostOutput(engine, model), model.price))
  })
  if (heard) run.journal.add(heard)
  if (refusal) throw refusal
  return call
}

async function hear(tx: Tx, run: ActiveRun, before: Step | undefined): Promise<Step | undefined> {
  const waiting = await waitingItems(tx, run.claimed.session.id)
  const steering = waiting.filter(({ kind }) => kind === 'steer')
  if (steering.length === 0) return undefined
  const heard = before ?? run.journal.next('steer', undefined)
  heard.payload = { items: steering.map(({ id, content }) => ({ id, content })) } satisfies SteerStep
  for (const item of steering) await bindItem(tx, item.id, run.claimed.run.id)
  await run.insert(tx, heard)
  return heard
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
