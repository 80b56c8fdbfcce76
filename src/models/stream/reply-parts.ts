import type { Delta, ModelReply, ModelRequest, Price, RequestedCall } from '../../domain/model.ts'
import type { Usage } from '../../domain/turn.ts'
import type { ProviderFailures } from '../provider-failures.ts'
import type { ProviderKind, StreamPart } from '../provider-package.ts'
import { isContextCut } from './context-cut.ts'
import { toTokenUsage, usageInEvent } from './event-usage.ts'
import { PartOrder } from './part-order.ts'
import { estimateTokensOf, type TokenUsage, textsOf, withCost } from './usage.ts'

const maxCharacters = 16 * 1024 * 1024
const maxCalls = 1_000
/** Deeper input is passed on as text: recursive code would overflow the stack. */
const maxInputDepth = 500

/** Model and price of a reply. */
interface ReplySource {
  model: string
  price: Price
  kind: ProviderKind
}

/** Collects a streamed reply. `whole` throws unless the provider signalled the end. */
export class ReplyParts {
  readonly #request: ModelRequest
  readonly #model: ReplySource
  readonly #failures: ProviderFailures
  readonly #onDelta: (delta: Delta) => void
  #text = ''
  #characters = 0
  #startedCalls = 0
  #calls: { id: string; name: string; written: string }[] = []
  readonly #order = new PartOrder()
  #actualModel: string | undefined
  #usage: TokenUsage | undefined
  #finish: { unified: string; raw: string | undefined } | undefined

  constructor(request: ModelRequest, model: ReplySource, failures: ProviderFailures, onDelta: (delta: Delta) => void) {
    this.#request = request
    this.#model = model
    this.#failures = failures
    this.#onDelta = onDelta
  }

  /** Usage reported so far. */
  get usage(): Usage | undefined {
    return this.#usage && withCost(this.#usage, this.#model.price)
  }

  take(part: StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'text-end':
        this.#order.text(part)
        return
      case 'text-delta':
        this.#grow(part.delta)
        this.#order.text(part)
        this.#text += part.delta
        if (part.delta !== '') this.#onDelta({ kind: 'text', text: part.delta })
        return
      case 'reasoning-start':
      case 'reasoning-end':
        this.#order.thought(part)
        return
      case 'reasoning-delta':
        this.#grow(part.delta)
        this.#order.thought(part)
        if (part.delta !== '') this.#onDelta({ kind: 'thinking', text: part.delta })
        return
      case 'tool-input-start':
        if (++this.#startedCalls > maxCalls) throw this.#failures.tooLarge(`more than ${maxCalls} calls in one reply`)
        return
      case 'tool-input-delta':
        this.#grow(part.delta)
        if (part.delta !== '') this.#onDelta({ kind: 'call', text: part.delta })
        return
      case 'tool-call': {
        const { toolCallId: id, toolName: name, input: written, providerMetadata: metadata } = part
        this.#calls.push({ id, name, written })
        this.#order.call(metadata)
        return
      }
      case 'response-metadata':
        this.#actualModel = part.modelId ?? this.#actualModel
        return
      case 'raw':
        this.#readRawEvent(part.rawValue)
        return
      case 'error':
        this.#handleError(part.error)
        return
      case 'finish':
        this.#finish = { unified: part.finishReason.unified, raw: part.finishReason.raw }
        this.#usage = finalCount(part.usage) ?? this.#usage
        return
      default:
        return
    }
  }

  whole(): ModelReply {
    const finish = this.#ending()
    const texts = textsOf(this.#request)
    const { usage } = this
    if (usage && usage.inputTokens > 0 && isContextCut(texts, usage.inputTokens))
      throw this.#failures.contextCut(estimateTokensOf(texts), usage)
    const calls = finish === 'calls' ? this.#requestedCalls() : []
    const metadata = finish === 'calls' ? this.#order.toMetadata(this.#model.kind) : undefined
    return {
      text: this.#text,
      calls,
      finish,
      // A server that does not count reports zeros.
      usage: usage && usage.inputTokens + usage.outputTokens > 0 ? usage : this.#estimated(texts),
      model: this.#actualModel ?? this.#model.model,
      ...(metadata && { metadata }),
    }
  }

  /** Finish reason; throws when the reply did not end. Calls of a truncated reply may be partial and are dropped. */
  #ending(): ModelReply['finish'] {
    const { unified, raw } = this.#finish ?? { unified: 'interrupted', raw: undefined }
    // Some servers send an empty reason with every event: ignore it.
    if (raw === '' || unified === 'interrupted' || (raw === undefined && !isEnding(unified)))
      throw this.#failures.cut(this.usage)
    if (unified === 'error' || (unified === 'other' && /abort|cancel|error|fail|resource|timeout/i.test(raw ?? '')))
      throw this.#failures.errorEvent(`finish reason ${raw}`, this.usage)
    if (unified === 'length' || /^(max_|model_length)/.test(raw ?? '')) return 'length'
    if (unified === 'content-filter') return 'refused'
    return this.#calls.length > 0 ? 'calls' : 'stop'
  }

