import type { Millis } from './clock.ts'
import { HeddleError } from './errors.ts'
import type { Part, ThinkingConfig } from './message.ts'
import type { Usage } from './turn.ts'

/** A tool call that a model requests. `input` is parsed JSON; text that is not JSON is kept as it came. */
export interface RequestedCall {
  id: string
  name: string
  input: unknown
}

/** A message of a model request, in order. */
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
  /** Number of leading messages that later requests repeat unchanged; the provider should cache them. */
  stablePrefix?: number
  /** Text that the runtime adds after all messages, true only now, such as the time. Later requests do not repeat it. */
  note?: string
  thinking?: ThinkingConfig
  /** Left out where the model cannot take one. */
  temperature?: number
  signal: AbortSignal
}

export interface ModelReply {
  text: string
  calls: RequestedCall[]
  /** `length`: cut at the output limit; its calls must not be run. */
  finish: 'stop' | 'calls' | 'length' | 'refused'
  usage: Usage
  /** Provider's name of the model that answered. */
  model: string
  /** Provider data to send back unchanged with this message, such as thinking signatures. */
  metadata?: unknown
}

/** A provisional piece of a streamed reply, replaced by the durable step. Pieces of calls are only counted. */
export type Delta = { kind: 'text' | 'thinking' | 'call'; text: string }

/** USD per million tokens. Cache reads and writes without a price of their own cost as much as input. */
export interface Price {
  input: number
  output: number
  cacheRead?: number
  cacheWrite?: number
  /** Not configured: costs computed with it are estimates. */
  isAssumed?: true
}

/** A language model. One request per call; retries are the engine's job. */
export interface Model {
  readonly name: string
  /** Provider's name of the model, where it differs. */
  readonly modelId?: string
  /** Context window: tokens of one request and its reply together. */
  readonly window: number
  readonly price: Price
  /** Sends nothing to a provider: a call costs neither money nor tokens, even if it fails. */
  readonly costsNothing?: true
  /** Whether it understands images; false when unset. */
  readonly sees?: boolean
  /** Whether it reads PDF documents. */
  readonly readsPdf?: boolean
  /** Whether it supports thinking. */
  readonly thinks?: boolean
  /** How much it thinks where a request does not say. */
  readonly thinking?: ThinkingConfig['level']
  /** Rejects with a ModelFailure, or with the signal's reason when aborted. `onDelta` must not throw. */
  reply(request: ModelRequest, onDelta: (delta: Delta) => void): Promise<ModelReply>
}

/** Drops the date that some model names end with. */
export function withoutDate(model: string): string {
  return model.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, '')
}

/** Name under which a model's calls are recorded until the provider tells which model answered. */
export function recordedName({ modelId, name }: Pick<Model, 'modelId' | 'name'>): string {
  return modelId ?? name
}

/** A model call without a reply. `retry: 'later'` means that the same request may succeed. */
export class ModelFailure extends HeddleError {
  /** Delay that the provider asked for. */
  readonly retryAfter: Millis | undefined
  /** Usage that the provider reported before it failed, if any. */
  readonly usage: Usage | undefined
  /** Whether the provider may have charged more than it reported, since it had started on the request. */
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
