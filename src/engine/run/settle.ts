import { hash } from 'node:crypto'
import { linkMessages } from '../../domain/message.ts'
import type { Ending, Run } from '../../domain/run.ts'
import type { Thread, TurnSettings } from '../../domain/turn.ts'
import { requestCancel, setCancelReason } from '../../store/rows/cancels.ts'
import { startedRuns } from '../../store/rows/child-runs.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { consumeItems, waitingItems } from '../../store/rows/inbox.ts'
import { isWaitingForChildren } from '../../store/rows/joins.ts'
import { markDelivered, markProcessed } from '../../store/rows/results.ts'
import { lockRun } from '../../store/rows/runs.ts'
import { ownerIn } from '../../store/rows/search/documents.ts'
import { moveHead } from '../../store/rows/sessions.ts'
import { toolCallsOf } from '../../store/rows/steps.ts'
import { tidyMoment } from '../../store/rows/subagents/tidy.ts'
import { findThread, insertPlacedTurn } from '../../store/rows/threads.ts'
import { hasAnswered, isAnswer, savePrompt, type TurnContent } from '../../store/rows/turns.ts'
import { spendingBy } from '../../store/rows/usage.ts'
import type { Tx } from '../../store/store.ts'
import type { ReceivedReply } from '../model/accept-reply.ts'
import { estimateTokens } from '../turns/make-turn.ts'
import type { ActiveRun } from './active-run.ts'
import { closeCalls } from './budget.ts'
import { claimAtOnce } from './claim.ts'
import type { QueueAfterRun } from './claimed-run.ts'
import { messageOf } from './context/context.ts'
import { deliverResult, isDone, joinChildren, type QueuedSession } from './deliver.ts'
import { beginSettlement, lockRunSessions, type Settlement } from './settlement.ts'
import { nextRun } from './submit.ts'

/**
 * Ends a run of this process: turn, head, inputs, cost, delivery, joins and the next run commit together, or not at all.
 * The last reply, if it ends the run, is part of this transaction instead of a step of its own. Returns the run that
 * comes next, if it could be claimed in the same commit.
 */
export async function settle(run: ActiveRun, proposed: Ending, last?: ReceivedReply): Promise<QueueAfterRun> {
  const { engine, claimed } = run
  const { ending, written } = await engine.moments.beforeSettle(run, proposed)
  const { after, thread, turn } = await run.commit('settle', async (tx) => {
    const { activeMs, label } = run
    const now = engine.clock.now()
    const locking = lockRunSessions(tx, claimed.run)
    // Sessions are locked before runs.
    if (claimed.run.depth > 1) await locking
    const [sessions, { cancelReason, isAnyQueued, hasOpenFire }, waiting] = await Promise.all([
      locking,
      run.finish(tx, { ...ending, activeMs, label, at: now }),
      waitingItems(tx, claimed.session.id),
    ])
    const spent = run.costSoFar
    await closeCalls(tx, run)
    const end = await beginSettlement(tx, engine, {
      ...sessions,
      run: { ...claimed.run, activeMs, cancelReason },
      journal: run.journal,
      ending,
      written,
      recordNotes: (tx) => run.recordNotes(tx),
      prompt: run.prompt,
      model: last?.reply.model ?? run.journal.lastReply?.model ?? null,
      clamped: claimed.actor.model.clamped,
      label,
      now,
      ...(run.sent && { settings: run.sent }),
      permissions: claimed.actor.permissions,
      head: run.head,
      spent,
      waiting,
      hasOpenFire,
      ...(run.journal.steeredItemIds.size === 0 && { items: claimed.items }),
    })
    const { thread, turn, queued } = await endRun(end)
    const own = { ...sessions.session, headTurnId: turn.id }
    const held = {
      sessions: [own, ...queued.map(({ session }) => session).filter(({ id }) => id !== own.id)],
      ...(queued[0]?.run && { queued: queued[0].run }),
    }
    const isQueueEmpty = !isAnyQueued && queued.length === 0
    // Only runs of these sessions can be claimed here, so it looks only if this end has queued one of them.
    const next = queued.length > 0 && run.claimant ? await claimAtOnce(tx, engine, run.claimant, held) : undefined
    if (!isQueueEmpty) tx.hint('runs')
    await engine.moments.afterSettle(end)
    return { after: { next, isQueueEmpty }, thread, turn }
  })
  // Most agents work for one turn: their paths would push out those of people.
  if (claimed.session.kind !== 'agent') engine.paths.extend(thread, turn)
  return after
}

