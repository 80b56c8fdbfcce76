/** The formats that the server speaks: OpenAI's chat completions and responses, Anthropic's messages, Google's. */
export const wireNames = ['chat', 'messages', 'responses', 'gemini'] as const
export type WireName = (typeof wireNames)[number]

/** A request for a reply in any format, as far as an answer depends on it. */
export interface ProviderRequest {
  wire: WireName
  model: string
  messages: WireMessage[]
  /** What the runtime said after them, such as the time. */
  note?: string
  tools: { name: string; description?: string }[]
  maxTokens: number | null
  /** How many requests with the same last user text came before: 0 at first. */
  attempt: number
}

export interface WireMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
  /** Kinds of media that came with it, such as image/png. */
  media?: string[]
  calls: { id: string; name: string; arguments: string }[]
  /** Which call a tool's message answers. */
  callId: string | null
}

export interface TokenCounts {
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  /** Written to a cache; told only where the format has a word for it. */
  cacheWriteTokens?: number
}

/** What the provider replies; faults are how it fails while it does. */
export interface ProviderAnswer {
  text?: string
  thinking?: string
  /** What the provider wants back with its thinking, where the format knows such a thing. */
  signature?: string
  refusal?: string
  /** `arguments` instead of `input` for text that is no JSON; an id of '' is left out of the reply. */
  calls?: { id?: string; name: string; input?: unknown; arguments?: string; signature?: string }[]
  /** `stop`, `tool_calls`, `length` and `content_filter` in the wire's own word; any other as it is. */
  finish?: string
  /** Without it a quarter of the characters. */
  usage?: Partial<TokenCounts>
  /** The model that it says answered. */
  model?: string
  faults?: ProviderFaults
}

export interface ProviderFaults {
  /** An HTTP answer instead of a reply. */
  status?: { code: number; headers?: Record<string, string>; body?: unknown }
  /** The connection is reset before any answer. */
  reset?: boolean
  /** After this many bytes of the body the connection is lost. */
  cutAt?: number
  /** With `cutAt`: the connection is closed in good order, so that the end looks like one. */
  cutQuietly?: boolean
  /** After this many bytes of the body nothing more comes. */
  silentAt?: number
  /** Comments instead of a reply, one every so many milliseconds, for ever. */
  pings?: number
  /** The body in pieces of so many bytes. */
  pieceBytes?: number
  /** Milliseconds between pieces. */
  pause?: number
  noDone?: boolean
  noUsage?: boolean
  /** Events that no specification knows, between the others. */
  unknownEvents?: boolean
  /** An event whose data is no JSON. */
  brokenEvent?: boolean
  /** An error told in the middle of the stream. */
  errorEvent?: unknown
  /** Half a character in the middle of the text. */
  invalidUtf8?: boolean
  /** Every call has index 0, or they come last first. */
  indexes?: 'same' | 'reversed'
  /** A line of so many bytes instead of a reply. */
  lineBytes?: number
}

/** A quarter of the characters that were sent and answered, unless the answer says otherwise. */
export function countTokens(request: Pick<ProviderRequest, 'messages'>, answer: ProviderAnswer): TokenCounts {
  const sent = request.messages.flatMap(({ content, calls }) => [content, ...calls.map((call) => call.arguments)])
  const said = [answer.text ?? '', answer.thinking ?? '', answer.refusal ?? '']
  const called = (answer.calls ?? []).map((call) => call.name + argumentsOf(call))
  const quarter = (texts: string[]) => Math.ceil(texts.join('').length / 4)
  return { inputTokens: quarter(sent), outputTokens: quarter([...said, ...called]), cachedTokens: 0, ...answer.usage }
}

/** A call's arguments as they go over the wire. */
export function argumentsOf(call: NonNullable<ProviderAnswer['calls']>[number]): string {
  return call.arguments ?? JSON.stringify(call.input ?? {})
}

/** A format: how a request is read and how an answer is written. */
export interface Wire {
  /** Reads a request's body; anything that is not one is undefined. `path` is the address it was sent to. */
  read(body: unknown, path: string): Omit<ProviderRequest, 'attempt' | 'wire' | 'note'> | undefined
  key(headers: Record<string, string | string[] | undefined>): string
  /** An error as the body of an answer. */
  refusal(status: number, message: string): unknown
  write(answer: ProviderAnswer, model: string, usage: TokenCounts): WireEvents
}

/** A reply in the events of a format, in the order they are sent. */
export interface WireEvents {
  /** Everything up to the reason of the end. */
  said: Buffer[]
  /** After these the client knows what was counted; empty when the reason says it. */
  counted: Buffer[]
  /** What says that nothing more comes. */
  last: Buffer[]
  /** A piece of text, and an error in the middle of the stream. */
  text(text: string): Buffer
  error(error: unknown): Buffer
}

/** A server-sent event. */
export function dataEvent(value: unknown, name?: string): Buffer {
  return Buffer.from(`${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`, 'utf8')
}

/** About eight pieces, cut between characters. */
export function inPieces(text: string): string[] {
  const characters = Array.from(text)
  const size = Math.max(1, Math.ceil(characters.length / 8))
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, i) =>
    characters.slice(i * size, (i + 1) * size).join(''),
  )
}

/** Calls with their ids, in the order they are sent. */
export function callsToSend({ calls = [], faults = {} }: ProviderAnswer) {
  const sent = calls.map((call, place) => ({
    ...call,
    id: call.id ?? `call_${place + 1}`,
    index: faults.indexes === 'same' ? 0 : place,
  }))
  return faults.indexes === 'reversed' ? sent.reverse() : sent
}

/** The reason of the end, in chat's words. */
export function finishOf(answer: ProviderAnswer): string {
  return answer.finish ?? (answer.calls?.length ? 'tool_calls' : 'stop')
}

/** The texts of a message's parts. */
export function textIn(parts: unknown): string {
  if (typeof parts === 'string') return parts
  return Array.isArray(parts) ? parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('') : ''
}
