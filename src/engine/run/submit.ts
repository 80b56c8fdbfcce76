import { authorize, forbidden, rankOf } from '../../domain/access/authorize.ts'
import { actingFor, owner, type Principal, principalText } from '../../domain/access/principal.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import {
  checkOuterRef,
  type InboxItem,
  itemsOfPrincipal,
  type NarrationRequest,
  nextPrincipal,
} from '../../domain/inbox.ts'
import { joinLabels, type Label } from '../../domain/label.ts'
import type { Part, Source } from '../../domain/message.ts'
import { newRun, type Run, type RunOrigin, setRunOptions } from '../../domain/run.ts'
import { mergeRunOptions, pickRunOptions, type RunOptions } from '../../domain/run-options.ts'
import type { Session } from '../../domain/session.ts'
import { requestCancel } from '../../store/rows/cancels.ts'
import { agentOfSession, lastChildRun } from '../../store/rows/child-runs.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { bindItem, insertItem, itemByKey, waitingItems } from '../../store/rows/inbox.ts'
import { findRun, insertRun, liveRunOf, lockRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Reading, Tx } from '../../store/store.ts'
import type { Engine, Runtime } from '../runtime.ts'
import { assertTakesInput, retryIfTaken, startSession } from '../turns/append.ts'
import { notFound } from '../turns/route.ts'
import { findTarget } from '../turns/target.ts'
import { claimAtOnce, type ReadyRun } from './claim.ts'
import type { Claimant, ClaimedRun } from './claimed-run.ts'
import { labelOfParts, senderLabel } from './sender.ts'

/** An input for a session, with options for its run. */
export interface Submission extends RunOptions {
  folder: string
  /** A label, `session:LABEL`, `turn:ID` or `persona:ID`. */
  label: string
  content: string
  /**
   * `steer` reaches the run under way at its next step; one that arrives too late is an ordinary message. `interrupt`
   * cancels the run under way and its children, and is answered by the next run.
   */
  kind?: 'message' | 'steer' | 'interrupt'
  parts?: Part[]
  source?: Source
  /** Label of quoted content, in addition to the sender's own. */
  trust?: Label
  /** Who sends it; the owner by default. */
  principal?: Principal
  via?: RunOrigin
  /** Starts a new session at this turn. Refused if the label exists, since that session has its own head. */
  parentTurnId?: string
  /** The persona that the session must have; a new one starts with it. */
  personaId?: string
  /** Identifies repeated deliveries of one input: the second returns the first's outcome. */
  dedupeKey?: string
  tells?: NarrationRequest
  /** Id of the message in the system that it came from; does not identify repeated deliveries. */
  outerRef?: string
}

export interface AcceptedInput {
  itemId: string
  session: Session
  /** The run that will answer it; null while another run is under way. */
  runId: string | null
  /** The run under way in its session, while the input waits. */
  queuedBehind?: string
  /** The run, if it was claimed in the same commit: the caller must start it. */
  claimed?: ClaimedRun
}

/**
 * Accepts an input. When this resolves it is durable, and it will end in exactly one visible outcome. A process that also
 * executes runs passes its claimant: an idle session's run is then claimed in the same commit.
 */
export async function submit(
  runtime: Runtime,
  input: Submission,
  worker?: { engine: Engine; claimant: Claimant },
): Promise<AcceptedInput> {
  const options = pickRunOptions(input)
  const ids = newInputIds(runtime)
  const now = runtime.clock.now()
  return retryIfTaken(runtime, 'submit', async (tx) => {
    const { ready, ...accepted } = await takeInput(tx, { ...input, options, ids, now })
    const { session } = accepted
    if (!ready) return accepted
    if (!worker) {
      await queueRun(tx, ready, session)
      return accepted
    }
    const claimed = await claimAtOnce(tx, worker.engine, worker.claimant, { sessions: [session], ready })
    if (claimed?.run.id !== ready.run.id) await publishQueued(tx, ready.run, session)
    return claimed ? { ...accepted, claimed } : accepted
  })
}

/** Ids for one input, made before its transaction, so that a retried transaction writes the same rows. */
export interface InputIds {
  itemId: string
  runId: string
  sessionId: string
  segmentId: string
}

export function newInputIds({ newId }: Pick<Runtime, 'newId'>): InputIds {
  return { itemId: newId(), runId: newId(), sessionId: newId(), segmentId: newId() }
}

/** An input with all that its rows need. */
interface NewInput extends Omit<Submission, keyof RunOptions | 'kind'> {
  kind?: Submission['kind'] | 'trigger' | 'system'
  options: RunOptions
  ids: InputIds
  now: Millis
  /** Its session, if the caller has locked it already, and decided that the sender may write to it. */
  session?: Session
}

/**
 * Accepts an input in the caller's transaction, so that the caller's own rows commit with it. The only way into an inbox
 * from outside a run. A queued run answers the input; a run under way queues the next one at its end.
 */
export async function acceptInput(tx: Tx, input: NewInput): Promise<AcceptedInput> {
  const { ready, ...accepted } = await takeInput(tx, input)
  if (ready) await queueRun(tx, ready, accepted.session)
  return accepted
}

