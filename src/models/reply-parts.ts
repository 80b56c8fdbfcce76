import type { Delta, ModelReply, ModelRequest, Price, RequestedCall } from '../domain/model.ts'
import type { Usage } from '../domain/turn.ts'
import { isContextCut } from './context-cut.ts'
import { PartOrder } from './part-order.ts'
import type { ProviderFailures } from './provider-failures.ts'
import type { ProviderKind, StreamPart } from './provider-package.ts'
import { counted, toldUsage } from './told-usage.ts'
import { type Counted, priced, textsOf, tokensIn } from './usage.ts'

const mostCharacters = 16 * 1024 * 1024
const mostCalls = 1_000
/** Deeper input is handed on as text: what walks through it step by step would run out of stack. */
const deepestInput = 500

/** Who replies, and at what price. */
export interface Replying {
  model: string
  price: Price
  kind: ProviderKind
}

/** A reply while it comes. It counts only as a whole: `whole` throws unless the provider said that it ended. */
export class ReplyParts {
  readonly #request: ModelRequest
  readonly #model: Replying
  readonly #failures: ProviderFailures
  readonly #onDelta: (delta: Delta) => void
  #text = ''
  #characters = 0
  #callsBegun = 0
  #calls: { id: string; name: string; written: string }[] = []
  readonly #order = new PartOrder()
  #actualModel: string | undefined
  #counted: Counted | undefined
  #finish: { unified: string; raw: string | undefined } | undefined

  constructor(request: ModelRequest, model: Replying, failures: ProviderFailures, onDelta: (delta: Delta) => void) {
    this.#request = request
    this.#model = model
    this.#failures = failures
    this.#onDelta = onDelta
  }

  /** What the provider has counted so far. */
  get usage(): Usage | undefined {
    return this.#counted && priced(this.#counted, this.#model.price)
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
        if (++this.#callsBegun > mostCalls) throw this.#failures.tooLarge(`more than ${mostCalls} calls in one reply`)
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
        this.#hear(part.rawValue)
        return
      case 'error':
        this.#refuse(part.error)
        return
      case 'finish':
        this.#finish = { unified: part.finishReason.unified, raw: part.finishReason.raw }
        this.#counted = finalCount(part.usage) ?? this.#counted
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
      throw this.#failures.contextCut(tokensIn(texts), usage)
    const calls = finish === 'calls' ? this.#requestedCalls() : []
    const metadata = finish === 'calls' ? this.#order.kept(this.#model.kind) : undefined
    return {
      text: this.#text,
      calls,
      finish,
      // Nothing of either is what a server that does not count says where the format demands a number.
      usage: usage && usage.inputTokens + usage.outputTokens > 0 ? usage : this.#estimated(texts),
      model: this.#actualModel ?? this.#model.model,
      ...(metadata && { metadata }),
    }
  }

  /** Why the reply ended; throws when it did not. Calls of a reply that was stopped may be halves and do not count. */
  #ending(): ModelReply['finish'] {
    const { unified, raw } = this.#finish ?? { unified: 'interrupted', raw: undefined }
    // Some servers send an empty reason with every event, so that an empty one means nothing.
    if (raw === '' || unified === 'interrupted' || (raw === undefined && !isEnding(unified)))
      throw this.#failures.cut(this.usage)
    if (unified === 'error' || (unified === 'other' && /abort|cancel|error|fail|resource|timeout/i.test(raw ?? '')))
      throw this.#failures.told(`finish reason ${raw}`, this.usage)
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
    return this.#calls.map(({ id: given, name, written }) => {
      const id = freeId(given, taken)
      taken.add(id)
      return { id, name, input: parsed(written) }
    })
  }

  /** Events tell what their parts do not: a stream that is cut after its usage has cost what it says. */
  #hear(event: unknown): void {
    this.#counted = toldUsage(event, this.#counted) ?? this.#counted
    const { modelVersion, choices } = (event ?? {}) as { modelVersion?: unknown; choices?: unknown }
    if (typeof modelVersion === 'string') this.#actualModel = modelVersion
    const first = Array.isArray(choices) ? choices[0] : undefined
    if (typeof first?.delta?.reasoning_content === 'string') this.#order.takesThoughtsBack = true
  }

  #grow(delta: string): void {
    this.#characters += delta.length
    if (this.#characters > mostCharacters) throw this.#failures.tooLarge('more than 16 MB in one reply')
  }

  /** Events that are not part of a reply are skipped; broken ones and errors end it. */
  #refuse(error: unknown): void {
    const { name, text, value } = error as { name?: string; text?: string; value?: unknown }
    if (name === 'AI_InvalidResponseDataError') throw this.#failures.cut(this.usage)
    if (name === 'AI_JSONParseError') {
      if (text?.trim() === '') return
      throw this.#failures.malformed(this.usage)
    }
    if (name !== 'AI_TypeValidationError') throw this.#failures.told(error, this.usage)
    const event = typeof value === 'object' && value !== null ? value : {}
    if ('error' in event) throw this.#failures.told(event.error ?? '', this.usage)
    if (isOfReply(event)) throw this.#failures.malformed(this.usage)
  }

  /** A server that counts nothing must not make a run look free. */
  #estimated(sent: string[]): Usage {
    const outputTokens = tokensIn([this.#text, ...this.#calls.map(({ written }) => written)])
    return {
      ...priced({ inputTokens: tokensIn(sent), outputTokens, cachedTokens: 0 }, this.#model.price),
      isEstimate: true,
    }
  }
}

type FinishPart = Extract<StreamPart, { type: 'finish' }>

function finalCount({ inputTokens: input, outputTokens: output }: FinishPart['usage']): Counted | undefined {
  if (input.total === undefined && output.total === undefined) return undefined
  return counted(input.total, output.total, input.cacheRead, input.cacheWrite)
}

/** An end that needs no word of the wire's to be one. */
function isEnding(unified: string): boolean {
  return ['stop', 'tool-calls', 'content-filter'].includes(unified)
}

/** An event that a reply would need, in any format; others may be left out. */
function isOfReply(event: object): boolean {
  if ('choices' in event || 'candidates' in event) return true
  return 'type' in event && /^(message_|content_block_|response\.)/.test(String(event.type))
}

/** Some servers count their calls from 0 in every reply; a conversation needs each id once. */
function freeId(given: string, taken: ReadonlySet<string>): string {
  if (!taken.has(given)) return given
  for (let n = 2; ; n++) if (!taken.has(`${given}-${n}`)) return `${given}-${n}`
}

function parsed(written: string): unknown {
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
    if (depth > deepestInput) return true
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  return false
}
