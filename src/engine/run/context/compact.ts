import { HeddleError } from '../../../domain/errors.ts'
import { joinLabels } from '../../../domain/label.ts'
import { linkMessages } from '../../../domain/message.ts'
import type { ModelMessage } from '../../../domain/model.ts'
import { minTurnsToCompact } from '../../../domain/run-options.ts'
import { noUsage, type Thread } from '../../../domain/turn.ts'
import { recordEvent } from '../../../store/rows/events.ts'
import { ownerIn } from '../../../store/rows/search/documents.ts'
import { lockSession, moveHead } from '../../../store/rows/sessions.ts'
import { findThread, insertPlacedTurn } from '../../../store/rows/threads.ts'
import { settleUsage } from '../../../store/rows/usage.ts'
import type { Tx } from '../../../store/store.ts'
import type { ReceivedReply } from '../../model/accept-reply.ts'
import { summaryMessage } from '../../model/model-messages.ts'
import { maxOutput } from '../../model/model-request.ts'
import { tokensOf, tokensOfText } from '../../model/weight.ts'
import { compactionBelow, estimateTokens } from '../../turns/make-turn.ts'
import type { ActiveRun } from '../active-run.ts'
import { askForRuntime, type NoReply } from '../think.ts'
import { readContext } from './context.ts'
import type { CompactStep } from './journal.ts'
import type { PathTurn } from './path-turn.ts'
import {
  isLongEnough,
  missingReferences,
  openingLines,
  summaryInstruction,
  tooShortNotice,
  transcribe,
} from './summary.ts'

// Part of the max input at which the window counts as full, and part that is kept verbatim.
const fullAt = 0.8
const keptPart = 0.3
/** Max attempts to get a summary that is long enough. */
const maxTries = 2
// Part of the max input below which compaction would free too little to be worth a call.
const minCompactedPart = 0.2
/** Max summaries in a row, within a run, that do not make enough room: a model that cannot summarise must not go on for ever. */
const maxUselessSummaries = 3

/**
 * Compacts when the model's window is nearly full, or its input asks for it. Before a run's first reply, the conversation before it is summarised
 * into a compaction turn; later, the run's own steps into a step. History is never rewritten.
 */
export async function compactIfFull(run: ActiveRun): Promise<NoReply | undefined> {
  const maxTokens = maxInputTokens(run)
  if (isAsked(run)) return compactPath(run, maxTokens, run.context.path)
  if (tokensOf(run.modelInput) <= maxTokens * fullAt) return undefined
  if (run.journal.replies > 0) return compactSteps(run, maxTokens)
  const old = oldTurns(run.context.path, maxTokens * keptPart)
  const isWorthIt = isWorthCompacting(messagesOf(old), maxTokens)
  return isWorthIt ? compactPath(run, maxTokens, old) : undefined
}

/** Whether the sender wants a summary, and there is something that none covers yet. */
function isAsked({ claimed, journal, context }: ActiveRun): boolean {
  if (claimed.run.options.compact !== true || journal.replies > 0) return false
  const covered = context.path.find(({ type }) => type === 'compaction')?.depth ?? 0
  return context.path.filter(({ depth }) => depth > covered).length >= minTurnsToCompact
}

function messagesOf(turns: readonly PathTurn[]): ModelMessage[] {
  return turns.flatMap((turn) => turn.messages)
}

/** Max tokens of a model request's input. */
function maxInputTokens({ engine, window, claimed, settings }: ActiveRun): number {
  return window - maxOutput(engine, window, claimed.run, settings)
}

async function compactPath(run: ActiveRun, maxTokens: number, old: readonly PathTurn[]): Promise<NoReply | undefined> {
  const summary = await summarise(run, messagesOf(old), maxTokens)
  if (typeof summary === 'string') return summary
  const head = await writeCompactionTurn(run, old, summary)
  run.moveTo(head, await readContext(run.engine, { ...run.claimed, head }, run.journal.steeredItemIds))
  return undefined
}

/** Writes the summary as the session's new head; every later context begins there. */
async function writeCompactionTurn(
  run: ActiveRun,
  old: readonly PathTurn[],
  { text, from, to, last }: Summary,
): Promise<Thread> {
  const { engine, claimed } = run
  const now = engine.clock.now()
  const id = engine.newId()
  const { requested, clamped } = claimed.actor.model
  return run.commit('compact', async (tx) => {
    const session = await lockSession(tx, claimed.session.id)
    await run.fence(tx)
    const parent = session?.headTurnId ? await findThread(tx, session.headTurnId) : undefined
    if (!session || !parent) throw new Error(`run ${claimed.run.id} has nothing to compact`)
    const messages = linkMessages({
      parentTurnId: parent.turnId,
      queryMessages: [],
      responseMessage: { id, role: 'assistant', content: text, timestamp: now },
      model: last.reply.model,
      thinkingConfig: null,
    })
    const spot = { segmentId: session.segmentId, parent, config: session, owner: ownerIn(session) }
    const thread = await insertPlacedTurn(tx, spot, {
      id,
      type: 'compaction',
      status: 'completed',
      ...messages,
      model: { requested, actual: last.reply.model, ...(clamped && { clamped }) },
      thinkingConfig: null,
      settings: null,
      toolCalls: [],
      tokenCount: estimateTokens([messages.responseMessage]),
      // The cost is part of the turn that the run writes at its end.
      usage: noUsage,
      compaction: compactionBelow(parent, Math.max(...old.map(({ depth }) => depth))),
      promptHash: null,
      label: joinLabels(old.map(({ label }) => label)),
      runId: claimed.run.id,
      timestamp: now,
    })
    await moveHead(tx, session, { headTurnId: id, now })
    await settleCall(tx, run, last)
    await recordEvent(tx, {
      at: now,
      kind: 'turn.added',
      subject: `turn:${id}`,
      payload: {
        ...{ session: session.label, folder: session.folder, depth: thread.depth },
        ...{ run: claimed.run.id, compaction: { from, to } },
      },
      scope: claimed.run,
    })
    return thread
  })
}