/** The same without queueing its run, which may be claimed in the same commit. */
async function takeInput(tx: Tx, input: NewInput): Promise<AcceptedInput & { ready?: ReadyRun | undefined }> {
  const { ids, now } = input
  const before = input.dedupeKey === undefined ? undefined : await findDuplicate(tx, input.dedupeKey)
  if (before) return before
  const sender = actingFor(input.principal ?? owner)
  const quoted = [...(input.trust ? [input.trust] : []), await labelOfParts(tx, input.parts ?? [])]
  const label = joinLabels([await senderLabel(tx, sender), ...quoted])
  const session = input.session ?? (await lockInputSession(tx, input, sender))
  if (input.kind === 'steer' || input.kind === 'interrupt') await assertMayDisturb(tx, session, sender, input.kind)
  const item = { ...itemFrom(input, session), label, principal: principalText(sender) }
  const { wasIdle } = await insertItem(tx, item, input.dedupeKey ?? null)
  if (input.kind === 'interrupt' && !wasIdle) await interrupt(tx, session)
  const { runId, ready } = await findNextRun(tx, {
    ...{ session, runId: ids.runId, now },
    ...(input.via && { via: input.via }),
    ...(wasIdle && { only: item }),
  })
  return { itemId: ids.itemId, session, runId, ready, ...(await waitingBehind(tx, { runId, session })) }
}

/** The session that the input names, locked; a new one if there is none. */
export async function lockInputSession(
  tx: Tx,
  input: Pick<NewInput, 'folder' | 'label' | 'personaId' | 'parentTurnId' | 'tells' | 'ids' | 'now'>,
  sender: Principal,
): Promise<Session> {
  const { folder, now, tells } = input
  const { session: existing, ...start } = await findTarget(tx, { ...input, target: input.label }, sender)
  const { label, parentTurnId } = start
  if (existing && !authorize(sender, 'run.ask', { principal: existing.principalId })) throw notFound('session', label)
  if (existing && parentTurnId !== undefined) throw labelExists(label, parentTurnId)
  if (existing && !tells) assertTakesInput(existing)
  const { sessionId, segmentId } = input.ids
  return (
    existing ??
    startSession(tx, {
      ...{ folder, sessionId, segmentId, now, principalId: principalText(sender), rank: rankOf(sender), ...start },
      ...(tells && { narratesId: tells.sessionId }),
    })
  )
}

/** Steering and interrupting need the right to the run under way, which may be another's. */
async function assertMayDisturb(
  tx: Tx,
  session: Session,
  sender: Principal,
  kind: 'steer' | 'interrupt',
): Promise<void> {
  const live = await liveRunOf(tx, session.id)
  const action = kind === 'steer' ? 'run.steer' : 'run.interrupt'
  if (live && !authorize(sender, action, live)) throw forbidden(sender, action)
}

function labelExists(label: string, turnId: string): HeddleError {
  const turn = `turn:${shortId(turnId)}`
  return new HeddleError(
    'label_exists',
    `session "${label}" exists already, so it cannot start from ${turn}`,
    `name a new session (heddle ask -s NEWLABEL --from ${turn} "…"), or fork first: heddle fork ${turn} --as NEWLABEL`,
  )
}

/** The outcome of an earlier delivery with this key. */
async function findDuplicate(tx: Tx, dedupeKey: string): Promise<AcceptedInput | undefined> {
  const item = await itemByKey(tx, dedupeKey)
  const [session] = item ? await findSessions(tx, { id: item.sessionId }) : []
  if (!item || !session) return undefined
  const { runId } = item
  return { itemId: item.id, session, runId, ...(await waitingBehind(tx, { runId, session })) }
}

/** The run that an unclaimed input waits behind. */
export async function waitingBehind(
  rows: Reading,
  { runId, session }: { runId: string | null; session: Pick<Session, 'id'> },
): Promise<Pick<AcceptedInput, 'queuedBehind'>> {
  const live = runId === null ? await liveRunOf(rows, session.id) : undefined
  return live ? { queuedBehind: live.id } : {}
}

/** Cancels the run under way; a queued run will answer the new input anyway. */
async function interrupt(tx: Tx, session: Session): Promise<void> {
  const live = await liveRunOf(tx, session.id)
  const run = live && (await lockRun(tx, live.id))
  if (!run || run.finishedAt !== null || run.epoch === 0) return
  await requestCancel(tx, run, 'interrupted by a new message')
}

/** A session whose waiting inputs need a run. */
interface NextRun {
  session: Session
  runId: string
  now: number
  via?: RunOrigin
  /** The only input that waits in an idle session, if that is known. */
  only?: InboxItem
}

/** Returns the queued run for a session's waiting inputs, or queues one. Null while a run is under way: its end queues the next. */
export async function nextRun(tx: Tx, next: NextRun): Promise<string | null> {
  const { runId, ready } = await findNextRun(tx, next)
  if (ready) await queueRun(tx, ready, next.session)
  return runId
}

async function queueRun(tx: Tx, ready: ReadyRun, session: Session): Promise<void> {
  await ready.queue()
  await publishQueued(tx, ready.run, session)
}

