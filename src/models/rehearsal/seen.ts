import type { ModelMessage, ModelRequest, RequestedCall } from '../../domain/model.ts'
import { type Order, readOrder } from './order.ts'

/** A call without the name that its answer comes back under. */
export type Call = Pick<RequestedCall, 'name'> & { input: Record<string, unknown> }

/** What a request shows: who is asked, what for, and what the tools have answered since. */
export interface Seen extends Order {
  system: string
  messages: readonly ModelMessage[]
  tools: ReadonlySet<string>
  /** Answers by call. */
  answers: ReadonlyMap<string, string>
}

/** What to do next: look at more, perhaps with a word for the person, or say something. */
export type Step = { calls: Call[]; text?: string } | { text: string }

/** Reads a request as a provider would get it; nothing else is known here. */
export function readRequest({ system, messages, tools }: Pick<ModelRequest, 'system' | 'messages' | 'tools'>): Seen {
  const last = messages.findLastIndex(({ role, content }) => role === 'user' && !isNote(content))
  const answers = new Map<string, string>()
  for (const { name, input, text } of answeredIn(messages.slice(last + 1))) {
    const key = keyOf({ name, input })
    if (!answers.has(key)) answers.set(key, text)
  }
  return {
    ...readOrder(messages[last]?.content ?? ''),
    system,
    messages,
    answers,
    tools: new Set(tools.map(({ name }) => name)),
  }
}

/** The calls that were answered, in the order of their answers. */
export function answeredIn(messages: readonly ModelMessage[]): (Call & { text: string })[] {
  const calls = new Map(
    messages.flatMap((message) => (message.role === 'assistant' ? message.calls.map((call) => [call.id, call]) : [])),
  )
  return messages.flatMap((message) => {
    if (message.role !== 'tool') return []
    const input = (calls.get(message.callId)?.input ?? {}) as Record<string, unknown>
    return [{ name: message.name, input, text: message.content }]
  })
}

/** What the runtime says in a user's place: it asks for nothing. */
function isNote(content: string): boolean {
  return content.startsWith('[')
}

/** The answer to a call, if it was made. */
export function answerTo({ answers }: Seen, name: string, input: Record<string, unknown>): string | undefined {
  return answers.get(keyOf({ name, input }))
}

/** More at once nobody could watch. */
export const atOnce = 16

/** Answers to all of these calls, or the next of those that are still to be made. */
export function askedAll(seen: Seen, calls: Call[]): { answers: string[] } | { calls: Call[] } {
  const missing = calls.filter(({ name, input }) => answerTo(seen, name, input) === undefined)
  if (missing.length > 0) return { calls: missing.slice(0, atOnce) }
  return { answers: calls.map(({ name, input }) => answerTo(seen, name, input) ?? '') }
}

function keyOf({ name, input }: Call): string {
  return `${name} ${JSON.stringify(input)}`
}
