import type { ModelMessage, ModelRequest, RequestedCall } from '../domain/model.ts'
import { parseWorkOrder, type WorkOrder } from './order.ts'

/** A tool call without an id. */
export type ScriptedCall = Pick<RequestedCall, 'name'> & { input: Record<string, unknown> }

/** The script's view of a request: agent, task, and tool answers since. */
export interface ScriptView extends WorkOrder {
  system: string
  messages: readonly ModelMessage[]
  tools: ReadonlySet<string>
  /** A user's message waits for an answer, not only a message of the runtime. */
  isAsked: boolean
  /** Answers by call. */
  answers: ReadonlyMap<string, string>
}

/** Next step: tool calls, optionally with text, or a final text. */
export type ScriptStep = { calls: ScriptedCall[]; text?: string } | { text: string }

/** Reads a request as a provider would get it. */
export function readRequest({
  system,
  messages,
  tools,
}: Pick<ModelRequest, 'system' | 'messages' | 'tools'>): ScriptView {
  const last = messages.findLastIndex(({ role, content }) => role === 'user' && !isNote(content))
  const answers = new Map<string, string>()
  for (const { name, input, text } of answeredCalls(messages.slice(last + 1))) {
    const key = keyOf({ name, input })
    if (!answers.has(key)) answers.set(key, text)
  }
  const end = messages.findLastIndex((message) => message.role === 'assistant' && message.calls.length === 0)
  return {
    isAsked: last > end,
    ...parseWorkOrder(messages[last]?.content ?? ''),
    system,
    messages,
    answers,
    tools: new Set(tools.map(({ name }) => name)),
  }
}

/** Answered calls, in the order of their answers. */
export function answeredCalls(messages: readonly ModelMessage[]): (ScriptedCall & { text: string })[] {
  const calls = new Map(
    messages.flatMap((message) => (message.role === 'assistant' ? message.calls.map((call) => [call.id, call]) : [])),
  )
  return messages.flatMap((message) => {
    if (message.role !== 'tool') return []
    const input = (calls.get(message.callId)?.input ?? {}) as Record<string, unknown>
    return [{ name: message.name, input, text: message.content }]
  })
}

/** Whether the runtime wrote this user message, which asks for nothing. */
function isNote(content: string): boolean {
  return content.startsWith('[') || content.startsWith('all started agents have ended')
}

/** Answer of a call, if it was made. */
export function answerTo({ answers }: ScriptView, name: string, input: Record<string, unknown>): string | undefined {
  return answers.get(keyOf({ name, input }))
}

/** Max calls in one reply, so that people can follow. */
export const maxConcurrentCalls = 16

/** Answers of all these calls, or the next calls to make. */
export function answersOrCalls(
  view: ScriptView,
  calls: ScriptedCall[],
): { answers: string[] } | { calls: ScriptedCall[] } {
  const missing = calls.filter(({ name, input }) => answerTo(view, name, input) === undefined)
  if (missing.length > 0) return { calls: missing.slice(0, maxConcurrentCalls) }
  return { answers: calls.map(({ name, input }) => answerTo(view, name, input) ?? '') }
}

function keyOf({ name, input }: ScriptedCall): string {
  return `${name} ${JSON.stringify(input)}`
}
