import { hash } from 'node:crypto'
import type { Millis } from '../../domain/clock.ts'
import type { TurnDraft } from '../../domain/draft.ts'
import { UsageError } from '../../domain/errors.ts'
import { isUntrusted, joinLabels, type Label } from '../../domain/label.ts'
import { labelOf, linkMessages, type Message } from '../../domain/message.ts'
import { newRun, type Step } from '../../domain/run.ts'
import { noUsage, type Thread, type ToolCall, type ToolCallEntry } from '../../domain/turn.ts'
import { insertRun } from '../../store/rows/runs.ts'
import { insertSteps } from '../../store/rows/steps.ts'
import { savePrompt, type TurnContent } from '../../store/rows/turns.ts'
import type { Tx } from '../../store/store.ts'
import { answerAsText, maxAnswerShown } from '../model/model-messages.ts'
import type { Runtime } from '../runtime.ts'

const charactersPerToken = 4

/** A hand-made turn ready to insert: it has ids, a run of kind `import`, and that run's journal. */
interface PreparedTurn {
  content: Omit<TurnContent, 'compaction' | 'type'>
  steps: Step[]
  prompt: { hash: string; text: string } | null
  compactsTo: number | null
}

/** Assigns ids and times to a draft; `trust` is what the words of its author count. Call before the transaction, so that a retried body writes the same turn. */
export function makeTurn({ clock, newId }: Runtime, draft: TurnDraft, trust?: Label): PreparedTurn {
  const own = trust && isUntrusted(trust) ? [trust] : []
  if (draft.query.length === 0 && draft.compactsTo === undefined)
    throw new UsageError('a turn needs at least one input', 'add --user "…"', 'empty_turn')
  if (draft.systemPrompt?.includes('\0'))
    throw new UsageError('a system prompt cannot hold a NUL character', 'remove it', 'bad_prompt')
  const timestamp = clock.now()
  const runId = newId()
  const queryMessages: Message[] = draft.query.map((input) => ({
    id: newId(),
    role: 'user',
    source: input.source ?? 'human',
    content: input.content,
    ...(input.parts && { parts: input.parts }),
    timestamp,
    ...((input.label || own.length > 0) && { label: joinLabels([...(input.label ? [input.label] : []), ...own]) }),
  }))
  const { toolCalls = [] } = draft
  const { steps, entries } = journal(runId, toolCalls, timestamp)
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
      settings: null,
      toolCalls: entries,
      tokenCount:
        usage.inputTokens + usage.outputTokens || estimateTokens([...queryMessages, responseMessage], toolCalls),
      usage,
      promptHash: draft.systemPrompt === undefined ? null : sha256(draft.systemPrompt),
      // The answer and the tool calls are its author's words as well.
      label: joinLabels([labelOf(queryMessages), ...own]),
      runId,
      timestamp,
    },
    steps,
    prompt: draft.systemPrompt === undefined ? null : { hash: sha256(draft.systemPrompt), text: draft.systemPrompt },
    compactsTo: draft.compactsTo ?? null,
  }
}

/** Writes the turn's run, journal and prompt, and returns the turn's content at this position. */
export async function writeJournal(
  tx: Tx,
  made: PreparedTurn,
  place: { sessionId: string | null; parent: Thread | null; principal: string },
): Promise<TurnContent> {
  const { steps, prompt } = made
  const content = { ...made.content, ...linkedMessages(made.content, place.parent) }
  await insertRun(tx, {
    ...newRun({
      id: content.runId,
      kind: 'import',
      via: 'import',
      sessionId: place.sessionId,
      now: content.timestamp,
      principal: place.principal,
    }),
    state: content.status,
    finishedAt: content.timestamp,
  })
  insertSteps(tx, steps)
  if (prompt) await savePrompt(tx, prompt.hash, prompt.text)
  if (made.compactsTo === null) return { ...content, type: 'normal', compaction: null }
  return { ...content, type: 'compaction', compaction: compactionBelow(place.parent, made.compactsTo) }
}

function linkedMessages({ model, ...content }: PreparedTurn['content'], parent: Thread | null) {
  return linkMessages({ ...content, parentTurnId: parent?.turnId ?? null, model: model.actual })
}

/** Depths that a compaction at this position replaces; throws if there are no such turns. */
export function compactionBelow(parent: Thread | null, toDepth: number) {
  const fromDepth = parent ? Math.max(parent.contextStart, 1) : 1
  if (!parent || toDepth < fromDepth || toDepth > parent.depth)
    throw new UsageError(
      `a compaction here can replace the turns at depth ${fromDepth} to ${parent?.depth ?? 0}, not up to ${toDepth}`,
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

/** Estimated tokens of messages and tool calls without a provider's count. */
export function estimateTokens(messages: readonly Message[], calls: readonly CallText[] = []): number {
  const said = messages.reduce((sum, { content }) => sum + content.length, 0)
  const done = calls.reduce(
    (sum, { name, input, output }) =>
      sum + name.length + charactersOf(input) + Math.min(charactersOf(output), maxAnswerShown),
    0,
  )
  return Math.ceil((said + done) / charactersPerToken)
}

/** A tool call as a model sees it. */
type CallText = Pick<ToolCall, 'name' | 'input' | 'output'>

function charactersOf(value: unknown): number {
  return answerAsText(value).length
}

function sha256(text: string): string {
  return hash('sha256', text)
}