/**
 * The steps of every ending, in order; `afterSettle` follows. Every terminal run leaves one turn, failed and cancelled ones
 * too. The run's row must say already that it has ended. Returns its turn, and the runs that this end queued.
 */
export async function endRun(end: Settlement): Promise<{ thread: Thread; turn: TurnContent; queued: QueuedSession[] }> {
  const { thread, turn } = await writeTurn(end)
  await moveHeadOf(end)
  await consumeItems(end.tx, end.run.id, end.turnId)
  await end.recordNotes?.(end.tx)
  await end.engine.moments.inSettle(end)
  await markResultsRead(end)
  const isWoken = await joinOrCancelChildren(end)
  const hasNext = await queueNextRun(end)
  const queued = await notifyRequester(end)
  await emitEnd(end, thread.depth)
  return { thread, turn, queued: isWoken || hasNext ? [{ session: end.session }, ...queued] : queued }
}

/** The last turn of a sub-agent's session also sets when that is tidied up. */
async function moveHeadOf({ tx, engine, run, session, turnId, now, isDone }: Settlement): Promise<void> {
  const tidyAt =
    isDone && run.requesterSessionId !== null ? tidyMoment(run, now, engine.limits.archiveAfterMs) : undefined
  await moveHead(tx, session, { headTurnId: turnId, now, tidyAt })
}

async function writeTurn(end: Settlement): Promise<{ thread: Thread; turn: TurnContent }> {
  const { tx, run, session, ending, items, journal, turnId, now } = end
  const { entries } = journal
  const thinkingConfig = (end.settings ?? run.options).thinking ?? null
  const messages = linkMessages({
    parentTurnId: session.headTurnId,
    queryMessages: items.map(messageOf),
    responseMessage: { id: turnId, role: 'assistant', content: ending.text, timestamp: now },
    model: end.model,
    thinkingConfig,
  })
  const turn: TurnContent = {
    id: turnId,
    type: 'normal',
    status: ending.state,
    ...messages,
    model: { requested: run.modelRequested, actual: end.model, ...(end.clamped && { clamped: end.clamped }) },
    thinkingConfig,
    settings: notedSettings(end),
    toolCalls: entries,
    tokenCount: estimateTokens(
      [...messages.queryMessages, messages.responseMessage],
      toolCallsOf(entries, journal.steps),
    ),
    usage: end.spent ?? (await spendingBy(tx, { runId: run.id })),
    compaction: null,
    promptHash: end.prompt === null ? null : await storePrompt(tx, end.prompt, end.head?.turn?.promptHash),
    label: end.turnLabel,
    runId: run.id,
    timestamp: now,
  }
  const spot = { segmentId: session.segmentId, parent: await parentOf(end), config: session, owner: ownerIn(session) }
  return { thread: await insertPlacedTurn(tx, spot, turn), turn }
}

/** The thread that the turn continues. The run has read it already, unless another process ends it. */
async function parentOf({ tx, session: { headTurnId }, head }: Settlement): Promise<Thread | null> {
  if (headTurnId === null) return null
  return head?.thread.turnId === headTurnId ? head.thread : ((await findThread(tx, headTurnId)) ?? null)
}

