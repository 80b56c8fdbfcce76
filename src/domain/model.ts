import type { Millis } from './clock.ts'
import { HeddleError } from './errors.ts'
import type { Part, ThinkingConfig } from './message.ts'
import type { Usage } from './turn.ts'

/** A tool call that a model asks for. `input` is what it sent, parsed; text that is not JSON is given as it came. */
export interface RequestedCall {
  id: string
  name: string
  input: unknown
}

/** What a provider is shown, in the order it is shown. */
export type ModelMessage =
  | { role: 'user'; content: string; parts?: Part[] }
  | { role: 'assistant'; content: string; calls: RequestedCall[]; metadata?: unknown }
  | { role: 'tool'; callId: string; name: string; content: string }

/** A tool as a model sees it. */
export interface ToolSpec {
  name: string
  description: string
  /** JSON Schema of its input. */
  inputSchema: Record<string, unknown>
}

export interface ModelRequest {
  /** `<run>/<epoch>/<seq>`: links a provider's log to runs; sent only to loopback. */
  id: string
  system: string
  messages: ModelMessage[]
  tools: ToolSpec[]
  maxOutputTokens: number
  /** So many messages from the first on will be sent again as they are: where a provider can keep them, it shall. */
  stablePrefix?: number
  /** Said after all messages, by the runtime: what is true only now, such as the time. No later request repeats it. */
  note?: string
  thinking?: ThinkingConfig
  signal: AbortSignal
}

export interface ModelReply {
  text: string
  calls: RequestedCall[]
  /** `length`: cut at the output limit; its calls must not be run. */
  finish: 'stop' | 'calls' | 'length' | 'refused'
  usage: Usage
  /** The model that really answered, as the provider names it. */
  model: string
  /** Whatever the provider wants back unchanged with this message, such as thinking signatures. */
  metadata?: unknown
}

/** A provisional piece of a reply: shown while it comes, replaced by the durable step. A piece of a call is only counted. */
export type Delta = { kind: 'text' | 'thinking' | 'call'; text: string }

/** USD per million tokens. Without a price of their own, tokens read from or written to a cache cost what others do. */
export interface Price {
  input: number
  output: number
  cacheRead?: number
  cacheWrite?: number
}

/** Something that replies. One request per call; retries are the engine's. */
export interface Model {
  readonly name: string
  /** Tokens that fit into one request and its reply together. */
  readonly window: number
  readonly price: Price
  /** Nothing is sent anywhere: a call costs neither money nor tokens, whatever becomes of it. */
  readonly costsNothing?: true
  /** Whether it understands pictures; one that does not say so cannot. */
  readonly sees?: boolean
  /** Whether it reads PDF documents. */
  readonly readsPdf?: boolean
  /** Whether it can think before it answers. */
  readonly thinks?: boolean
  /** Rejects with a ModelFailure, or with the signal's reason when aborted. `onDelta` must not throw. */
  reply(request: ModelRequest, onDelta: (delta: Delta) => void): Promise<ModelReply>
}

/** A call that brought no reply. `retry: 'later'` means that the same request may succeed. */
export class ModelFailure extends HeddleError {
  /** How long the provider asked us to wait. */
  readonly retryAfter: Millis | undefined
  /** What the provider counted before it failed, where it said so. */
  readonly usage: Usage | undefined
  /** Whether the provider may have charged more than it told: it was at work on the request. */
  readonly mayHaveCost: boolean

  constructor(
    code: string,
    message: string,
    remedy: string,
    options: { retry: 'never' | 'later'; retryAfter?: Millis; usage?: Usage; mayHaveCost?: boolean; cause?: unknown },
  ) {
    super(code, message, remedy, { retry: options.retry, cause: options.cause })
    this.retryAfter = options.retryAfter
    this.usage = options.usage
    this.mayHaveCost = options.mayHaveCost ?? false
  }
}