  #requestedCalls(): RequestedCall[] {
    const taken = new Set(
      this.#request.messages
        .flatMap((message) => (message.role === 'assistant' ? message.calls : []))
        .map(({ id }) => id),
    )
    return this.#calls.map(({ id: providerId, name, written }) => {
      const id = freeId(providerId, taken)
      taken.add(id)
      return { id, name, input: parseInput(written) }
    })
  }

  /** Reads raw events, which report more than the parts: a stream cut after its usage still has a known cost. */
  #readRawEvent(event: unknown): void {
    this.#usage = usageInEvent(event, this.#usage) ?? this.#usage
    const { modelVersion, choices } = (event ?? {}) as { modelVersion?: unknown; choices?: unknown }
    if (typeof modelVersion === 'string') this.#actualModel = modelVersion
    const first = Array.isArray(choices) ? choices[0] : undefined
    if (typeof first?.delta?.reasoning_content === 'string') this.#order.takesThoughtsBack = true
  }

  #grow(delta: string): void {
    this.#characters += delta.length
    if (this.#characters > maxCharacters) throw this.#failures.tooLarge('more than 16 MB in one reply')
  }

  /** Skips events that are not part of a reply; malformed events and errors end it. */
  #handleError(error: unknown): void {
    const { name, text, value } = error as { name?: string; text?: string; value?: unknown }
    if (name === 'AI_InvalidResponseDataError') throw this.#failures.cut(this.usage)
    if (name === 'AI_JSONParseError') {
      if (text?.trim() === '') return
      throw this.#failures.malformed(this.usage)
    }
    if (name !== 'AI_TypeValidationError') throw this.#failures.errorEvent(error, this.usage)
    const event = typeof value === 'object' && value !== null ? value : {}
    if ('error' in event) throw this.#failures.errorEvent(event.error ?? '', this.usage)
    if (isOfReply(event)) throw this.#failures.malformed(this.usage)
  }

  /** Estimated usage: a server that does not count must not make a run look free. */
  #estimated(sent: string[]): Usage {
    const outputTokens = estimateTokensOf([this.#text, ...this.#calls.map(({ written }) => written)])
    return {
      ...withCost({ inputTokens: estimateTokensOf(sent), outputTokens, cachedTokens: 0 }, this.#model.price),
      isEstimate: true,
    }
  }
}

type FinishPart = Extract<StreamPart, { type: 'finish' }>

function finalCount({ inputTokens: input, outputTokens: output }: FinishPart['usage']): TokenUsage | undefined {
  if (input.total === undefined && output.total === undefined) return undefined
  return toTokenUsage(input.total, output.total, input.cacheRead, input.cacheWrite)
}

/** Finish reasons that are valid without a raw reason. */
function isEnding(unified: string): boolean {
  return ['stop', 'tool-calls', 'content-filter'].includes(unified)
}

/** Whether an event is an essential part of a reply, in any format. */
function isOfReply(event: object): boolean {
  if ('choices' in event || 'candidates' in event) return true
  return 'type' in event && /^(message_|content_block_|response\.)/.test(String(event.type))
}

/** Makes a call id unique in the conversation: some servers restart at 0 in every reply. */
function freeId(providerId: string, taken: ReadonlySet<string>): string {
  if (!taken.has(providerId)) return providerId
  for (let n = 2; ; n++) if (!taken.has(`${providerId}-${n}`)) return `${providerId}-${n}`
}

function parseInput(written: string): unknown {
  if (written.trim() === '') return {}
  try {
    const input: unknown = JSON.parse(written)
    return isDeep(input) ? written : input
  } catch {
    return written
  }
}

function isDeep(input: unknown): boolean {
  let level = [input]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxInputDepth) return true
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  return false
}
