import type { Part } from '../domain/message.ts'
import type { ModelMessage, RequestedCall } from '../domain/model.ts'

/** An input as a model is given it: the text, then what came with it. */
export function said({ content, parts = [] }: { content: string; parts?: Part[] }): ModelMessage {
  return { role: 'user', content, ...(parts.length > 0 && { parts }) }
}

/** A summary as a model is given it. */
export function summaryOf(text: string): string {
  return `[summary of what came before]\n${text}`
}

/**
 * Providers refuse a request in which two calls have one id, and some models number their calls anew in every turn. A
 * call whose id an earlier one has gets another, always the same as long as what comes before it is the same.
 */
export function withOwnCallIds(messages: ModelMessage[]): ModelMessage[] {
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

/** The id, or the next one like it that nobody has. */
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
    const content = [message.content, ...message.calls.map(calledLine)].filter((line) => line !== '').join('\n')
    return { role: 'assistant', content, calls: [] }
  })
}

/** A call in one line. */
export function calledLine({ name, input }: RequestedCall): string {
  return `(called ${name} with ${JSON.stringify(input)})`
}
