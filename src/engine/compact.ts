import { joinLabels } from '../domain/label.ts'
import type { Message } from '../domain/message.ts'
import type { ModelMessage } from '../domain/model.ts'
import { noUsage } from '../domain/turn.ts'
import { recordEvent } from '../store/events.ts'
import { lockSession, moveHead } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { findThread, insertPlacedTurn } from '../store/threads.ts'
import { settleUsage } from '../store/usage.ts'
import type { ActiveRun } from './active-run.ts'
import { readContext } from './context.ts'
import type { CompactStep } from './journal.ts'
import { compactionBelow, estimateTokens } from './make-turn.ts'
import { summaryOf } from './model-messages.ts'
import { mostOutput } from './model-request.ts'
import type { PathTurn } from './path-turn.ts'
import { canStandFor, instruction, openings, stillNamed, tooShort, transcribed } from './summary.ts'
import { type NoThought, type Thought, thinkAbout } from './think.ts'
import { tokensIn, tokensOf } from './weight.ts'

// A window is full when this part of what a question may take is used; a third of that is kept word for word.
const fullAt = 0.8
const keptPart = 0.3
/** How often a model is asked for a summary that can stand for what it replaces. */
const mostTries = 2
// Less than this is not worth a call: what is left would be as full as before.
const worthFolding = 0.2

/**
 * Makes room when the window is nearly full. Before a run's first call what lies before it is folded into a compaction
 * turn, by the same run; later what the run itself did is folded into a step. History is never rewritten.
 */
export async function makeRoom(run: ActiveRun): Promise<NoThought | undefined> {
  const most = room(run)
  if (tokensOf(run.shown) <= most * fullAt) return undefined
  return run.journal.replies === 0 ? compactPath(run, most) : compactSteps(run, most)
}

/** Tokens that a question may have. */
function room({ engine, model, claimed }: ActiveRun): number {
  return model.window - mostOutput(engine, model, claimed.run)
}

async function compactPath(run: ActiveRun, most: number): Promise<NoThought | undefined> {
  const old = oldTurns(run.context.path, most * keptPart)
  const messages = old.flatMap((turn) => turn.messages)
  if (!isWorthIt(messages, most)) return undefined
  const summed = await summarise(run, messages, most)
  if (typeof summed === 'string') return summed
  await leaveCompaction(run, old, summed)
  run.context = await readContext(run.engine, run.claimed, run.journal.heard)
  return undefined
}

/** Puts the summary at the head of the session, where every later context begins. */
async function leaveCompaction(run: ActiveRun, old: PathTurn[], { text, from, to, last }: Summary): Promise<void> {
  const { engine, claimed } = run
  const now = engine.clock.now()
  const id = engine.newId()
  const responseMessage: Message = { id, role: 'assistant', content: text, timestamp: now }
  await engine.store.write('compact', async (tx) => {
    const session = await lockSession(tx, claimed.session.id)
    await run.hold(tx)
    const parent = session?.headTurnId ? await findThread(tx, session.headTurnId) : undefined
    if (!session || !parent) throw new Error(`run ${claimed.run.id} has nothing to compact`)
    const spot = { segmentId: session.segmentId, parent, personaId: session.personaId }
    const { depth } = await insertPlacedTurn(tx, spot, {
      id,
      type: 'compaction',
      status: 'completed',
      queryMessages: [],
      responseMessage,
      model: { requested: claimed.run.modelRequested, actual: last.reply.model },
      thinkingConfig: null,
      toolCalls: [],
      tokenCount: estimateTokens([responseMessage]),
      // The cost is told with the turn that the run leaves at its end.
      usage: noUsage,
      compaction: compactionBelow(parent, Math.max(...old.map(({ depth }) => depth))),
      promptHash: null,
      label: joinLabels(old.map(({ label }) => label)),
      runId: claimed.run.id,
      timestamp: now,
    })
    await moveHead(tx, session, id, now)
    await settle(tx, run, last)
    await recordEvent(tx, {
      at: now,
      kind: 'turn.added',
      subject: `turn:${id}`,
      payload: { session: session.label, folder: session.folder, depth, run: claimed.run.id, compaction: { from, to } },
    })
  })
}

