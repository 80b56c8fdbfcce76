import type { ModelRequest, RequestedCall } from '../../domain/model.ts'

/** A tool call that was answered, as a model sees it. */
export interface Answered {
  name: string
  input: Record<string, unknown>
  text: string
}

/** What a request shows: what is asked for, and what the tools have answered since. */
export interface Seen {
  asked: string
  answers: Answered[]
  tools: ReadonlySet<string>
}

/** What to do next: look at more, or say something. */
export type Step = { calls: Omit<RequestedCall, 'id'>[] } | { text: string }

/** Reads a request as a provider would get it; nothing else is known here. */
export function readRequest({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): Seen {
  const last = messages.findLastIndex(({ role, content }) => role === 'user' && !isNote(content))
  const asked = messages[last]?.content ?? ''
  const since = messages.slice(last + 1)
  const calls = new Map(
    since.flatMap((message) => (message.role === 'assistant' ? message.calls.map((call) => [call.id, call]) : [])),
  )
  const answers = since.flatMap((message): Answered[] => {
    if (message.role !== 'tool') return []
    const input = calls.get(message.callId)?.input
    return [{ name: message.name, input: (input ?? {}) as Record<string, unknown>, text: message.content }]
  })
  return { asked: asked.trim(), answers, tools: new Set(tools.map(({ name }) => name)) }
}

/** What the runtime says in a user's place: it asks for nothing. */
function isNote(content: string): boolean {
  return content.startsWith('[')
}

/** The answer to a call, if it was made. */
export function answerTo({ answers }: Seen, name: string, input: Record<string, unknown>): string | undefined {
  const wanted = JSON.stringify(input)
  return answers.find((each) => each.name === name && JSON.stringify(each.input) === wanted)?.text
}

/** Answers to all of these calls, or the ones that are still to be made. */
export function askedAll(
  seen: Seen,
  calls: { name: string; input: Record<string, unknown> }[],
): { answers: string[] } | { calls: { name: string; input: Record<string, unknown> }[] } {
  const missing = calls.filter(({ name, input }) => answerTo(seen, name, input) === undefined)
  if (missing.length > 0) return { calls: missing }
  return { answers: calls.map(({ name, input }) => answerTo(seen, name, input) ?? '') }
}
