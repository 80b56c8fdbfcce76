/** What the runtime says last in a request, after everything the conversation holds: the time. */
const note = /^\[now: [^\]]*\]$/

/** Where the formats keep a conversation, and a message its text. */
const conversations = ['messages', 'input', 'contents'] as const
const texts = ['content', 'parts'] as const

/** A request's body without the runtime's last words, and those: nobody asked them, so nobody shall answer them. */
export function splitNote(body: unknown): { body: unknown; note?: string } {
  const whole = { body }
  if (typeof body !== 'object' || body === null) return whole
  const request = body as Record<string, unknown>
  const key = conversations.find((name) => Array.isArray(request[name]))
  if (key === undefined) return whole
  const said = request[key] as unknown[]
  const last = (said.at(-1) ?? {}) as Record<string, unknown>
  const split = last['role'] === 'user' ? splitMessage(last) : undefined
  if (!split) return whole
  return { body: { ...request, [key]: [...said.slice(0, -1), ...split.rest] }, note: split.note }
}

/** Formats in which roles take turns put the note behind what the user said, in one message. */
function splitMessage(message: Record<string, unknown>): { rest: unknown[]; note: string } | undefined {
  const key = texts.find((name) => name in message)
  const content = key && message[key]
  if (key === undefined || (typeof content !== 'string' && !Array.isArray(content))) return undefined
  const parts = typeof content === 'string' ? [{ text: content }] : content
  const text: unknown = parts.at(-1)?.text
  if (typeof text !== 'string' || !note.test(text)) return undefined
  return { rest: parts.length === 1 ? [] : [{ ...message, [key]: parts.slice(0, -1) }], note: text }
}
