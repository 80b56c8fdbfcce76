import { createHash } from 'node:crypto'
import type { Artifact } from '../domain/app.ts'
import { type InboxItem, wishesOf } from '../domain/inbox.ts'
import { joinLabels, type Label } from '../domain/label.ts'
import { labelOf, type Message } from '../domain/message.ts'
import type { Ending, Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import { askToCancel, noteCancelled } from '../store/cancels.ts'
import { recordEvent } from '../store/events.ts'
import { consumeItems, itemsOfRun, waitingItems } from '../store/inbox.ts'
import { isWaiting } from '../store/joins.ts'
import { noteRecalls, type Shown } from '../store/memory-recalls.ts'
import { noteBegunWith } from '../store/narratives.ts'
import { notePassages, type ShownPassage } from '../store/passage-recalls.ts'
import { markHeard, markProcessed } from '../store/results.ts'
import { childrenOf, finishRun, lockRun } from '../store/runs.ts'
import { lockSessions, moveHead } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { findThread, insertPlacedTurn } from '../store/threads.ts'
import { isAnswer, keepPrompt } from '../store/turns.ts'
import { spentBy } from '../store/usage.ts'
import type { ActiveRun } from './active-run.ts'
import { artifactsOf } from './artifacts.ts'
import { closeCalls } from './budget.ts'
import { type Claimed, claimAtOnce } from './claim.ts'
import { withMissingFiles } from './claimed-files.ts'
import { messageOf } from './context.ts'
import { deliverResult, type EndIds, isDone, joinChildren, newIds } from './deliver.ts'
import type { Journal } from './journal.ts'
import { keepNarrative } from './keep-narrative.ts'
import { estimateTokens } from './make-turn.ts'
import { passagesShownIn, shownOf } from './reminders.ts'
import { nextRun } from './submit.ts'
import type { Thought } from './think.ts'
import type { Engine } from './world.ts'

/**
 * Ends a run that is ours: turn, head, inputs, cost, delivery, joins and the next run commit together, or not at all.
 * The last reply, when it ends the run, is folded into this transaction instead of a step of its own. Answers the run
 * that comes next, if it could be claimed in the same commit.
 */
export async function settle(run: ActiveRun, ending: Ending, last?: Thought): Promise<Claimed | undefined> {
  const { engine, claimed } = run
  const artifacts = await artifactsOf(engine, claimed.run)
  const told = await withMissingFiles(run, ending)
  return engine.store.write('settle', async (tx) => {
    const places = await lockPlaces(tx, claimed.run)
    const { cancelReason } = await run.hold(tx)
    const ids = newIds(engine)
    await closeCalls(tx, run)
    const work = {
      ...places,
      run: { ...claimed.run, activeMs: run.activeMs, cancelReason },
      journal: run.journal,
      prompt: run.prompt,
      label: run.label,
      recalled: shownOf(run.reminders),
      passages: passagesShownIn(run.reminders),
      narrativeId: run.reminders.standing?.narrative.id,
      artifacts,
    }
    const begun = await leaveTurn(
      tx,
      engine,
      work,
      told,
      ids,
      last?.reply.model ?? run.journal.lastReply?.model ?? null,
    )
    const { claimant } = run
    const held = [
      { ...places.session, headTurnId: ids.turnId },
      ...(places.requester ? [places.requester] : []),
      ...begun,
    ]
    return claimant && claimAtOnce(tx, engine, claimant, held)
  })
}

/** The sessions that an ending touches: the run's own, and the one that hears of it. */
export interface Places {
  session: Session
  requester: Session | undefined
}

/** Everything a turn is made of, whoever ends the run. */
export interface Work extends Places {
  run: Run
  journal: Journal
  /** What the model was told it is; null where nobody asked one. */
  prompt: string | null
  /** Of everything that led to the end. */
  label: Label
  /** What it was reminded of. */
  recalled?: Shown[]
  passages?: ShownPassage[]
  /** Where things stood, as it was told. */
  narrativeId?: number | undefined
  /** Files that it wrote, if somebody has looked at them. */
  artifacts?: Artifact[]
}

export async function lockPlaces(tx: Tx, run: Pick<Run, 'id' | 'sessionId' | 'requesterSessionId'>): Promise<Places> {
  const ids = [run.sessionId, run.requesterSessionId].filter((id) => id !== null)
  const locked = await lockSessions(tx, ids)
  const session = locked.get(run.sessionId ?? '')
  if (!session) throw new Error(`run ${run.id} has no session`)
  return { session, requester: locked.get(run.requesterSessionId ?? '') }
}

/**
 * Every terminal run leaves one turn, failed and cancelled ones too: the head moves, the inputs are consumed. Answers the
 * sessions of the tasks that this end began.
 */
export async function leaveTurn(
  tx: Tx,
  engine: Engine,
  { run, session, requester, journal, prompt, label, recalled = [], passages = [], narrativeId, artifacts }: Work,
  ending: Ending,
  ids: EndIds,
  model: string | null,
): Promise<Session[]> {
  const now = engine.clock.now()
  const items = await itemsOfRun(tx, run.id)
  const queryMessages = items.map(messageOf)
  const responseMessage: Message = { id: ids.turnId, role: 'assistant', content: ending.text, timestamp: now }
  const parent = session.headTurnId === null ? null : ((await findThread(tx, session.headTurnId)) ?? null)
  const { depth } = await insertPlacedTurn(
    tx,
    { segmentId: session.segmentId, parent, personaId: session.personaId },
    {
      id: ids.turnId,
      type: 'normal',
      status: ending.state,
      queryMessages,
      responseMessage,
      model: { requested: run.modelRequested, actual: model },
      thinkingConfig: wishesOf(items).thinking ?? null,
      toolCalls: journal.entries,
      tokenCount: estimateTokens([...queryMessages, responseMessage]),
      usage: await spentBy(tx, { runId: run.id }),
      compaction: null,
      promptHash: prompt === null ? null : await keptPrompt(tx, prompt),
      label: joinLabels([labelOf(queryMessages), label]),
      runId: run.id,
      timestamp: now,
    },
  )
  await moveHead(tx, session, ids.turnId, now)
  await finishRun(tx, run.id, { state: ending.state, error: ending.error, activeMs: run.activeMs, label, at: now })
  await consumeItems(tx, run.id, ids.turnId)
  await noteRecalls(tx, run.id, recalled, now)
  await notePassages(tx, run.id, passages)
  if (narrativeId !== undefined) await noteBegunWith(tx, run.id, narrativeId)
  await keepNarrative(
    tx,
    { run, items, label: joinLabels([labelOf(queryMessages), label]), folder: session.folder, now },
    ending,
  )
  if (ending.state === 'completed') await markRead(tx, items, session)
  // Whoever cancels a run wants nothing of its children, either, even if it was done before it could heed that.
  if (run.cancelReason !== null || ending.state === 'cancelled')
    await cancelChildren(tx, run.id, run.cancelReason ?? 'its parent was cancelled')
  else await joinChildren(tx, run, session, ids, now, journal.rest?.runIds)
  const waiting = await waitingItems(tx, session.id)
  if (waiting.some(({ wake }) => wake)) await nextRun(tx, { session, runId: ids.nextRunId, now })
  // A child that waits for children of its own, or goes on with them, is heard of when it is done with that.
  const isOver = requester && (ending.state === 'cancelled' || (await isDone(tx, session.id)))
  const begun = isOver
    ? await deliverResult(tx, engine, { ...run, label }, requester, ending, ids, now, { items, artifacts })
    : []
  await tellEnd(tx, run, session, ending, ids.turnId, depth, now)
  return begun
}

/**
 * Notes which results the session has read: those that woke this turn, and those that woke one before it that failed. Their
 * lines stand in the turns that failed, so that the first turn that succeeds is shown them.
 */
async function markRead(tx: Tx, items: InboxItem[], { id, headTurnId }: Session): Promise<void> {
  await markProcessed(
    tx,
    items.flatMap(({ resultId }) => resultId ?? []),
  )
  if (headTurnId !== null && !(await isAnswer(tx, headTurnId))) await markHeard(tx, id)
}

/** Asks for their end in the commit of their parent's: a process that dies here leaves no orphan. */
export async function cancelChildren(tx: Tx, runId: string, reason: string): Promise<void> {
  for (const { id } of await childrenOf(tx, runId)) {
    const child = await lockRun(tx, id)
    if (child?.cancelReason !== null) continue
    if (child.finishedAt === null) await askToCancel(tx, child, reason)
    // One that ended and waits for what it began needs the lock of its session: the next sweep has it.
    else if (await isWaiting(tx, child.id)) await noteCancelled(tx, child.id, reason)
  }
}

async function tellEnd(tx: Tx, run: Run, session: Session, ending: Ending, turnId: string, depth: number, now: number) {
  const payload = { session: session.label, folder: session.folder, depth, run: run.id }
  await recordEvent(tx, { at: now, kind: 'turn.added', subject: `turn:${turnId}`, payload })
  await recordEvent(tx, { at: now, kind: 'run.ended', subject: `run:${run.id}`, payload: { state: ending.state } })
  tx.hint('runs')
  tx.hint(`ended:${run.rootRunId}`)
}

async function keptPrompt(tx: Tx, text: string): Promise<string> {
  const hash = createHash('sha256').update(text).digest('hex')
  await keepPrompt(tx, hash, text)
  return hash
}
