import type { Millis } from '../domain/clock.ts'
import type { EventKind } from '../domain/event.ts'
import { wishesOf } from '../domain/inbox.ts'
import type { ThinkingConfig } from '../domain/message.ts'
import { type Delta, ModelFailure, type ModelReply } from '../domain/model.ts'
import type { Step } from '../domain/run.ts'
import { recordEvent } from '../store/events.ts'
import { bindItem, waitingItems } from '../store/inbox.ts'
import { noteTries, parkRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { acceptReply } from './accept-reply.ts'
import type { ActiveRun } from './active-run.ts'
import { AskedCall } from './asked-call.ts'
import { closeCalls, holdPool, reserve } from './budget.ts'
import { waitForBudget } from './budget-question.ts'
import type { SteerStep } from './journal.ts'
import { mostOutput, type Shown } from './model-request.ts'
import { bytesOf, mostUsage } from './weight.ts'

const firstPause: Millis = 1000
export const longestPause: Millis = 60_000
/** Nobody waits longer than this for a model when another can be asked. */
const longestWaitBeforeNext: Millis = 10_000

/** A reply that nobody has journalled yet, and the call it came from. */
export interface Thought {
  reply: ModelReply
  call: number
  /** Who was asked, as the owner names it. */
  by: string
}

/** Why there is no thought: the run waits, or another model is to be asked, which may have less room. */
export type NoThought = 'parked' | 'elsewhere'

/** Asks the model what to do next. A reply is nobody's until it is journalled; a failure that may pass parks the run. */
export async function think(run: ActiveRun): Promise<Thought | NoThought> {
  // What people say after a call was set aside with the claim is heard at the next step.
  const call = (await setAsideBefore(run)) ?? (await setAside(run, () => run.shown, 'hear'))
  if (call === 'parked') return call
  const { thinking } = wishesOf(run.claimed.items)
  return ask(run, call, run.shown, { isAside: false, ...(thinking && { thinking }) })
}

/** Asks the model something of the runtime's own, such as a summary, on the run's account. Nobody watches it come. */
export async function thinkAbout(run: ActiveRun, shown: Shown): Promise<Thought | NoThought> {
  const call = (await setAsideBefore(run)) ?? (await setAside(run, () => shown))
  return call === 'parked' ? call : ask(run, call, shown, { isAside: true })
}

async function ask(
  run: ActiveRun,
  call: number,
  shown: Shown,
  { isAside, thinking: asked }: { isAside: boolean; thinking?: ThinkingConfig },
): Promise<Thought | NoThought> {
  const { engine, claimed, model, signal } = run
  const id = `${claimed.run.id}/${claimed.run.epoch}/${call}`
  const answering = new AskedCall(call, model, shown, { isAside })
  const tell = ({ kind, text }: Delta) => {
    answering.hear({ kind, text })
    if (kind !== 'call' && !isAside) engine.live({ kind, text, runId: claimed.run.id, call })
  }
  engine.crash('model.before_request')
  run.mayAct()
  run.asked = answering
  try {
    // What this input asks for counts before the persona's habit.
    const thinking = asked ?? claimed.persona?.defaultModelConfig?.thinking
    const request = {
      id,
      ...shown,
      maxOutputTokens: mostOutput(engine, model, claimed.run),
      ...(thinking && { thinking }),
      signal,
    }
    const reply = acceptReply(await run.until(model.reply(request, tell)))
    engine.crash('model.after_reply')
    answering.reply = reply
    return { reply, call, by: model.name }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (!(error instanceof ModelFailure)) throw error
    answering.failure = error
    return afterFailure(run, answering, error)
  }
}

/** What was set aside with the claim needs no commit, only a look: the claim may be older than we know. */
async function setAsideBefore(run: ActiveRun): Promise<number | undefined> {
  const call = run.takeReserved()
  if (call !== undefined) await run.look()
  return call
}

/** Sets aside what the next call may cost, and takes in what people said meanwhile: one commit for both. */
async function setAside(run: ActiveRun, shown: () => Shown, hearing?: 'hear'): Promise<number | 'parked'> {
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
    return reserve(tx, engine, asked, mostUsage(bytes, mostOutput(engine, model, claimed.run), model))
  })
  if (heard) run.journal.add(heard)
  return refusal ? waitForBudget(run, refusal) : call
}

async function hear(tx: Tx, run: ActiveRun, before: Step | undefined): Promise<Step | undefined> {
  const waiting = await waitingItems(tx, run.claimed.session.id)
  const steering = waiting.filter(({ kind }) => kind === 'steer')
  if (steering.length === 0) return undefined
  const heard = before ?? run.journal.next('steer', undefined)
  heard.payload = {
    items: steering.map(({ id, content, parts }) => ({ id, content, ...(parts.length > 0 && { parts }) })),
  } satisfies SteerStep
  for (const item of steering) await bindItem(tx, item.id, run.claimed.run.id)
  await run.insert(tx, heard)
  return heard
}

/**
 * A failure that may pass is waited for, or somebody else is asked; what was said until then does not count. One that
 * will not pass ends the run with its remedy.
 */
async function afterFailure(run: ActiveRun, asked: AskedCall, failure: ModelFailure): Promise<NoThought> {
  const { engine, claimed, chain } = run
  const model = asked.model.name
  const tries = nextTries(run, failure)
  if (failure.retry === 'never' || tries >= chain.mostTries) throw failure
  takeBack(run)
  const next = chain.at(tries).name
  if (next !== model) {
    await run.write('step', async (tx) => {
      await closeCalls(tx, run)
      await noteTries(tx, claimed.run.id, tries)
      await tell(tx, run, 'run.fallback', { from: model, to: next, error: failure.code })
    })
    run.tries = tries
    run.asked = undefined
    return 'elsewhere'
  }
  const wakeAt = engine.clock.now() + pauseBefore(chain.own(tries), failure.retryAfter, claimed.claim.runId)
  await run.write('park', async (tx) => {
    await closeCalls(tx, run)
    await parkRun(tx, claimed.run.id, 'retry', wakeAt, tries)
    await tell(tx, run, 'run.waiting', { for: 'retry', until: wakeAt, error: failure.code })
    tx.hint('runs')
  })
  return 'parked'
}

/** What a call was heard to say is void: it will be made again. */
export function takeBack({ engine, claimed, asked }: ActiveRun): void {
  if (asked) engine.live({ kind: 'reset', runId: claimed.run.id, call: asked.call })
}

function nextTries({ chain, tries }: ActiveRun, { retry, retryAfter = 0 }: ModelFailure): number {
  const skipped = retry === 'later' && retryAfter > longestWaitBeforeNext ? chain.skip(tries) : undefined
  return skipped ?? tries + 1
}

function tell(tx: Tx, { engine, claimed }: ActiveRun, kind: EventKind, payload: Record<string, unknown>) {
  return recordEvent(tx, { at: engine.clock.now(), kind, subject: `run:${claimed.run.id}`, payload })
}

/** Longer after each failure, spread by the run so that many do not come back at once. */
function pauseBefore(tries: number, retryAfter: Millis | undefined, runId: string): Millis {
  if (retryAfter !== undefined) return Math.round(Math.min(retryAfter, longestPause))
  const spread = 0.5 + (Number.parseInt(Buffer.from(runId.slice(-2)).toString('hex'), 16) % 100) / 100
  // Moments are whole milliseconds: the rows refuse anything else.
  return Math.round(Math.min(firstPause * 2 ** (tries - 1) * spread, longestPause))
}
