/** Wire formats of the server: OpenAI's chat completions and responses, Anthropic's messages, Google's. */
const wireNames = ['chat', 'messages', 'responses', 'gemini'] as const
export type WireName = (typeof wireNames)[number]

/** A request in any format, reduced to what answers depend on. */
export interface ProviderRequest {
  wire: WireName
  model: string
  messages: WireMessage[]
  /** Trailing note of the runtime, such as the time. */
  note?: string
  tools: { name: string; description?: string }[]
  maxTokens: number | null
  /** Number of earlier requests with the same last user text. */
  attempt: number
}

export interface WireMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
  /** Media types of attachments, such as image/png. */
  media?: string[]
  calls: { id: string; name: string; arguments: string }[]
  /** Call that a tool message answers. */
  callId: string | null
}

export interface TokenCounts {
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  /** Tokens written to a cache; sent only in formats that support it. */
  cacheWriteTokens?: number
}

/** Reply of the provider, with its faults. */
export interface ProviderAnswer {
  text?: string
  thinking?: string
  /** Signature of the thinking, in formats that support it. */
  signature?: string
  refusal?: string
  /** `arguments` instead of `input` for text that is not JSON; an empty id is omitted. */
  calls?: { id?: string; name: string; input?: unknown; arguments?: string; signature?: string }[]
  /** `stop`, `tool_calls`, `length` and `content_filter` are translated to the format; others are sent as they are. */
  finish?: string
  /** Default: a quarter of the characters. */
  usage?: Partial<TokenCounts>
  /** Model name in the reply. */
  model?: string
  faults?: ProviderFaults
}

export interface ProviderFaults {
  /** HTTP status instead of a reply. */
  status?: { code: number; headers?: Record<string, string>; body?: unknown }
  /** Resets the connection before any answer. */
  reset?: boolean
  /** Drops the connection after this many bytes of the body. */
  cutAt?: number
  /** With `cutAt`: closes the connection cleanly, so that the end looks regular. */
  cutQuietly?: boolean
  /** Sends nothing after this many bytes of the body. */
  silentAt?: number
  /** Sends comments instead of a reply, one per interval in milliseconds, forever. */
  pings?: number
  /** Size of the pieces in bytes. */
  pieceBytes?: number
  /** Milliseconds between pieces. */
  pause?: number
  noDone?: boolean
  noUsage?: boolean
  /** Inserts unknown events. */
  unknownEvents?: boolean
  /** Inserts an event whose data is not JSON. */
  brokenEvent?: boolean
  /** Inserts an error event. */
  errorEvent?: unknown
  /** Inserts half a character into the text. */
  invalidUtf8?: boolean
  /** All calls have index 0, or come in reverse order. */
  indexes?: 'same' | 'reversed'
  /** Sends a line of this many bytes instead of a reply. */
  lineBytes?: number
}

/** Counts a quarter of the characters, unless the answer overrides it. */
export function countTokens(request: Pick<ProviderRequest, 'messages'>, answer: ProviderAnswer): TokenCounts {
  const sent = request.messages.flatMap(({ content, calls }) => [content, ...calls.map((call) => call.arguments)])
  const texts = [answer.text ?? '', answer.thinking ?? '', answer.refusal ?? '']
  const called = (answer.calls ?? []).map((call) => call.name + argumentsOf(call))
  const quarter = (texts: string[]) => Math.ceil(texts.join('').length / 4)
  return { inputTokens: quarter(sent), outputTokens: quarter([...texts, ...called]), cachedTokens: 0, ...answer.usage }
}

/** Arguments of a call as JSON text. */
export function argumentsOf(call: NonNullable<ProviderAnswer['calls']>[number]): string {
  return call.arguments ?? JSON.stringify(call.input ?? {})
}

/** A wire format: reads requests and writes answers. */
export interface WireFormat {
  /** Reads a request's body; undefined if it is invalid. `path` is the path of the URL. */
  read(body: unknown, path: string): Omit<ProviderRequest, 'attempt' | 'wire' | 'note'> | undefined
  key(headers: Record<string, string | string[] | undefined>): string
  /** Body of an error answer. */
  refusal(status: number, message: string): unknown
  write(answer: ProviderAnswer, model: string, usage: TokenCounts): WireEvents
}

/** Events of a reply, in the order they are sent. */
interface WireEvents {
  /** Events up to the finish reason. */
  content: Buffer[]
  /** Usage events; empty when the finish event contains the usage. */
  counted: Buffer[]
  /** End-of-stream events. */
  last: Buffer[]
  /** Event for a piece of text, and for an error. */
  text(text: string): Buffer
  error(error: unknown): Buffer
}

/** A server-sent event. */
export function dataEvent(value: unknown, name?: string): Buffer {
  return Buffer.from(`${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`, 'utf8')
}

/** Splits a text into about eight pieces, between characters. */
export function splitIntoPieces(text: string): string[] {
  const characters = Array.from(text)
  const size = Math.max(1, Math.ceil(characters.length / 8))
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, i) =>
    characters.slice(i * size, (i + 1) * size).join(''),
  )
}

/** Calls with ids, in the order they are sent. */
export function callsToSend({ calls = [], faults = {} }: ProviderAnswer) {
  const sent = calls.map((call, place) => ({
    ...call,
    id: call.id ?? `call_${place + 1}`,
    index: faults.indexes === 'same' ? 0 : place,
  }))
  return faults.indexes === 'reversed' ? sent.reverse() : sent
}

/** Finish reason in the terms of chat completions. */
export function finishOf(answer: ProviderAnswer): string {
  return answer.finish ?? (answer.calls?.length ? 'tool_calls' : 'stop')
}

/** Concatenated text of a message's parts. */
export function textOfParts(parts: unknown): string {
  if (typeof parts === 'string') return parts
  return Array.isArray(parts) ? parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('') : ''
}