async function compactSteps(run: ActiveRun, most: number): Promise<NoThought | undefined> {
  const { messages } = run.journal
  if (!isWorthIt(messages, most)) return undefined
  const summed = await summarise(run, messages, most)
  if (typeof summed === 'string') return summed
  const { text: summary, from, to, last } = summed
  const step = run.journal.next('compact', { summary, from, to } satisfies CompactStep)
  await run.record([step], (tx) => settle(tx, run, last))
  return undefined
}

/** All but the newest turns that fit into what is kept; a summary and what it kept are always among the old. */
function oldTurns(path: readonly PathTurn[], kept: number): PathTurn[] {
  const summary = path.find(({ type }) => type === 'compaction')
  const foldedBefore = summary?.depth ?? 0
  let left = kept
  let from = path.length
  while (from > 0) {
    const next = path[from - 1] as PathTurn
    left -= tokensIn(next.messages.map(transcribed).join('\n'))
    if (left < 0 || next.depth <= foldedBefore) break
    from--
  }
  return path.slice(0, from)
}

function isWorthIt(messages: readonly ModelMessage[], most: number): boolean {
  return weightOf(messages) >= most * worthFolding
}

function weightOf(messages: readonly ModelMessage[]): number {
  return tokensOf({ system: '', messages: [...messages], tools: [] })
}

interface Summary {
  text: string
  /** Tokens of what it stands for, and its own. */
  from: number
  to: number
  /** The call that finished it; its cost is settled together with what becomes of the summary. */
  last: Thought
}

/** Folds messages into one summary, as many at a time as fit beside the summary so far. */
async function summarise(
  run: ActiveRun,
  messages: readonly ModelMessage[],
  most: number,
): Promise<Summary | NoThought> {
  let text = ''
  let last: Thought | undefined
  for (const piece of pieces(messages.map(transcribed), most)) {
    const before = text === '' ? '' : `${summaryOf(text)}\n\n`
    for (let tries = 1, again = ''; tries <= mostTries; tries++) {
      const finished = last
      if (finished) await run.write('step', (tx) => settle(tx, run, finished))
      const asked: ModelMessage = { role: 'user', content: `${before}${piece}${again}` }
      const thought = await thinkAbout(run, { system: instruction, messages: [asked], tools: [] })
      if (typeof thought === 'string') return thought
      last = thought
      text = thought.reply.text
      if (canStandFor(text, piece)) break
      again = tooShort(text)
      // Refused: what the runtime itself can tell takes its place.
      if (tries === mostTries) text = `${before}${openings(piece, most * keptPart)}`
    }
  }
  if (!last) throw new Error('there is nothing to summarise')
  const whole = `${text}${stillNamed(messages, text)}`
  return { text: whole, from: weightOf(messages), to: tokensIn(whole), last }
}

function settle(tx: Tx, { claimed }: ActiveRun, { reply, call }: Thought): Promise<void> {
  return settleUsage(tx, { runId: claimed.run.id, call, model: reply.model }, reply.usage)
}

/** Texts put together so that each piece leaves room for the summary of those before it. */
function pieces(texts: string[], most: number): string[] {
  const largest = Math.floor(most / 2)
  const made: string[] = []
  let current: string[] = []
  let weight = 0
  for (const text of texts.flatMap((each) => cutToFit(each, largest))) {
    const own = tokensIn(text)
    if (weight + own > largest && current.length > 0) {
      made.push(current.join('\n\n'))
      current = []
      weight = 0
    }
    current.push(text)
    weight += own
  }
  if (current.length > 0) made.push(current.join('\n\n'))
  return made
}

/** A text that is too long for one piece, in several. */
function cutToFit(text: string, largest: number): string[] {
  if (tokensIn(text) <= largest) return [text]
  // Never more than four bytes a character, so that every part fits.
  const parts: string[] = []
  const characters = [...text]
  for (let from = 0; from < characters.length; from += largest)
    parts.push(characters.slice(from, from + largest).join(''))
  return parts
}
