import { HeddleError, Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import { type InboxItem, type RunWishes, type Telling, wishesOf } from '../domain/inbox.ts'
import type { Label } from '../domain/label.ts'
import type { Part, Source } from '../domain/message.ts'
import { newRun, type Run, type RunOrigin } from '../domain/run.ts'
import { checkLabel, type Session } from '../domain/session.ts'
import { isStorable } from '../domain/storable.ts'
import { askToCancel } from '../store/cancels.ts'
import { recordEvent } from '../store/events.ts'
import { insertItem, itemByKey, waitingItems } from '../store/inbox.ts'
import { agentAt, findRun, insertRun, lastChildRun, liveRunOf, lockRun } from '../store/runs.ts'
import { findSessions, lockSessionByLabel } from '../store/sessions.ts'
import type { Reading, Tx } from '../store/store.ts'
import { startSession, writeAgainIfTaken } from './append.ts'
import { type Claimant, type Claimed, claimAtOnce } from './claim.ts'
import { targetLabel, withOwnPersona } from './persona-session.ts'
import type { Engine, World } from './world.ts'

/** An input for a session. */
export interface Submission extends RunWishes {
  folder: string
  label: string
  content: string
  /**
   * `steer` reaches the run that is under way at its next step; a late one is a message like any other. `interrupt`
   * stops that run, with all it began, and is answered by the next.
   */
  kind?: 'message' | 'steer' | 'interrupt'
  parts?: Part[]
  source?: Source
  trust?: Label
  via?: RunOrigin
  /** Start a new session at this turn. Refused when the label exists: its next turn would follow another one. */
  parentTurnId?: string
  /** Says that two deliveries are the same one: the second is answered with the first. */
  dedupeKey?: string
  tells?: Telling
}

export interface Accepted {
  itemId: string
  session: Session
  /** The run that will take it, once that is known: one that is under way will not. */
  runId: string | null
  /** The run that is under way in its session, as long as it waits for the next. */
  queuedBehind?: string
  /** That run, when it could be claimed in the same commit: whoever asked for that must begin it. */
  claimed?: Claimed
}

/**
 * Takes an input in. When this resolves it is durable, and it will end in exactly one visible outcome. A process that
 * works on what it takes in says so with `hands`: an idle session's run is then claimed in the same commit.
 */
export async function submit(
  world: World,
  input: Submission,
  hands?: { engine: Engine; claimant: Claimant },
): Promise<Accepted> {
  checkWishes(input)
  const fresh = { itemId: world.newId(), runId: world.newId(), sessionId: world.newId(), segmentId: world.newId() }
  const now = world.clock.now()
  const body = async (tx: Tx): Promise<Accepted> => {
    const before = input.dedupeKey === undefined ? undefined : await delivered(tx, input.dedupeKey)
    if (before) return before
    const label = checkLabel(await targetLabel(tx, input.label))
    const existing = await lockSessionByLabel(tx, input.folder, label)
    if (existing && input.parentTurnId !== undefined) throw labelExists(label, input.parentTurnId)
    const { sessionId, segmentId } = fresh
    const session = existing
      ? await withOwnPersona(tx, existing)
      : await startSession(tx, { ...input, label, sessionId, segmentId, now })
    await insertItem(tx, itemFrom(input, fresh.itemId, session, now), input.dedupeKey ?? null)
    if (input.kind === 'interrupt') await interrupt(tx, session)
    const runId = await nextRun(tx, { session, runId: fresh.runId, now, ...(input.via && { via: input.via }) })
    const accepted = { itemId: fresh.itemId, session, runId, ...(await waitingBehind(tx, { runId, session })) }
    if (!hands || runId !== fresh.runId) return accepted
    const claimed = await claimAtOnce(tx, hands.engine, hands.claimant, [session])
    return claimed ? { ...accepted, claimed } : accepted
  }
  return writeAgainIfTaken(world, 'submit', body)
}

function labelExists(label: string, turnId: string): HeddleError {
  const turn = `turn:${tail(turnId)}`
  return new HeddleError(
    'label_exists',
    `session "${label}" exists already, so it cannot start from ${turn}`,
    `name a new session (heddle ask -s NEWLABEL --from ${turn} "…"), or fork first: heddle fork ${turn} --as NEWLABEL`,
  )
}

/** What was answered when this was delivered before. */
async function delivered(tx: Tx, dedupeKey: string): Promise<Accepted | undefined> {
  const item = await itemByKey(tx, dedupeKey)
  const [session] = item ? await findSessions(tx, { id: item.sessionId }) : []
  if (!item || !session) return undefined
  const { runId } = item
  return { itemId: item.id, session, runId, ...(await waitingBehind(tx, { runId, session })) }
}

/** What an input that no run has taken waits behind. */
export async function waitingBehind(
  rows: Reading,
  { runId, session }: { runId: string | null; session: Pick<Session, 'id'> },
): Promise<Pick<Accepted, 'queuedBehind'>> {
  const live = runId === null ? await liveRunOf(rows, session.id) : undefined
  return live ? { queuedBehind: live.id } : {}
}

/** Asks for the end of what is under way; a run that nobody has begun will answer the new input anyway. */
async function interrupt(tx: Tx, session: Session): Promise<void> {
  const live = await liveRunOf(tx, session.id)
  const run = live && (await lockRun(tx, live.id))
  if (!run || run.finishedAt !== null || run.epoch === 0) return
  await askToCancel(tx, run, 'interrupted by a new message')
}

/** The run that will take what waits: one that has not begun, or a new one. None while a run is under way; its end makes it. */
export async function nextRun(
  tx: Tx,
  next: { session: Session; runId: string; now: number; via?: RunOrigin },
): Promise<string | null> {
  const live = await liveRunOf(tx, next.session.id)
  if (live) return live.state === 'queued' && live.epoch === 0 ? live.id : null
  const waiting = await waitingItems(tx, next.session.id)
  const before = await childBefore(tx, next.session.id, waiting)
  const request = before ? await findRun(tx, before.rootRunId) : await requestOf(tx, waiting)
  const wishes = wishesOf(waiting)
  await insertRun(tx, {
    ...newRun({
      id: next.runId,
      kind: before?.kind ?? 'turn',
      via: next.via ?? before?.via ?? 'user',
      sessionId: next.session.id,
      now: next.now,
    }),
    ...(request && { rootRunId: request.id, requestedAt: request.requestedAt }),
    // It goes on with what its session was asked to do, for whoever asked.
    ...(before && {
      parentRunId: before.parentRunId,
      requesterSessionId: before.requesterSessionId,
      depth: before.depth,
      toolCallId: before.toolCallId,
      taskId: before.taskId,
    }),
    agent: wishes.agent ?? before?.agent ?? (await answersFor(tx, next.session, request)),
    priority: wishes.priority ?? 0,
    modelRequested: wishes.model ?? null,
    timeoutMs: wishes.timeoutMs ?? null,
    deadline: wishes.deadline ?? null,
  })
  await recordEvent(tx, {
    at: next.now,
    kind: 'run.queued',
    subject: `run:${next.runId}`,
    payload: { session: next.session.label, folder: next.session.folder },
  })
  tx.hint('runs')
  return next.runId
}

/** Who hears results is who asked for them; who is spoken to in an agent's own session is that agent. */
async function answersFor(tx: Tx, session: Session, request: Run | undefined): Promise<string | null> {
  if (request?.sessionId === session.id) return request.agent
  return request ? null : ((await agentAt(tx, session.id)) ?? null)
}

/**
 * What an agent's session was at, if something of that waits for it: whoever speaks to it meanwhile is answered on the
 * way, and whoever asked for the work still hears of its end.
 */
async function childBefore(tx: Tx, sessionId: string, waiting: InboxItem[]): Promise<Run | undefined> {
  for (const root of new Set(waiting.flatMap(({ rootRunId }) => rootRunId ?? []))) {
    const before = await lastChildRun(tx, sessionId, root)
    if (before) return before
  }
  return undefined
}

/** The request that everything that waits belongs to, if it is one: a run that only its results wake is part of it. */
async function requestOf(tx: Tx, waiting: InboxItem[]): Promise<Run | undefined> {
  const requests = new Set(waiting.map(({ rootRunId }) => rootRunId))
  const [only] = requests
  return requests.size === 1 && only ? findRun(tx, only) : undefined
}

function itemFrom(input: Submission, id: string, session: Session, now: number): InboxItem {
  return {
    id,
    sessionId: session.id,
    kind: input.kind === 'steer' ? 'steer' : 'message',
    content: input.content,
    source: input.source ?? 'human',
    parts: input.parts ?? [],
    label: input.trust ?? { integrity: 'trusted', sources: [] },
    wishes: wishesIn(input),
    wake: true,
    rootRunId: null,
    runId: null,
    consumedByTurn: null,
    createdAt: now,
    ...(input.tells && { tells: input.tells }),
  }
}

/** Refuses what no row can hold: these go into a run's row when a run is made of them, which may be in another's end. */
function checkWishes({ agent, model, priority, timeoutMs, deadline }: RunWishes): void {
  const isText = (text: string | undefined) => text === undefined || isStorable(text)
  const isWhole = (number: number | undefined) => number === undefined || Number.isSafeInteger(number)
  if (isText(agent) && isText(model) && isWhole(priority) && isWhole(timeoutMs) && isWhole(deadline)) return
  throw new Misuse('an agent, a model or a number of this input is not well-formed', 'correct it', 'bad_input')
}

function wishesIn({
  agent,
  attended,
  waitsForBudget,
  model,
  priority,
  timeoutMs,
  deadline,
  thinking,
}: RunWishes): RunWishes {
  return {
    ...(agent !== undefined && { agent }),
    ...(attended !== undefined && { attended }),
    ...(waitsForBudget !== undefined && { waitsForBudget }),
    ...(model !== undefined && { model }),
    ...(priority !== undefined && { priority }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(deadline !== undefined && { deadline }),
    ...(thinking !== undefined && { thinking }),
  }
}
