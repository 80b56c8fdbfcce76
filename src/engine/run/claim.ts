import type { InboxItem } from '../../domain/inbox.ts'
import { type Model, recordedName } from '../../domain/model.ts'
import { type Run, setRunOptions } from '../../domain/run.ts'
import { mergeRunOptions } from '../../domain/run-options.ts'
import type { Session } from '../../domain/session.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { bindItems, itemsOfRun, unbindItems } from '../../store/rows/inbox.ts'
import { type ClaimView, takeClaimLock, tryClaimLock, viewOfClaimant } from '../../store/rows/queue.ts'
import { assignRun, findRun, relockFreeRuns, relockRun } from '../../store/rows/runs.ts'
import { lockFreeSessions, lockSession } from '../../store/rows/sessions.ts'
import { findThread } from '../../store/rows/threads.ts'
import { promptText } from '../../store/rows/turns.ts'
import type { Tx } from '../../store/store.ts'
import { windowOf } from '../model/choose-model.ts'
import { maxOutput, settingsFor } from '../model/model-request.ts'
import { bytesOfTools, maxUsage } from '../model/weight.ts'
import type { Engine } from '../runtime.ts'
import { decideActor, readActor, readChildActor, type StoredActor } from './actor.ts'
import { reserve, type SpentBefore, tryLockPool } from './budget.ts'
import type { CallingRun } from './calls/calling-run.ts'
import type { Actor, Claimant, ClaimedRun } from './claimed-run.ts'
import { contextBytes } from './context/context.ts'
import { freeSlots } from './lanes.ts'
import { nextRuns } from './queue-order.ts'

/**
 * Claims the next runs (`nextRuns`) in one transaction: as many as slots are free, but at most this worker's share of all
 * slots, so that the others get theirs. None if no run is claimable or no slot is free.
 */
export async function claimRuns(engine: Engine, claimant: Claimant, max: number): Promise<ClaimedRun[]> {
  const { store, limits } = engine
  for (;;) {
    const claimed = await store.write('claim', async (tx) => {
      const [, view] = await Promise.all([takeClaimLock(tx), viewOfClaimant(tx, claimant.workerId)])
      // A worker that was declared dead and has not noticed must not claim: no heartbeat covers it.
      if (!view || view.queued === 0) return []
      const share = Math.max(1, Math.ceil(limits.maxRunning / view.owners))
      const { running } = view
      const chosen = await nextRuns(tx, {
        ...{ limits, running, sessionId: claimant.sessionId },
        max: Math.min(max, share),
      })
      if (chosen.length === 0) return []
      const held = await holdRuns(tx, chosen)
      return held.length === 0 ? 'gone' : claimHeld(tx, engine, held, claimant)
    })
    // Cancelled between read and lock: choose again.
    if (claimed !== 'gone') return claimed
  }
}

/**
 * Claims the next run in a transaction that holds its session already, so that submitting or settling and the claim of
 * the resulting run share a commit. Does not wait for the claim lock: the process that holds it will find the run.
 */
export async function claimAtOnce(
  tx: Tx,
  engine: Engine,
  claimant: Claimant,
  { sessions, queued, ready }: HeldRows,
): Promise<ClaimedRun | undefined> {
  const [isLocked, view] = await Promise.all([tryClaimLock(tx), viewOfClaimant(tx, claimant.workerId)])
  const isOnly = isLocked && view?.queued === 0 && claimant.sessionId === undefined
  if (ready && isOnly && freeSlots(engine.limits, view.running, ready.run.lane) > 0)
    return claimBest(tx, engine, claimant, { best: ready.run, sessions, ready })
  await ready?.queue()
  if (!isLocked || !view) return undefined
  const best = await bestQueued(tx, engine, claimant, { ...view, queuedHere: queued })
  return best && claimBest(tx, engine, claimant, { best, sessions, queued: queued ?? ready?.run })
}

/** Rows that the transaction holds already. */
interface HeldRows {
  sessions: readonly Session[]
  /** The run that the transaction has queued itself. */
  queued?: Run | undefined
  /** Or one that is queued only if it is not claimed at once: so its row is written once. */
  ready?: ReadyRun
}

/** A run that can be claimed and is not in the queue yet. */
export interface ReadyRun {
  run: Run
  /** Its inputs, if they are known. */
  items?: InboxItem[]
  /** Puts it into the queue. */
  queue(): Promise<void>
  /** Stores the run as it was claimed. */
  take(claimed: ClaimedRun): Promise<void>
}

/** Claims the next run if its session is one of these. */
async function claimBest(
  tx: Tx,
  engine: Engine,
  claimant: Claimant,
  { best, sessions, queued, ready }: HeldRows & { best: Run },
): Promise<ClaimedRun | undefined> {
  const session = sessions.find(({ id }) => id === best.sessionId)
  if (!session) return undefined
  const mayReserve = await tryLockPool(tx, best)
  const run = ready || best.id === queued?.id ? best : await relockRun(tx, best)
  if (run?.state !== 'queued') return undefined
  const [claimed] = await claimHeld(tx, engine, [{ run, session, mayReserve, ...(ready && { ready }) }], claimant)
  return claimed
}

