import { joinLabels } from '../domain/label.ts'
import type { Message, Part } from '../domain/message.ts'
import type { ModelMessage } from '../domain/model.ts'
import { noUsage } from '../domain/turn.ts'
import { recordEvent } from '../store/events.ts'
import { lockSession, moveHead } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { findThread, insertPlacedTurn, type SaidTurn } from '../store/threads.ts'
import { settleUsage } from '../store/usage.ts'
import type { ActiveRun } from './active-run.ts'
import { readContext, summaryOf, told } from './context.ts'
import type { CompactStep } from './journal.ts'
import { compactionBelow, estimateTokens } from './make-turn.ts'
import { mostOutput } from './model-request.ts'
import { type NoThought, type Thought, thinkAbout } from './think.ts'
import { tokensIn, tokensOf } from './weight.ts'

// A window is full when this part of what a question may take is used; a third of that is kept word for word.
const fullAt = 0.8
const keptPart = 0.3
// Less than this is not worth a call: what is left would be as full as before.
const worthFolding = 0.2

const instruction =
  'You keep the memory of a conversation that has become too long. Write the summary that will stand for the text ' +
  'below. Keep what was asked for and why, what was decided and done, names, numbers, paths and quotes exactly as ' +
  'they are, and what is still open or promised. Add nothing. Answer with the summary only.'

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
  const texts = old.flatMap(told).map(transcribed)
  if (!isWorthIt(texts, most)) return undefined
  const summed = await summarise(run, texts, most)
  if (typeof summed === 'string') return summed
  await leaveCompaction(run, old, summed)
  run.context = await readContext(run.engine, run.claimed, run.journal.heard)
  return undefined
}

/** Puts the summary at the head of the session, where every later context begins. */
async function leaveCompaction(run: ActiveRun, old: SaidTurn[], { text, last }: Summary): Promise<void> {
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
      payload: { session: session.label, folder: session.folder, depth, run: claimed.run.id, compaction: true },
    })
  })
}

async function compactSteps(run: ActiveRun, most: number): Promise<NoThought | undefined> {
  const texts = run.journal.messages.map(transcribed)
  if (!isWorthIt(texts, most)) return undefined
  const summed = await summarise(run, texts, most)
  if (typeof summed === 'string') return summed
  const step = run.journal.next('compact', { summary: summed.text } satisfies CompactStep)
  await run.record([step], (tx) => settle(tx, run, summed.last))
  return undefined
}

/** All but the newest turns that fit into what is kept; a summary and what it kept are always among the old. */
function oldTurns(path: readonly SaidTurn[], kept: number): SaidTurn[] {
  const summary = path.find(({ type }) => type === 'compaction')
  const foldedBefore = summary?.depth ?? 0
  let left = kept
  let from = path.length
  while (from > 0) {
    const next = path[from - 1] as SaidTurn
    left -= tokensIn(told(next).map(transcribed).join('\n'))
    if (left < 0 || next.depth <= foldedBefore) break
    from--
  }
  return path.slice(0, from)
}

function isWorthIt(texts: string[], most: number): boolean {
  return texts.reduce((sum, text) => sum + tokensIn(text), 0) >= most * worthFolding
}

interface Summary {
  text: string
  /** The call that finished it; its cost is settled together with what becomes of the summary. */
  last: Thought
}

/** Folds texts into one summary, as many at a time as fit beside the summary so far. */
async function summarise(run: ActiveRun, texts: string[], most: number): Promise<Summary | NoThought> {
  let text = ''
  let last: Thought | undefined
  for (const piece of pieces(texts, most)) {
    const finished = last
    if (finished) await run.write('step', (tx) => settle(tx, run, finished))
    const before = text === '' ? '' : `${summaryOf(text)}\n\n`
    const messages: ModelMessage[] = [{ role: 'user', content: `${before}${piece}` }]
    const thought = await thinkAbout(run, { system: instruction, messages, tools: [] })
    if (typeof thought === 'string') return thought
    last = thought
    text = thought.reply.text.trim() === '' ? `${before}${openings(piece)}` : thought.reply.text
  }
  if (!last) throw new Error('there is nothing to summarise')
  return { text, last }
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

function transcribed(message: ModelMessage): string {
  if (message.role === 'tool') return `tool ${message.name} answered: ${message.content}`
  if (message.role === 'user') return [`user: ${message.content}`, ...(message.parts ?? []).map(mentioned)].join('\n')
  const calls = message.calls.map(({ name, input }) => `called ${name} with ${JSON.stringify(input)}`)
  return [`assistant: ${message.content}`, ...calls].join('\n')
}

function mentioned(part: Part): string {
  if (part.type === 'file') return `(with the file ${part.path})`
  return `(with a picture, ${part.path === undefined ? '' : `${part.path}, `}${part.mediaType})`
}

/** What there is when a model has no summary to give: the beginning of everything, and nothing made up. */
function openings(piece: string): string {
  const shortest = 200
  return piece
    .split('\n\n')
    .map((text) => text.slice(0, shortest))
    .join('\n')
}