async function compactSteps(run: ActiveRun, maxTokens: number): Promise<NoReply | undefined> {
  const { messages } = run.journal
  if (!isWorthCompacting(messages, maxTokens)) return undefined
  assertSummariesHelp(run)
  const result = await summarise(run, messages, maxTokens)
  if (typeof result === 'string') return result
  const { text: summary, from, to, last } = result
  const isFull = tokensOf(run.modelInput) - from + to > maxTokens * fullAt
  // Beside a long brief even a short summary leaves the window nearly full; only a long one is useless.
  const isUseless = isFull && to >= maxTokens * minCompactedPart
  const payload = { summary, from, to, ...(isUseless && { stillFull: true as const }) } satisfies CompactStep
  const step = run.journal.next('compact', payload)
  await run.record([step], (tx) => settleCall(tx, run, last))
  assertSummariesHelp(run)
  return undefined
}

function assertSummariesHelp({ journal, model }: ActiveRun): void {
  if (journal.uselessSummaries < maxUselessSummaries) return
  throw new HeddleError(
    'summaries_too_long',
    `the window of ${model.name} is full, and ${maxUselessSummaries} summaries in a row did not make enough room`,
    'ask a model with a larger window (-m NAME), or divide the work into smaller parts',
  )
}

/** The turns to compact: all but the newest that fit. An earlier summary and the turns it kept are always included. */
function oldTurns(path: readonly PathTurn[], kept: number): PathTurn[] {
  const summary = path.find(({ type }) => type === 'compaction')
  const compactedUpTo = summary?.depth ?? 0
  let left = kept
  let from = path.length
  while (from > 0) {
    const next = path[from - 1] as PathTurn
    left -= tokensOfText(next.messages.map(transcribe).join('\n'))
    if (left < 0 || next.depth <= compactedUpTo) break
    from--
  }
  return path.slice(0, from)
}

function isWorthCompacting(messages: readonly ModelMessage[], maxTokens: number): boolean {
  return weightOf(messages) >= maxTokens * minCompactedPart
}

function weightOf(messages: readonly ModelMessage[]): number {
  return tokensOf({ system: '', messages: [...messages], tools: [] })
}

interface Summary {
  text: string
  /** Tokens of the replaced messages, and of the summary. */
  from: number
  to: number
  /** The model call that finished it; its cost is settled in the commit that stores the summary. */
  last: ReceivedReply
}

/** Summarises messages piece by piece; each request contains the summary so far and the next piece. */
async function summarise(
  run: ActiveRun,
  messages: readonly ModelMessage[],
  maxTokens: number,
): Promise<Summary | NoReply> {
  let text = ''
  let last: ReceivedReply | undefined
  for (const piece of pieces(messages.map(transcribe), maxTokens)) {
    const before = text === '' ? '' : `${summaryMessage(text)}\n\n`
    for (let tries = 1, again = ''; tries <= maxTries; tries++) {
      const finished = last
      if (finished) await run.write('step', (tx) => settleCall(tx, run, finished))
      const question: ModelMessage = { role: 'user', content: `${before}${piece}${again}` }
      const received = await askForRuntime(run, { system: summaryInstruction, messages: [question], tools: [] })
      if (typeof received === 'string') return received
      last = received
      text = received.reply.text
      if (isLongEnough(text, piece)) break
      again = tooShortNotice(text)
      // The model gave no usable summary: use the first lines of the messages instead.
      if (tries === maxTries) text = `${before}${openingLines(piece, maxTokens * keptPart)}`
    }
  }
  if (!last) throw new Error('there is nothing to summarise')
  const whole = `${text}${missingReferences(messages, text)}`
  return { text: whole, from: weightOf(messages), to: tokensOfText(whole), last }
}

function settleCall(tx: Tx, { claimed }: ActiveRun, { reply, call }: ReceivedReply): Promise<void> {
  return settleUsage(tx, { runId: claimed.run.id, call, model: reply.model }, reply.usage)
}

/** Groups texts into pieces that leave room for the summary of the pieces before. */
function pieces(texts: string[], maxTokens: number): string[] {
  const maxPiece = Math.floor(maxTokens / 2)
  const groups: string[] = []
  let current: string[] = []
  let weight = 0
  for (const text of texts.flatMap((each) => cutToFit(each, maxPiece))) {
    const own = tokensOfText(text)
    if (weight + own > maxPiece && current.length > 0) {
      groups.push(current.join('\n\n'))
      current = []
      weight = 0
    }
    current.push(text)
    weight += own
  }
  if (current.length > 0) groups.push(current.join('\n\n'))
  return groups
}

/** Splits a text that is too long for one piece. */
function cutToFit(text: string, maxTokens: number): string[] {
  if (tokensOfText(text) <= maxTokens) return [text]
  // A character has at most four bytes, so every part fits.
  const parts: string[] = []
  const characters = [...text]
  for (let from = 0; from < characters.length; from += maxTokens)
    parts.push(characters.slice(from, from + maxTokens).join(''))
  return parts
}
