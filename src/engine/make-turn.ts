import { createHash } from 'node:crypto'
import type { Millis } from '../domain/clock.ts'
import type { TurnDraft } from '../domain/draft.ts'
import { Misuse } from '../domain/errors.ts'
import { labelOf, type Message } from '../domain/message.ts'
import { newRun, type Step } from '../domain/run.ts'
import { noUsage, type Thread, type ToolCallEntry } from '../domain/turn.ts'
import { insertRun } from '../store/runs.ts'
import { insertStep } from '../store/steps.ts'
import type { Tx } from '../store/store.ts'
import { keepPrompt, type TurnContent } from '../store/turns.ts'
import type { World } from './world.ts'

const charactersPerToken = 4

/** A turn made by hand, ready to be put somewhere: it has ids, a run of kind `import`, and that run's journal. */
export interface MadeTurn {
  content: Omit<TurnContent, 'compaction' | 'type'>
  steps: Step[]
  prompt: { hash: string; text: string } | null
  compactsTo: number | null
}

/** Gives a draft its ids and times. Done before the transaction, so that a body that runs again writes the same turn. */
export function makeTurn({ clock, newId }: World, draft: TurnDraft): MadeTurn {
  if (draft.query.length === 0 && draft.compactsTo === undefined)
    throw new Misuse('a turn needs at least one input', 'add --user "…"', 'empty_turn')
  if (draft.systemPrompt?.includes('\0'))
    throw new Misuse('a system prompt cannot hold a NUL character', 'remove it', 'bad_prompt')
  const timestamp = clock.now()
  const runId = newId()
  const queryMessages: Message[] = draft.query.map((input) => ({
    id: newId(),
    role: 'user',
    source: input.source ?? 'human',
    content: input.content,
    ...(input.parts && { parts: input.parts }),
    timestamp,
    ...(input.label && { label: input.label }),
  }))
  const { steps, entries } = journal(runId, draft.toolCalls ?? [], timestamp)
  const responseMessage: Message = { id: newId(), role: 'assistant', ...draft.response, timestamp }
  const usage = draft.usage ?? noUsage
  return {
    content: {
      id: responseMessage.id,
      status: draft.status ?? 'completed',
      queryMessages,
      responseMessage,
      model: { requested: draft.model?.requested ?? null, actual: draft.model?.actual ?? null },
      thinkingConfig: draft.thinkingConfig ?? null,
      toolCalls: entries,
      tokenCount: usage.inputTokens + usage.outputTokens || estimateTokens([...queryMessages, responseMessage]),
      usage,
      promptHash: draft.systemPrompt === undefined ? null : sha256(draft.systemPrompt),
      label: labelOf(queryMessages),
      runId,
      timestamp,
    },
    steps,
    prompt: draft.systemPrompt === undefined ? null : { hash: sha256(draft.systemPrompt), text: draft.systemPrompt },
    compactsTo: draft.compactsTo ?? null,
  }
}

/** Writes what the turn rests on: its run, the run's journal and the prompt; then says what the turn is, at this place. */
export async function writeJournal(
  tx: Tx,
  made: MadeTurn,
  place: { sessionId: string | null; parent: Thread | null },
): Promise<TurnContent> {
  const { content, steps, prompt } = made
  await insertRun(tx, {
    ...newRun({ id: content.runId, kind: 'import', via: 'import', sessionId: place.sessionId, now: content.timestamp }),
    state: content.status,
    finishedAt: content.timestamp,
  })
  for (const step of steps) await insertStep(tx, step)
  if (prompt) await keepPrompt(tx, prompt.hash, prompt.text)
  if (made.compactsTo === null) return { ...content, type: 'normal', compaction: null }
  return { ...content, type: 'compaction', compaction: compactionBelow(place.parent, made.compactsTo) }
}

/** What a compaction at this place stands for; refuses one that would stand for what is not there. */
export function compactionBelow(parent: Thread | null, toDepth: number) {
  const fromDepth = parent ? Math.max(parent.contextStart, 1) : 1
  if (!parent || toDepth < fromDepth || toDepth > parent.depth)
    throw new Misuse(
      `a compaction here can stand for the turns at depth ${fromDepth} to ${parent?.depth ?? 0}, not up to ${toDepth}`,
      'look at the depths with: heddle log',
      'bad_compaction',
    )
  return { fromDepth, toDepth }
}

function journal(
  runId: string,
  calls: NonNullable<TurnDraft['toolCalls']>,
  at: Millis,
): { steps: Step[]; entries: ToolCallEntry[] } {
  const steps: Step[] = []
  const add = (kind: Step['kind'], payload: unknown) => steps.push({ runId, seq: steps.length + 1, kind, payload, at })
  const entries = calls.map(({ id, name, input, output, status }) => ({
    id,
    name,
    status,
    begun: add('begun', { id, name, input }),
    ended: add('ended', { id, status, output }),
  }))
  return { steps, entries }
}

/** What content weighs where nobody counted. */
export function estimateTokens(messages: Message[]): number {
  return Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / charactersPerToken)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