/** The next run; `queuedHere` is the one that the transaction has queued itself. */
async function bestQueued(
  tx: Tx,
  { limits }: Engine,
  { sessionId }: Claimant,
  { running, queued, queuedHere }: ClaimView & { queuedHere: Run | undefined },
): Promise<Run | undefined> {
  // What is known to be the only one need not be read.
  if (queuedHere && queued === 1 && sessionId === undefined)
    return freeSlots(limits, running, queuedHere.lane) > 0 ? queuedHere : undefined
  const [best] = await nextRuns(tx, { limits, running, sessionId, max: 1 })
  return best
}

/** A run whose row, and whose session's, this transaction holds. */
interface HeldRun {
  run: Run
  session: Session
  /** Whether it holds the budget of its request, too. */
  mayReserve: boolean
  /** If it is not in the queue. */
  ready?: ReadyRun
}

/**
 * Locks chosen runs with their sessions, as far as they are still queued. Only the first may wait for others: a transaction that
 * waited for one row while it holds another could meet one that waits the other way round. What others hold now is left for the
 * next look.
 */
async function holdRuns(tx: Tx, [first, ...others]: Run[]): Promise<HeldRun[]> {
  if (!first) return []
  const idsOf = (runs: Run[]) => runs.flatMap(({ sessionId }) => sessionId ?? [])
  const found = await Promise.all([
    ...idsOf([first]).map((id) => lockSession(tx, id)),
    ...(others.length > 0 ? [lockFreeSessions(tx, idsOf(others))] : []),
  ])
  const sessions = new Map(found.flat().flatMap((session) => (session ? [[session.id, session]] : [])))
  const sessionOf = ({ sessionId }: Run) => sessions.get(sessionId ?? '')
  const free = others.filter(sessionOf)
  const runs = [first, ...free]
  const [mayReserve, firstNow, freeNow] = await Promise.all([
    // A claim blocks all other claims, so it must not wait for a lock on a busy request's budget.
    Promise.all(runs.map((run) => tryLockPool(tx, run))),
    relockRun(tx, first),
    free.length > 0 ? relockFreeRuns(tx, free) : [],
  ])
  return runs.flatMap((each, at) => {
    const run = [firstNow, ...freeNow].find((now) => now?.id === each.id)
    const session = sessionOf(each)
    return session && run?.state === 'queued' ? { run, session, mayReserve: mayReserve[at] === true } : []
  })
}

/** Claims runs that the transaction holds, one after the other: each reserves from what the others have left. */
async function claimHeld(
  tx: Tx,
  engine: Engine,
  held: readonly HeldRun[],
  { workerId }: Claimant,
): Promise<ClaimedRun[]> {
  const read = held.map(async ({ run, session, mayReserve, ready }) => {
    const [bound, found, threadPrompt, head] = await Promise.all([
      // A new run takes the waiting inputs of its principal; one that continues after a crash or a pause keeps those it started with.
      ready?.items ?? (run.epoch === 0 ? bindItems(tx, run, session.id) : itemsOfRun(tx, run.id)),
      readActor(tx, engine, { run, session }),
      readThreadPrompt(tx, session),
      session.headTurnId === null ? undefined : findThread(tx, session.headTurnId),
    ])
    return { run, session, mayReserve, ready, bound, found, threadPrompt, head }
  })
  const claimed: ClaimedRun[] = []
  for (const { run, ready, bound, ...facts } of await Promise.all(read)) {
    const items = await deferUnrelatedResults(tx, run, bound)
    const taken = await takeRun(tx, engine, withRunOptions(run, items), { ...facts, workerId, items })
    await (ready ? ready.take(taken) : assignRun(tx, taken.run, workerId))
    claimed.push(taken)
  }
  return claimed
}

/** Facts about a run that its claim has resolved. */
interface ClaimFacts extends Pick<ClaimedRun, 'session' | 'items' | 'head' | 'threadPrompt'> {
  workerId: string
  found: StoredActor
  mayReserve: boolean
  /** For one of several runs of a request that are claimed together. */
  before?: SpentBefore
}

/** The run as this claim's: decides who it is, tells that it starts, and reserves its first model call. Its row is not changed. */
async function takeRun(tx: Tx, engine: Engine, asked: Run, facts: ClaimFacts): Promise<ClaimedRun> {
  const { session, workerId, items, found, head, threadPrompt } = facts
  const actor = await decideActor(tx, engine, asked, found)
  const run = asActor(asked, actor)
  const epoch = run.epoch + 1
  await recordEvent(tx, {
    at: engine.clock.now(),
    kind: 'run.started',
    subject: `run:${run.id}`,
    payload: {
      ...{ session: session.label, folder: session.folder, epoch, agent: run.agent },
      ...(run.parentRunId !== null && { parent: run.parentRunId }),
    },
    scope: run,
  })
  return {
    claim: { runId: run.id, workerId, epoch },
    run: { ...run, state: 'running', workerId, epoch },
    ...{ session, head, actor, threadPrompt, items },
    reserved: facts.mayReserve ? await reserveFirst(tx, engine, run, { ...facts, actor }) : undefined,
  }
}

