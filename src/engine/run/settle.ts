import { createHash } from 'node:crypto'
import { linkMessages } from '../../domain/message.ts'
import type { Ending, Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import type { TurnSettings } from '../../domain/turn.ts'
import { requestCancel, setCancelReason } from '../../store/rows/cancels.ts'
import { startedRuns } from '../../store/rows/child-runs.ts'
import { recordBoth } from '../../store/rows/events.ts'
import { consumeItems, waitingItems } from '../../store/rows/inbox.ts'
import { isWaitingForChildren } from '../../store/rows/joins.ts'
import { markDelivered, markProcessed } from '../../store/rows/results.ts'
import { finishRun, lockRun } from '../../store/rows/runs.ts'
import { ownerIn } from '../../store/rows/search/documents.ts'
import { moveHead } from '../../store/rows/sessions.ts'
import { toolCallsOf } from '../../store/rows/steps.ts'
import { findThread, insertPlacedTurn } from '../../store/rows/threads.ts'
import { isAnswer, savePrompt } from '../../store/rows/turns.ts'
import { spendingBy } from '../../store/rows/usage.ts'
import type { Tx } from '../../store/store.ts'
import type { ReceivedReply } from '../model/accept-reply.ts'
import { estimateTokens } from '../turns/make-turn.ts'
import type { ActiveRun } from './active-run.ts'
import { closeCalls } from './budget.ts'
import { claimAtOnce } from './claim.ts'
import type { ClaimedRun } from './claimed-run.ts'
import { messageOf } from './context/context.ts'
import { deliverResult, isDone, joinChildren } from './deliver.ts'
import { beginSettlement, lockRunSessions, type Settlement } from './settlement.ts'
import { nextRun } from './submit.ts'

/**
 * Ends a run of this process: turn, head, inputs, cost, delivery, joins and the next run commit together, or not at all.
 * The last reply, if it ends the run, is part of this transaction instead of a step of its own. Returns the run that
 * comes next, if it could be claimed in the same commit.
 */
export async function settle(run: ActiveRun, ending: Ending, last?: ReceivedReply): Promise<ClaimedRun | undefined> {
  const { engine, claimed } = run
  const checked = await engine.moments.beforeSettle(run, ending)
  return engine.store.write('settle', async (tx) => {
    const sessions = await lockRunSessions(tx, claimed.run)
    const { cancelReason } = await run.fence(tx)
    await closeCalls(tx, run)
    const settlement = await beginSettlement(tx, engine, {
      ...sessions,
      run: { ...claimed.run, activeMs: run.activeMs, cancelReason },
      journal: run.journal,
      ending: checked.ending,
      prompt: run.prompt,
      model: last?.reply.model ?? run.journal.lastReply?.model ?? null,
      clamped: claimed.actor.model.clamped,
      label: run.label,
      ...(run.sent && { settings: run.sent }),
      permissions: claimed.actor.permissions,
    })
    const end = { ...settlement, notes: run.notes, written: checked.written }
    const started = await endRun(end)
    const own = { ...sessions.session, headTurnId: settlement.turnId }
    const held = [own, ...(sessions.requester ? [sessions.requester] : []), ...started]
    const next = run.claimant && (await claimAtOnce(tx, engine, run.claimant, held))
    await engine.moments.afterSettle(end)
    return next
  })
}

/**
 * The steps of every ending, in order; `afterSettle` follows. Every terminal run leaves one turn, failed and cancelled ones
 * too. Returns the sessions of the runs that this end started.
 */
export async function endRun(end: Settlement): Promise<Session[]> {
  const depth = await writeTurn(end)
  await moveHead(end.tx, end.session, end.turnId, end.now)
  await finish(end)
  await consumeItems(end.tx, end.run.id, end.turnId)
  await end.notes?.record(end.tx, end.run.id, end.now)
  await end.engine.moments.inSettle(end)
  await markResultsRead(end)
  await joinOrCancelChildren(end)
  await queueNextRun(end)
  const started = await notifyRequester(end)
  await emitEnd(end, depth)
  return started
}

async function writeTurn(end: Settlement): Promise<number> {
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
  const parent = session.headTurnId === null ? null : ((await findThread(tx, session.headTurnId)) ?? null)
  const { depth } = await insertPlacedTurn(
    tx,
    { segmentId: session.segmentId, parent, config: session, owner: ownerIn(session) },
    {
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
      usage: await spendingBy(tx, { runId: run.id }),
      compaction: null,
      promptHash: end.prompt === null ? null : await storePrompt(tx, end.prompt),
      label: end.turnLabel,
      runId: run.id,
      timestamp: now,
    },
  )
  return depth
}

/** Settings of the run's last model call besides thinking, and its permissions; null where they are the defaults. */
function notedSettings({ settings = {}, permissions = [] }: Settlement): TurnSettings | null {
  const { thinking: _, ...sent } = settings
  const limits = permissions.filter((each) => Object.values({ ...each, ...each.tools, tools: undefined }).some(Boolean))
  const noted = { ...sent, ...(limits.length > 0 && { permissions: limits }) }
  return Object.keys(noted).length === 0 ? null : noted
}

function finish({ tx, run, ending, now }: Settlement): Promise<void> {
  const { activeMs, label } = run
  return finishRun(tx, run.id, { state: ending.state, error: ending.error, activeMs, label, at: now })
}

/**
 * Marks the results that the session has read: those that woke this turn, and those that woke failed turns before it. The
 * model sees both, since the lines of the latter stand in the failed turns.
 */
async function markResultsRead({ tx, ending, items, now, session: { id, headTurnId } }: Settlement): Promise<void> {
  if (ending.state !== 'completed') return
  await markProcessed(
    tx,
    items.flatMap(({ resultId }) => resultId ?? []),
    now,
  )
  if (headTurnId !== null && !(await isAnswer(tx, headTurnId))) await markDelivered(tx, id, now)
}

/** Cancelling a run cancels its children too, even if the run itself completed first. */
async function joinOrCancelChildren(end: Settlement): Promise<void> {
  const { tx, run, ending } = end
  if (run.cancelReason !== null || ending.state === 'cancelled')
    await cancelRuns(tx, await startedRuns(tx, run), run.cancelReason ?? 'its parent was cancelled')
  else await joinChildren(end, end.journal.turnEnd?.runIds)
}

/**
 * Requests the cancellation of runs in the commit that ends what started them: a process that dies here leaves no orphan.
 * One that has ended stands for what it started and nobody joins.
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

async function queueNextRun({ tx, engine, session, now }: Settlement): Promise<void> {
  const waiting = await waitingItems(tx, session.id)
  if (waiting.some(({ wake }) => wake)) await nextRun(tx, { session, runId: engine.newId(), now })
}

/** Delivers a child's result, unless the child still waits for children of its own or continues with their results. */
async function notifyRequester(end: Settlement): Promise<Session[]> {
  const { tx, run, ending, session } = end
  if (run.requesterSessionId === null) return []
  const isOver = ending.state === 'cancelled' || (await isDone(tx, session.id))
  return isOver ? deliverResult(end) : []
}

async function emitEnd({ tx, run, session, ending, turnId, now }: Settlement, depth: number): Promise<void> {
  const payload = { session: session.label, folder: session.folder, depth, run: run.id }
  const added = { kind: 'turn.added' as const, subject: `turn:${turnId}`, payload }
  const ended = { kind: 'run.ended' as const, subject: `run:${run.id}`, payload: { state: ending.state } }
  await recordBoth(tx, { at: now, ...added, scope: run }, { at: now, ...ended, scope: run })
  tx.hint('runs')
  tx.hint(`ended:${run.rootRunId}`)
}

async function storePrompt(tx: Tx, text: string): Promise<string> {
  const hash = createHash('sha256').update(text).digest('hex')
  await savePrompt(tx, hash, text)
  return hash
}