/** Settings of the run's last model call besides thinking, and its permissions; null where they are the defaults. */
function notedSettings({ settings = {}, permissions = [] }: Settlement): TurnSettings | null {
  const { thinking: _, ...sent } = settings
  const limits = permissions.filter((each) => Object.values({ ...each, ...each.tools, tools: undefined }).some(Boolean))
  const noted = { ...sent, ...(limits.length > 0 && { permissions: limits }) }
  return Object.keys(noted).length === 0 ? null : noted
}

/**
 * Marks the results that the session has read: those that woke this turn, and those that woke failed turns before it. The
 * model sees both, since the lines of the latter stand in the failed turns.
 */
async function markResultsRead(end: Settlement): Promise<void> {
  const { tx, ending, items, now, session } = end
  if (ending.state !== 'completed') return
  await markProcessed(
    tx,
    items.flatMap(({ resultId }) => resultId ?? []),
    now,
  )
  if (!(await followsAnswer(end))) await markDelivered(tx, session.id, now)
}

/** Whether the turn before has answered its inputs, or there is none. */
async function followsAnswer({ tx, session: { headTurnId }, head }: Settlement): Promise<boolean> {
  if (headTurnId === null) return true
  const known = head?.thread.turnId === headTurnId ? head.turn : undefined
  return known ? isAnswer(known) : hasAnswered(tx, headTurnId)
}

/** Cancelling a run cancels its children too, even if the run itself completed first. Returns whether a join woke the session. */
async function joinOrCancelChildren(end: Settlement): Promise<boolean> {
  const { tx, run, ending } = end
  if (run.cancelReason === null && ending.state !== 'cancelled') return joinChildren(end, end.journal.turnEnd?.runIds)
  await cancelRuns(tx, await startedRuns(tx, run), run.cancelReason ?? 'its parent was cancelled')
  return false
}

/**
 * Requests the cancellation of runs in the commit that ends what started them: a process that dies here leaves no orphan.
 * For an ended run, cancels the children that no run has joined.
 */
export async function cancelRuns(tx: Tx, runs: readonly Run[], reason: string): Promise<void> {
  for (const { id } of runs) {
    const run = await lockRun(tx, id)
    if (run?.cancelReason !== null) continue
    if (run.finishedAt === null) await requestCancel(tx, run, reason)
    // One that has ended and waits for its own children needs its session's lock: the next sweep cancels it.
    else if (await isWaitingForChildren(tx, run.id)) await setCancelReason(tx, run.id, reason)
    // Tasks that follow one of a plan belong to the plan.
    else if (run.kind !== 'task') await cancelRuns(tx, await startedRuns(tx, run), reason)
  }
}

async function queueNextRun({ tx, engine, session, now, ...end }: Settlement): Promise<boolean> {
  const waiting = end.waiting ?? (await waitingItems(tx, session.id))
  const isWoken = waiting.some(({ wake }) => wake)
  if (isWoken) await nextRun(tx, { session, runId: engine.newId(), now })
  return isWoken
}

/** Delivers a child's result, unless the child still waits for children of its own or continues with their results. */
async function notifyRequester(end: Settlement): Promise<QueuedSession[]> {
  const { tx, run, ending, session } = end
  if (run.requesterSessionId === null) return []
  const isOver = end.isDone || ending.state === 'cancelled' || (await isDone(tx, session.id))
  return isOver ? deliverResult(end) : []
}

async function emitEnd({ tx, run, session, ending, turnId, now }: Settlement, depth: number): Promise<void> {
  await recordEvent(tx, {
    at: now,
    kind: 'run.ended',
    subject: `run:${run.id}`,
    payload: { state: ending.state, turn: turnId, session: session.label, folder: session.folder, depth },
    scope: run,
  })
  tx.hint(`ended:${run.rootRunId}`)
}

/** Stores a prompt's text. The turn before mostly had the same: then it is stored. */
async function storePrompt(tx: Tx, text: string, before: string | null | undefined): Promise<string> {
  const digest = hash('sha256', text)
  if (digest !== before) await savePrompt(tx, digest, text)
  return digest
}