/**
 * Claims new children of a run, whose rows are not stored yet, as far as slots are free. None if another run is queued: which
 * of them is next is decided by `nextRuns`.
 */
export async function claimChildren(
  tx: Tx,
  engine: Engine,
  claimant: Claimant,
  caller: CallingRun,
): Promise<ClaimedRun[]> {
  const { run: parent, children } = caller
  const [first] = children
  const isOfSession = parent.id === parent.rootRunId && parent.sessionId === claimant.sessionId
  if (!first || (claimant.sessionId !== undefined && !isOfSession)) return []
  const [isLocked, view] = await Promise.all([tryClaimLock(tx), viewOfClaimant(tx, claimant.workerId)])
  if (!isLocked || !view || view.queued > 0) return []
  const mayReserve = await tryLockPool(tx, first.run)
  const before: SpentBefore = {}
  const claimed: ClaimedRun[] = []
  for (const child of children) {
    const { run, session, item, below, requester } = child
    const running = [...view.running, ...claimed.map(({ run }) => ({ ...run, count: 1, suspects: 0 }))]
    if (freeSlots(engine.limits, running, run.lane) <= 0) continue
    const taken = await takeRun(tx, engine, run, {
      ...{ session, workerId: claimant.workerId, items: [item], mayReserve, before },
      found: await readChildActor(tx, engine, caller, child),
      head: below ?? undefined,
      threadPrompt: await readThreadPrompt(tx, session),
    })
    claimed.push({ ...taken, requester })
  }
  return claimed
}

/**
 * Reserves the budget of a run's first model call, so that it needs no commit of its own. If that fails, the loop tries
 * again and handles the refusal.
 */
async function reserveFirst(
  tx: Tx,
  engine: Engine,
  run: Run,
  { head, actor, threadPrompt, items, before }: Omit<ClaimFacts, 'found'> & { actor: Actor },
): Promise<number | undefined> {
  const model = run.epoch > 0 || run.cancelReason !== null ? undefined : findModel(engine, actor)
  if (!model) return undefined
  const bytes =
    (await contextBytes(tx, engine, head, items)) +
    engine.promptBytes(run) +
    Buffer.byteLength(threadPrompt ?? '') +
    bytesOfTools(actor.tools)
  // The first call may be a summary instead, which can be longer than the answers that are asked for.
  const window = windowOf(model, actor.model)
  const output = Math.max(
    maxOutput(engine, window, run, settingsFor(run, actor, model)),
    maxOutput(engine, window, run),
  )
  const max = maxUsage(bytes, output, model)
  const first = 1
  const call = {
    runId: run.id,
    call: first,
    rootRunId: run.rootRunId,
    model: recordedName(model),
    principal: run.principal,
    isFirst: run.id === run.rootRunId,
    ...(before && { before }),
  }
  return (await reserve(tx, engine, call, max)) ? undefined : first
}

async function readThreadPrompt(tx: Tx, { systemPromptHash }: Session): Promise<string | null> {
  return systemPromptHash === null ? null : ((await promptText(tx, systemPromptHash)) ?? null)
}

function findModel(engine: Engine, { model: { name } }: Actor): Model | undefined {
  try {
    return name === null ? undefined : engine.model(name)
  } catch {
    return undefined
  }
}

/**
 * A message addressed to one agent is all that agent sees: results for the requester stay queued for the requester, which
 * alone can decide about them.
 */
async function deferUnrelatedResults(tx: Tx, run: Run, items: InboxItem[]): Promise<InboxItem[]> {
  const agent = mergeRunOptions(items).agent
  const isUnrelated = ({ kind, rootRunId }: InboxItem) =>
    (kind === 'result' || kind === 'join' || kind === 'system') && rootRunId !== run.rootRunId
  if (run.epoch > 0 || agent === undefined || !items.some(isUnrelated)) return items
  const root = await findRun(tx, items.find(isUnrelated)?.rootRunId ?? '')
  if (!root || root.agent === agent) return items
  await unbindItems(
    tx,
    items.filter(isUnrelated).map(({ id }) => id),
  )
  return items.filter((item) => !isUnrelated(item))
}

/** The run as this claim stores it. */
function asActor(run: Run, { agent, profile, model, ceiling, tools }: Actor): Run {
  const effectiveTools = tools.map(({ name }) => name)
  const chosen = { modelRequested: model.requested, modelClamp: model.clamped ?? null }
  return { ...run, agent, profile, ...chosen, ceiling, effectiveTools }
}

/** Applies the options of all inputs that joined the run before its first claim. */
function withRunOptions(run: Run, items: InboxItem[]): Run {
  return run.epoch > 0 ? run : setRunOptions(run, mergeRunOptions(items, run.options))
}
