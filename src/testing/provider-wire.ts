/** A request for chat completions, as far as an answer depends on it. */
export interface ProviderRequest {
  model: string
  messages: WireMessage[]
  tools: { name: string; description?: string }[]
  maxTokens: number | null
  /** How many requests with the same last user text came before: 0 at first. */
  attempt: number
}

export interface WireMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
  calls: { id: string; name: string; arguments: string }[]
  /** Which call a tool's message answers. */
  callId: string | null
}

export interface TokenCounts {
  inputTokens: number
  outputTokens: number
  cachedTokens: number
}

/** What the provider replies; faults are how it fails while it does. */
export interface ProviderAnswer {
  text?: string
  thinking?: string
  refusal?: string
  /** `arguments` instead of `input` for text that is no JSON; an id of '' is left out of the reply. */
  calls?: { id?: string; name: string; input?: unknown; arguments?: string; signature?: string }[]
  /** The wire's word; without it `tool_calls` or `stop`. */
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

/** Reads a request's body; anything that is not one is undefined. */
export function readRequest(body: unknown): Omit<ProviderRequest, 'attempt'> | undefined {
  const { model, messages, tools, max_tokens } = (body ?? {}) as Record<string, unknown>
  if (typeof model !== 'string' || !Array.isArray(messages)) return undefined
  return {
    model,
    messages: messages.map(readMessage),
    tools: (Array.isArray(tools) ? tools : []).map((tool) => tool?.function ?? {}),
    maxTokens: typeof max_tokens === 'number' ? max_tokens : null,
  }
}

function readMessage(message: Record<string, unknown>): WireMessage {
  const { role, content, tool_calls: calls, tool_call_id: callId } = message
  const parts = Array.isArray(content) ? content.map((part) => part?.text ?? '').join('') : (content ?? '')
  return {
    role: role as WireMessage['role'],
    content: String(parts),
    calls: (Array.isArray(calls) ? calls : []).map((call) => ({ id: call.id, ...call.function })),
    callId: typeof callId === 'string' ? callId : null,
  }
}

/** A quarter of the characters that were sent and answered, unless the answer says otherwise. */
export function countTokens(request: Omit<ProviderRequest, 'attempt'>, answer: ProviderAnswer): TokenCounts {
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
