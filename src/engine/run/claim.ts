import type { InboxItem } from '../../domain/inbox.ts'
import { type Model, recordedName } from '../../domain/model.ts'
import { lanes, type Run, setRunOptions } from '../../domain/run.ts'
import { mergeRunOptions } from '../../domain/run-options.ts'
import type { Session } from '../../domain/session.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { bindItems, itemsOfRun, unbindItems } from '../../store/rows/inbox.ts'
import {
  type ClaimView,
  firstQueued,
  type QueueFilter,
  type RunningRuns,
  takeClaimLock,
  tryClaimLock,
  viewOfClaimant,
} from '../../store/rows/queue.ts'
import { assignRun, findRun, relockRun } from '../../store/rows/runs.ts'
import { lockSession } from '../../store/rows/sessions.ts'
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
import { freeSlots, runningShare } from './lanes.ts'

/** Claims the next run (`bestQueued`). Undefined if no run is claimable or no slot is free. */
export async function claimNext(engine: Engine, claimant: Claimant): Promise<ClaimedRun | undefined> {
  for (;;) {
    const claimed = await engine.store.write('claim', async (tx) => {
      await takeClaimLock(tx)
      const view = await viewOfClaimant(tx, claimant.ownerId)
      // A worker that was declared dead and has not noticed must not claim: no heartbeat covers it.
      const best = view && view.queued > 0 ? await bestQueued(tx, engine, claimant, view) : undefined
      if (!best) return undefined
      const session = best.sessionId === null ? undefined : await lockSession(tx, best.sessionId)
      return (session && (await claimRun(tx, engine, best, { session, ...claimant }))) ?? 'gone'
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
  { sessions, queued }: HeldRows,
): Promise<ClaimLook> {
  const [isLocked, view] = await Promise.all([tryClaimLock(tx), viewOfClaimant(tx, claimant.ownerId)])
  if (!isLocked || !view) return { isQueueEmpty: false }
  if (view.queued === 0) return { isQueueEmpty: true }
  const isOnly = queued !== undefined && view.queued === 1 && claimant.sessionId === undefined
  const best = await bestQueued(tx, engine, claimant, { ...view, ...(isOnly && { only: queued }) })
  const session = best && sessions.find(({ id }) => id === best.sessionId)
  const isNew = best !== undefined && best.id === queued?.id
  const claimed = session && (await claimRun(tx, engine, best, { session, isNew, ...claimant }))
  return { isQueueEmpty: false, ...(claimed && { claimed }) }
}

/** Rows that the transaction holds already. */
interface HeldRows {
  sessions: readonly Session[]
  /** The run that the transaction has queued itself. */
  queued?: Run
}

/** What a look at the queue found: the run that it claimed, and whether no run was queued at all. */
interface ClaimLook {
  claimed?: ClaimedRun
  isQueueEmpty: boolean
}

/**
 * Chooses the next run; the only place for order and limits. Lanes that are full are skipped. Then the highest priority
 * counts, then the request with the fewest running runs in its lane, then the one that has waited longest. The claim lock
 * must be held. `only` is the one run that is queued, if it is known.
 */
async function bestQueued(
  tx: Tx,
  { limits }: Engine,
  { sessionId }: Claimant,
  { running, only }: ClaimView & { only?: Run },
): Promise<Run | undefined> {
  const full = lanes.filter((lane) => freeSlots(limits, running, lane) <= 0)
  if (full.length === lanes.length) return undefined
  if (only) return full.includes(only.lane) ? undefined : only
  const filter: QueueFilter = {
    ...(sessionId !== undefined && { sessionId }),
    skipLanes: full,
    // A run that crashed its process may do so again: such runs execute one at a time.
    skipSuspects: running.some(({ suspects }) => suspects > 0),
  }
  const first = await firstQueued(tx, filter)
  return first && fairest(tx, first, filter, running)
}

/** Of the runs with the priority of the first one, that of the request with the fewest running runs in its lane. */
async function fairest(tx: Tx, first: Run, filter: QueueFilter, running: RunningRuns[]): Promise<Run> {
  const share = runningShare(running, first)
  if (share === 0) return first
  const busier = running.filter(({ count }) => count >= share)
  const other = await firstQueued(tx, { ...filter, priority: first.options.priority ?? 0, skipRequests: busier })
  return other ? fairest(tx, other, filter, running) : first
}

async function claimRun(
  tx: Tx,
  engine: Engine,
  candidate: Run,
  { session, ownerId, isNew = false }: { session: Session; ownerId: string; isNew?: boolean },
): Promise<ClaimedRun | undefined> {
  // A claim blocks all other claims, so it must not wait for a lock on a busy request's budget.
  const mayReserve = await tryLockPool(tx, candidate)
  const run = isNew ? candidate : await relockRun(tx, candidate)
  if (run?.state !== 'queued') return undefined
  const [bound, found, threadPrompt, head] = await Promise.all([
    // A new run takes the waiting inputs of its principal; one that continues after a crash or a pause keeps those it started with.
    run.epoch === 0 ? bindItems(tx, run, session.id) : itemsOfRun(tx, run.id),
    readActor(tx, engine, { run, session }),
    readThreadPrompt(tx, session),
    session.headTurnId === null ? undefined : findThread(tx, session.headTurnId),
  ])
  const items = await deferUnrelatedResults(tx, run, bound)
  const claimed = await takeRun(tx, engine, withRunOptions(run, items), {
    ...{ session, ownerId, items, found, head, threadPrompt, mayReserve },
  })
  await assignRun(tx, claimed.run, ownerId)
  return claimed
}

/** What a claim has found out about a run. */
interface ClaimFacts extends Pick<ClaimedRun, 'session' | 'items' | 'head' | 'threadPrompt'> {
  ownerId: string
  found: StoredActor
  mayReserve: boolean
  /** For one of several runs of a request that are claimed together. */
  before?: SpentBefore
}

/** The run as this claim's: decides who it is, tells that it starts, and reserves its first model call. Its row is not changed. */
async function takeRun(tx: Tx, engine: Engine, asked: Run, facts: ClaimFacts): Promise<ClaimedRun> {
  const { session, ownerId, items, found, head, threadPrompt } = facts
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
    claim: { runId: run.id, ownerId, epoch },
    run: { ...run, state: 'running', ownerId, epoch },
    ...{ session, head, actor, threadPrompt, items },
    reserved: facts.mayReserve ? await reserveFirst(tx, engine, run, { ...facts, actor }) : undefined,
  }
}

/**
 * Claims new children of a run, whose rows are not stored yet, as far as slots are free. None if another run is queued: which
 * of them is next is decided by `bestQueued`.
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
  const [isLocked, view] = await Promise.all([tryClaimLock(tx), viewOfClaimant(tx, claimant.ownerId)])
  if (!isLocked || !view || view.queued > 0) return []
  const mayReserve = await tryLockPool(tx, first.run)
  const before: SpentBefore = {}
  const claimed: ClaimedRun[] = []
  for (const child of children) {
    const { run, session, item, below, requester } = child
    const running = [...view.running, ...claimed.map(({ run }) => ({ ...run, count: 1, suspects: 0 }))]
    if (freeSlots(engine.limits, running, run.lane) <= 0) continue
    const taken = await takeRun(tx, engine, run, {
      ...{ session, ownerId: claimant.ownerId, items: [item], mayReserve, before },
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
