import type { Delta, ModelReply, ModelRequest, RequestedCall } from '../domain/model.ts'
import type { Usage } from '../domain/turn.ts'
import { isContextCut } from './context-cut.ts'
import type { ProviderFailures } from './provider-failures.ts'
import type { StreamPart } from './provider-package.ts'
import type { CallMetadata } from './reply-metadata.ts'
import { priced, textsOf, tokensIn } from './usage.ts'

const mostCharacters = 16 * 1024 * 1024
const mostCalls = 1_000
/** Deeper input is handed on as text: what walks through it step by step would run out of stack. */
const deepestInput = 500

/** A reply while it comes. It counts only as a whole: `whole` throws unless the provider said that it ended. */
export class ReplyParts {
  readonly #request: ModelRequest
  readonly #model: { model: string; price: { input: number; output: number } }
  readonly #failures: ProviderFailures
  readonly #onDelta: (delta: Delta) => void
  #text = ''
  #characters = 0
  #callsBegun = 0
  #calls: { id: string; name: string; written: string; metadata: CallMetadata | undefined }[] = []
  #actualModel: string | undefined
  #usage: Usage | undefined
  #finish: { unified: string; raw: string | undefined } | undefined

  constructor(
    request: ModelRequest,
    model: { model: string; price: { input: number; output: number } },
    failures: ProviderFailures,
    onDelta: (delta: Delta) => void,
  ) {
    this.#request = request
    this.#model = model
    this.#failures = failures
    this.#onDelta = onDelta
  }

  /** What the provider has counted so far. */
  get usage(): Usage | undefined {
    return this.#usage
  }

  take(part: StreamPart): void {
    switch (part.type) {
      case 'text-delta':
        this.#grow(part.delta)
        this.#text += part.delta
        this.#onDelta({ kind: 'text', text: part.delta })
        return
      case 'reasoning-delta':
        this.#grow(part.delta)
        this.#onDelta({ kind: 'thinking', text: part.delta })
        return
      case 'tool-input-start':
        if (++this.#callsBegun > mostCalls) throw this.#failures.tooLarge(`more than ${mostCalls} calls in one reply`)
        return
      case 'tool-input-delta':
        this.#grow(part.delta)
        return
      case 'tool-call': {
        const { toolCallId: id, toolName: name, input: written, providerMetadata: metadata } = part
        this.#calls.push({ id, name, written, metadata })
        return
      }
      case 'response-metadata':
        this.#actualModel = part.modelId
        return
      case 'raw':
        // Read from the events too: a stream that is cut after its usage has cost what it says.
        this.#usage = this.#toldUsage(part.rawValue) ?? this.#usage
        return
      case 'error':
        this.#refuse(part.error)
        return
      case 'finish':
        this.#finish = { unified: part.finishReason.unified, raw: part.finishReason.raw }
        this.#usage = this.#finalUsage(part.usage) ?? this.#usage
        return
      default:
        return
    }
  }

  whole(): ModelReply {
    const finish = this.#ending()
    const texts = textsOf(this.#request)
    if (this.#usage && this.#usage.inputTokens > 0 && isContextCut(texts, this.#usage.inputTokens)) {
      throw this.#failures.contextCut(tokensIn(texts), this.#usage)
    }
    const calls = finish === 'calls' ? this.#requestedCalls() : []
    const metadata = Object.fromEntries(calls.flatMap(({ id, metadata }) => (metadata ? [[id, metadata]] : [])))
    return {
      text: this.#text,
      calls: calls.map(({ call }) => call),
      finish,
      usage: this.#usage ?? this.#estimated(texts),
      model: this.#actualModel ?? this.#model.model,
      ...(Object.keys(metadata).length > 0 && { metadata: { calls: metadata } }),
    }
  }

  /** Why the reply ended; throws when it did not. Calls of a reply that was stopped may be halves and do not count. */
  #ending(): ModelReply['finish'] {
    const { unified, raw } = this.#finish ?? { unified: 'error', raw: undefined }
    // Some servers send an empty reason with every event, so that an empty one means nothing.
    if (raw === undefined || raw === '') throw this.#failures.cut(this.#usage)
    if (unified === 'other' && /abort|cancel|error|fail|resource|timeout/i.test(raw)) {
      throw this.#failures.told(`finish reason ${raw}`, this.#usage)
    }
    if (unified === 'length' || /^(max_|model_length)/.test(raw)) return 'length'
    if (unified === 'content-filter') return 'refused'
    return this.#calls.length > 0 ? 'calls' : 'stop'
  }

  #requestedCalls(): { id: string; call: RequestedCall; metadata: CallMetadata | undefined }[] {
    const taken = new Set(
      this.#request.messages
        .flatMap((message) => (message.role === 'assistant' ? message.calls : []))
        .map(({ id }) => id),
    )
    return this.#calls.map(({ id: given, name, written, metadata }) => {
      const id = freeId(given, taken)
      taken.add(id)
      return { id, call: { id, name, input: parsed(written) }, metadata }
    })
  }

  #grow(delta: string): void {
    this.#characters += delta.length
    if (this.#characters > mostCharacters) throw this.#failures.tooLarge('more than 16 MB in one reply')
  }

  /** Events that are not part of a reply are skipped; broken ones and errors end it. */
  #refuse(error: unknown): void {
    const { name, text, value } = error as { name?: string; text?: string; value?: unknown }
    if (name === 'AI_InvalidResponseDataError') throw this.#failures.cut(this.#usage)
    if (name === 'AI_JSONParseError') {
      if (text?.trim() === '') return
      throw this.#failures.malformed(this.#usage)
    }
    if (name !== 'AI_TypeValidationError') throw this.#failures.told(error, this.#usage)
    const event = typeof value === 'object' && value !== null ? value : {}
    if ('error' in event) throw this.#failures.told(event.error ?? '', this.#usage)
    if ('choices' in event) throw this.#failures.malformed(this.#usage)
  }

  #finalUsage({ inputTokens: input, outputTokens: output }: FinishPart['usage']): Usage | undefined {
    if (input.total === undefined && output.total === undefined) return undefined
    return this.#counted(input.total, output.total, input.cacheRead)
  }

  #toldUsage(event: unknown): Usage | undefined {
    const usage = (event as { usage?: WireUsage | null } | null | undefined)?.usage
    if (typeof usage !== 'object' || usage === null) return undefined
    return this.#counted(usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details?.cached_tokens)
  }

  #counted(input: unknown, output: unknown, cached: unknown): Usage {
    const tokens = { inputTokens: count(input), outputTokens: count(output), cachedTokens: count(cached) }
    return priced(tokens, this.#model.price)
  }

  /** A server that counts nothing must not make a run look free. */
  #estimated(sent: string[]): Usage {
    const outputTokens = tokensIn([this.#text, ...this.#calls.map(({ written }) => written)])
    return priced({ inputTokens: tokensIn(sent), outputTokens, cachedTokens: 0 }, this.#model.price)
  }
}

type FinishPart = Extract<StreamPart, { type: 'finish' }>

interface WireUsage {
  prompt_tokens?: unknown
  completion_tokens?: unknown
  prompt_tokens_details?: { cached_tokens?: unknown } | null
}

function count(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.trunc(value) : 0
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
