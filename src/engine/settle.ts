import { createHash } from 'node:crypto'
import { labelOf, type Message } from '../domain/message.ts'
import type { ModelReply } from '../domain/model.ts'
import type { Outcome, Run, RunError } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import type { Usage } from '../domain/turn.ts'
import { recordEvent } from '../store/events.ts'
import { consumeItems, itemsOfRun, waitingItems } from '../store/inbox.ts'
import { finishRun } from '../store/runs.ts'
import { lockSession, moveHead } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { findThread, insertPlacedTurn } from '../store/threads.ts'
import { keepPrompt } from '../store/turns.ts'
import { settleUsage, spentBy } from '../store/usage.ts'
import type { ActiveRun } from './active-run.ts'
import { messageOf } from './context.ts'
import type { Journal } from './journal.ts'
import { estimateTokens } from './make-turn.ts'
import { nextRun } from './submit.ts'
import type { Engine } from './world.ts'

/** How a run ends, and what its turn says. */
export interface Ending {
  state: Outcome
  text: string
  error: RunError | null
}

/** The last reply, when it ends the run: it is folded into the settling transaction instead of a step of its own. */
export interface LastReply {
  reply: ModelReply
  call: number
}

/** Ends a run that is ours: turn, head, inputs, cost and the session's next run commit together, or not at all. */
export async function settle(run: ActiveRun, ending: Ending, last?: LastReply): Promise<string> {
  const { engine, claimed } = run
  const ids = { turnId: engine.newId(), nextRunId: engine.newId() }
  return engine.store.write('settle', async (tx) => {
    const session = await lockSession(tx, claimed.session.id)
    if (!session) throw new Error(`run ${claimed.run.id} has no session`)
    await run.hold(tx)
    if (last)
      await settleUsage(
        tx,
        { runId: claimed.run.id, call: last.call, model: last.reply.model },
        'spent',
        last.reply.usage,
      )
    const work = {
      run: { ...claimed.run, activeMs: run.activeMs },
      session,
      journal: run.journal,
    }
    await leaveTurn(tx, engine, work, ending, {
      ...ids,
      model: last?.reply.model ?? run.journal.lastReply?.model ?? null,
    })
    return ids.turnId
  })
}

/** Everything a turn is made of, whoever ends the run. */
export interface Work {
  run: Run
  session: Session
  journal: Journal
}

/** Every terminal run leaves one turn, failed and cancelled ones too: the head moves, the inputs are consumed. */
export async function leaveTurn(
  tx: Tx,
  engine: Pick<Engine, 'clock' | 'systemPrompt'>,
  { run, session, journal }: Work,
  ending: Ending,
  made: { turnId: string; nextRunId: string; model: string | null },
): Promise<void> {
  const now = engine.clock.now()
  const queryMessages = (await itemsOfRun(tx, run.id)).map(messageOf)
  const responseMessage: Message = { id: made.turnId, role: 'assistant', content: ending.text, timestamp: now }
  const parent = session.headTurnId === null ? null : ((await findThread(tx, session.headTurnId)) ?? null)
  const promptHash = await keptPrompt(tx, engine.systemPrompt)
  const { depth } = await insertPlacedTurn(
    tx,
    { segmentId: session.segmentId, parent, personaId: session.personaId },
    {
      id: made.turnId,
      type: 'normal',
      status: ending.state,
      queryMessages,
      responseMessage,
      model: { requested: run.modelRequested, actual: made.model },
      thinkingConfig: null,
      toolCalls: journal.entries,
      tokenCount: estimateTokens([...queryMessages, responseMessage]),
      usage: usageOnly(await spentBy(tx, { runId: run.id })),
      compaction: null,
      promptHash,
      label: labelOf(queryMessages),
      runId: run.id,
      timestamp: now,
    },
  )
  await moveHead(tx, session, made.turnId, now)
  await finishRun(tx, run.id, { state: ending.state, error: ending.error, activeMs: run.activeMs, at: now })
  await consumeItems(tx, run.id, made.turnId)
  await recordEvent(tx, {
    at: now,
    kind: 'turn.added',
    subject: `turn:${made.turnId}`,
    payload: { session: session.label, folder: session.folder, depth, run: run.id },
  })
  await recordEvent(tx, { at: now, kind: 'run.ended', subject: `run:${run.id}`, payload: { state: ending.state } })
  const waiting = await waitingItems(tx, session.id)
  if (waiting.some(({ wake }) => wake)) await nextRun(tx, { session, runId: made.nextRunId, now })
}

async function keptPrompt(tx: Tx, text: string): Promise<string | null> {
  if (text === '') return null
  const hash = createHash('sha256').update(text).digest('hex')
  await keepPrompt(tx, hash, text)
  return hash
}

function usageOnly({ inputTokens, outputTokens, cachedTokens, costUsd }: Usage): Usage {
  return { inputTokens, outputTokens, cachedTokens, costUsd }
}
