import type { Part } from '../../domain/message.ts'
import type { ModelMessage, RequestedCall } from '../../domain/model.ts'

/** Max characters of one tool answer in a model request. */
export const maxAnswerShown = 50_000

/** A tool's output as text for a model. */
export function answerAsText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null)
}

/** User message of a request: the text, then its attachments. */
export function userMessage({ content, parts = [] }: { content: string; parts?: Part[] }): ModelMessage {
  return { role: 'user', content, ...(parts.length > 0 && { parts }) }
}

/** Text of a compaction summary in a request. */
export function summaryMessage(text: string): string {
  return `[summary of what came before]\n${text}`
}

/**
 * Makes call ids unique: providers refuse a request with a duplicate, and some models restart their numbering in every
 * turn. Deterministic for the same messages, so that the provider's prompt cache stays valid.
 */
export function withUniqueCallIds(messages: ModelMessage[]): ModelMessage[] {
  if (!messages.some((message) => message.role === 'assistant' && message.calls.length > 0)) return messages
  const taken = new Set<string>()
  let renamed = new Map<string, string>()
  return messages.map((message) => {
    if (message.role === 'tool') {
      const callId = renamed.get(message.callId)
      return callId === undefined ? message : { ...message, callId }
    }
    if (message.role === 'user' || message.calls.length === 0) return message
    renamed = new Map()
    const calls = message.calls.map((call) => {
      const id = freeId(call.id, taken)
      taken.add(id)
      if (id !== call.id) renamed.set(call.id, id)
      return id === call.id ? call : { ...call, id }
    })
    return renamed.size === 0 ? message : { ...message, calls }
  })
}

/** The id itself, or the first of id-2, id-3, … that is not taken. */
export function freeId(id: string, taken: ReadonlySet<string>): string {
  let free = id
  for (let number = 2; taken.has(free); number++) free = `${id}-${number}`
  return free
}

/** Calls as plain text, for a model that has no tools: providers refuse calls in a request that offers none. */
export function withoutCalls(messages: ModelMessage[]): ModelMessage[] {
  return messages.map((message) => {
    if (message.role === 'tool') return { role: 'user', content: `[${message.name} answered]\n${message.content}` }
    if (message.role === 'user' || message.calls.length === 0) return message
    const content = [message.content, ...message.calls.map(callAsText)].filter((line) => line !== '').join('\n')
    return { role: 'assistant', content, calls: [] }
  })
}

/** A tool call as one line of text. */
export function callAsText({ name, input }: RequestedCall): string {
  return `(called ${name} with ${JSON.stringify(input)})`
}