/** Notifies clients and workers of a run that waits for a claim. */
async function publishQueued(tx: Tx, run: Run, { label, folder }: Session): Promise<void> {
  await recordEvent(tx, {
    at: run.createdAt,
    kind: 'run.queued',
    subject: `run:${run.id}`,
    payload: { session: label, folder },
    scope: run,
  })
  tx.hint('runs')
}

/** The same as `nextRun` without queueing the run; `ready` is it, if it is new. */
async function findNextRun(tx: Tx, next: NextRun): Promise<{ runId: string | null; ready?: ReadyRun }> {
  const live = next.only ? undefined : await liveRunOf(tx, next.session.id)
  if (live && (live.state !== 'queued' || live.epoch > 0)) return { runId: null }
  const all = next.only ? [next.only] : await waitingItems(tx, next.session.id)
  // Inputs behind those of another principal are answered by a later run.
  if (live) return { runId: all.every(({ wake, principal }) => !wake || principal === live.principal) ? live.id : null }
  const principal = nextPrincipal(all)
  const waiting = itemsOfPrincipal(all, principal)
  const before = await previousChildRun(tx, next.session.id, waiting)
  const requests = await requestsOf(tx, waiting)
  const request = before ? await findRun(tx, before.rootRunId) : requests.length === 1 ? requests[0] : undefined
  // The run of this session whose work it continues.
  const continued = before ?? (request?.sessionId === next.session.id ? request : undefined)
  const run: Run = {
    ...newRun({
      id: next.runId,
      kind: continued?.kind ?? (next.session.kind === 'cron' ? 'cron' : 'turn'),
      via: next.via ?? (continued ?? requests[0])?.via ?? 'user',
      sessionId: next.session.id,
      now: next.now,
      principal,
    }),
    ...(request && { rootRunId: request.id, requestedAt: request.requestedAt }),
    ...(continued && { lane: continued.lane }),
    // The run continues its session's task for the original requester.
    ...(before && {
      parentRunId: before.parentRunId,
      requesterSessionId: before.requesterSessionId,
      depth: before.depth,
      toolCallId: before.toolCallId,
      taskId: before.taskId,
      subagent: before.subagent,
    }),
    agent: before?.agent ?? (await answeringAgent(tx, next.session, request)),
    // A retry is a new decision; what continues by itself has no more than before.
    ...(continued && next.via !== 'retry' && { ceiling: continued.ceiling, profile: continued.profile }),
  }
  // The inputs of a retry carry all options of the run that is tried again.
  const options = mergeRunOptions(waiting, next.via === 'retry' ? {} : continued?.options)
  return { runId: run.id, ready: newReadyRun(tx, setRunOptions(run, options), waiting) }
}

/** A new run whose row is not stored yet, with the inputs that it will take. */
function newReadyRun(tx: Tx, run: Run, waiting: readonly InboxItem[]): ReadyRun {
  return {
    run,
    items: waiting.map((item) => ({ ...item, runId: run.id })),
    queue: () => insertRun(tx, run),
    async take(claimed) {
      await insertRun(tx, claimed.run)
      for (const { id } of claimed.items) bindItem(tx, id, run.id)
    },
  }
}

/** The agent of a new run: the requester's agent for results, the session's agent for a message to it. */
async function answeringAgent(tx: Tx, session: Session, request: Run | undefined): Promise<string | null> {
  if (request?.sessionId === session.id) return request.agent
  return request || session.kind !== 'agent' ? null : ((await agentOfSession(tx, session.id)) ?? null)
}

/**
 * The child run that a session must continue because a delivery for it waits. The new run answers other messages as well,
 * and still delivers to the child's requester.
 */
async function previousChildRun(tx: Tx, sessionId: string, waiting: InboxItem[]): Promise<Run | undefined> {
  for (const root of new Set(waiting.flatMap(({ rootRunId }) => rootRunId ?? []))) {
    const before = await lastChildRun(tx, sessionId, root)
    if (before) return before
  }
  return undefined
}

/** The requests of waiting items, if all of them are results: a run that is woken only by those of one is part of it. */
async function requestsOf(tx: Tx, waiting: InboxItem[]): Promise<Run[]> {
  const ids = new Set(waiting.map(({ rootRunId }) => rootRunId))
  if (ids.has(null)) return []
  const found: Run[] = []
  for (const id of ids) found.push(...[(await findRun(tx, id ?? '')) ?? []].flat())
  return found
}

function itemFrom(input: NewInput, session: Session): Omit<InboxItem, 'label' | 'principal'> {
  return {
    id: input.ids.itemId,
    sessionId: session.id,
    kind: input.kind === undefined || input.kind === 'interrupt' ? 'message' : input.kind,
    content: input.content,
    source: input.source ?? 'human',
    parts: input.parts ?? [],
    options: input.options,
    wake: true,
    rootRunId: null,
    runId: null,
    consumedByTurn: null,
    createdAt: input.now,
    ...(input.tells && { tells: input.tells }),
    ...(input.outerRef !== undefined && { outerRef: checkOuterRef(input.outerRef) }),
  }
}
