/** Trailing note of the runtime: the time. */
const note = /^\[now: [^\]]*\]$/

/** Keys of the conversation and of a message's text in the formats. */
const conversations = ['messages', 'input', 'contents'] as const
const texts = ['content', 'parts'] as const

/** Splits the trailing note off a request's body, so that rules do not answer it. */
export function splitNote(body: unknown): { body: unknown; note?: string } {
  const whole = { body }
  if (typeof body !== 'object' || body === null) return whole
  const request = body as Record<string, unknown>
  const key = conversations.find((name) => Array.isArray(request[name]))
  if (key === undefined) return whole
  const conversation = request[key] as unknown[]
  const last = (conversation.at(-1) ?? {}) as Record<string, unknown>
  const split = last['role'] === 'user' ? splitMessage(last) : undefined
  if (!split) return whole
  return { body: { ...request, [key]: [...conversation.slice(0, -1), ...split.rest] }, note: split.note }
}

/** Formats with alternating roles append the note to the user's message. */
function splitMessage(message: Record<string, unknown>): { rest: unknown[]; note: string } | undefined {
  const key = texts.find((name) => name in message)
  const content = key && message[key]
  if (key === undefined || (typeof content !== 'string' && !Array.isArray(content))) return undefined
  const parts = typeof content === 'string' ? [{ text: content }] : content
  const text: unknown = parts.at(-1)?.text
  if (typeof text !== 'string' || !note.test(text)) return undefined
  return { rest: parts.length === 1 ? [] : [{ ...message, [key]: parts.slice(0, -1) }], note: text }
}
