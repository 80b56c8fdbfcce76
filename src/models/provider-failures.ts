import type { Clock, Millis } from '../domain/clock.ts'
import { ModelFailure } from '../domain/model.ts'
import type { Usage } from '../domain/turn.ts'
import { retryAfter } from './retry-after.ts'
import { toldWords } from './told-words.ts'

/** Whose trouble it is, for the sentence that tells of it. */
export interface Provider {
  name: string
  model: string
  baseURL: string
  /** The wire format, for the sentence about a server that does not speak it. */
  speaks: string
  apiKey?: string
  idleTimeout: Millis
  totalTimeout: Millis
}

/** What the provider packages throw for an answer that is not a reply, and for none at all. */
interface CallError {
  statusCode?: number
  responseHeaders?: Record<string, string>
  responseBody?: string
  data?: unknown
  cause?: unknown
}

/** Everything that can go wrong in a call, as a failure that says whose it is and what to do. No text of it has the key. */
export class ProviderFailures {
  readonly #provider: Provider
  readonly #clock: Clock

  constructor(provider: Provider, clock: Clock) {
    this.#provider = provider
    this.#clock = clock
  }

  /** The provider did not begin to reply. */
  ofRequest(error: unknown): ModelFailure {
    const known = modelFailureIn(error)
    if (known) return known
    if (!isCallError(error)) return isOfReply(error) ? this.malformed(undefined) : this.#unsendable(error)
    if (error.statusCode === undefined || error.statusCode < 300) return this.#unreachable(error.cause)
    return this.#refused(error.statusCode, providerWords(error), retryAfter(error.responseHeaders, this.#clock))
  }

  /** The reply began and ended before it was whole. */
  ofStream(error: unknown, usage: Usage | undefined): ModelFailure {
    const known = modelFailureIn(error)
    if (known) return withUsage(known, usage)
    return errorCode(error) === 'UND_ERR_BODY_TIMEOUT' ? this.timeout('idle', usage) : this.cut(usage)
  }

  cut(usage: Usage | undefined): ModelFailure {
    return this.#later('stream_cut', 'broke off in the middle of a reply', 'ask again; what came is not used', usage)
  }

  malformed(usage: Usage | undefined): ModelFailure {
    const { name, speaks } = this.#provider
    const remedy = `ask again; if it goes on, check that models.${name}.baseURL speaks ${speaks}`
    return this.#later('reply_malformed', 'sent something that is not a reply', remedy, usage)
  }

  timeout(limit: 'idle' | 'total', usage: Usage | undefined): ModelFailure {
    const { name, idleTimeout, totalTimeout } = this.#provider
    const what =
      limit === 'idle' ? `was silent for ${seconds(idleTimeout)}` : `did not finish within ${seconds(totalTimeout)}`
    const remedy = `ask again, raise models.${name}.timeout.${limit}, or name another model in agent.fallbacks`
    return this.#later('provider_timeout', what, remedy, usage)
  }

  /** The provider told of an error instead of going on with its reply. */
  told(error: unknown, usage: Usage | undefined): ModelFailure {
    const { code, statusCode, message } = error as { code?: unknown; statusCode?: unknown; message?: unknown }
    const said = typeof error === 'string' ? error : typeof message === 'string' ? message : ''
    const status = Number(statusCode ?? code)
    if (status >= 400 && status < 600) return this.#refused(status, said, undefined, { usage, mayHaveCost: true })
    return this.#later('provider_failed', `stopped replying${quoting(this.#clean(said))}`, this.#waitOrElse(), usage)
  }

  contextCut(sent: number, usage: Usage): ModelFailure {
    const { name } = this.#provider
    return new ModelFailure(
      'context_cut',
      `${this.#who()} read only ${usage.inputTokens} of about ${sent} tokens that were sent, so its answer is not used.`,
      `raise the context window of the server (Ollama: num_ctx), or lower models.${name}.contextWindow to what it has`,
      { retry: 'never', usage },
    )
  }

  tooLarge(what: string): ModelFailure {
    return new ModelFailure('reply_too_large', `${this.#who()} sent ${what}.`, 'use another model, or ask for less', {
      retry: 'never',
      mayHaveCost: true,
    })
  }

  /** An answer, but not a stream: a web page, or a server that cannot stream. */
  notAStream(contentType: string): ModelFailure {
    return new ModelFailure(
      'provider_rejected',
      `${this.#who()} answered with ${this.#clean(contentType)} instead of a stream.`,
      `check models.${this.#provider.name}.baseURL in heddle.yaml; it usually ends with /v1`,
      { retry: 'never', mayHaveCost: contentType.includes('json') },
    )
  }

  #refused(status: number, words: string, after: Millis | undefined, cost: Cost = {}): ModelFailure {
    const { name, model, apiKey } = this.#provider
    const said = `${status}${quoting(this.#clean(words))}`
    const never = (code: string, what: string, remedy: string) =>
      new ModelFailure(code, `${this.#who()} ${what}: ${said}.`, remedy, { retry: 'never', ...costOf(cost) })
    const key = `models.${name}.apiKey in heddle.yaml`
    if (status === 401 || status === 403 || (status === 400 && /api[ _]key[ _](not[ _]valid|invalid)/i.test(words)))
      return apiKey === undefined
        ? never('provider_refused_key', 'wants a key', `set ${key}`)
        : never('provider_refused_key', 'does not accept the key', `correct ${key}, or the variable or secret it names`)
    if (status === 404)
      return never('model_unknown', `does not know ${model}`, `correct models.${name}.model or models.${name}.baseURL`)
    if (status < 500 && !isBusy(status))
      return never('provider_rejected', 'rejects the request', `check models.${name} in heddle.yaml`)
    return new ModelFailure(
      isBusy(status) ? 'provider_busy' : 'provider_failed',
      `${this.#who()} ${isBusy(status) ? 'is busy' : 'failed'}: ${said}.`,
      this.#waitOrElse(),
      { retry: 'later', ...(after !== undefined && { retryAfter: after }), ...costOf(cost) },
    )
  }

  #unreachable(cause: unknown): ModelFailure {
    const code = errorCode(cause)
    if (code === 'UND_ERR_HEADERS_TIMEOUT') return this.timeout('idle', undefined)
    const { name } = this.#provider
    if (cause instanceof Error && /^(bad port|unknown scheme)$/.test(cause.message)) return this.#unsendable(cause)
    const remedy = `check that the server runs and that models.${name}.baseURL is right`
    const what = `cannot be reached (${code ?? 'connection failed'})`
    return this.#later('provider_unreachable', what, remedy, undefined, isLostOnTheWay(code))
  }

  /** Nothing was sent: what `fetch` says of it may quote the key, so it is not repeated. */
  #unsendable(error: unknown): ModelFailure {
    const { name, apiKey } = this.#provider
    if (apiKey !== undefined && /[^\x21-\x7e]/.test(apiKey)) {
      const message = `The key of model ${name} has characters that no key has, such as a space or a line break.`
      const remedy = `correct models.${name}.apiKey in heddle.yaml, or the variable or secret it names`
      return new ModelFailure('provider_refused_key', message, remedy, { retry: 'never' })
    }
    const why = error instanceof Error ? error.name : 'unknown error'
    const message = `No request can be sent to ${this.#who()} (${why}).`
    const remedy = `correct models.${name}.baseURL in heddle.yaml: http or https, no password, a usual port`
    return new ModelFailure('provider_unreachable', message, remedy, { retry: 'never' })
  }

  #later(code: string, what: string, remedy: string, usage: Usage | undefined, mayHaveCost = true): ModelFailure {
    const cost = costOf({ usage, mayHaveCost })
    return new ModelFailure(code, `${this.#who()} ${what}.`, remedy, { retry: 'later', ...cost })
  }

  #who(): string {
    const { name, baseURL } = this.#provider
    return `Model ${name} (${URL.parse(baseURL)?.host ?? 'an address that is none'})`
  }

  #waitOrElse(): string {
    return 'wait and ask again, or name another model in agent.fallbacks'
  }

  #clean(words: string): string {
    return toldWords(words, this.#provider.apiKey)
  }
}

/** A failure that was named before anybody had counted. */
function withUsage(failure: ModelFailure, usage: Usage | undefined): ModelFailure {
  if (failure.usage || !usage) return failure
  const { code, message, remedy, retry, retryAfter, mayHaveCost } = failure
  const more = { ...(retryAfter !== undefined && { retryAfter }), mayHaveCost }
  return new ModelFailure(code, message, remedy, { retry, usage, ...more })
}

/** What a failure has cost: as much as was told, and perhaps more. */
interface Cost {
  usage?: Usage | undefined
  mayHaveCost?: boolean
}

function costOf({ usage, mayHaveCost = false }: Cost) {
  return { ...(usage && { usage }), mayHaveCost }
}

/** A connection that was there and broke: the request may have arrived. */
function isLostOnTheWay(code: string | undefined): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET'
}

/** The answers that mean "not now". */
function isBusy(status: number): boolean {
  return [408, 409, 425, 429, 503, 529].includes(status)
}

function quoting(words: string): string {
  return words === '' ? '' : ` "${words}"`
}

function providerWords({ data, responseBody, statusCode }: CallError): string {
  const message = (data as { error?: { message?: unknown } } | undefined)?.error?.message
  if (typeof message === 'string') return message
  // A redirect or a web page says nothing that helps.
  return statusCode === undefined || statusCode < 400 || /^\s*</.test(responseBody ?? '<') ? '' : (responseBody ?? '')
}

function isCallError(error: unknown): error is CallError {
  return error instanceof Error && error.name === 'AI_APICallError'
}

/** The request went out, and what came back cannot be read. */
function isOfReply(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return /^AI_(JSONParse|TypeValidation|InvalidResponseData)Error$/.test(error.name) || /normalized/.test(error.message)
}

/** Our own failures come back wrapped when they were thrown inside a stream. */
function modelFailureIn(error: unknown): ModelFailure | undefined {
  return causes(error).find((found) => found instanceof ModelFailure)
}

function errorCode(error: unknown): string | undefined {
  return causes(error)
    .map((found) => (found as NodeJS.ErrnoException).code)
    .find((code) => typeof code === 'string')
}

function causes(error: unknown): Error[] {
  const found: Error[] = []
  for (let at = error; at instanceof Error && found.length < 10; at = at.cause) found.push(at)
  return found
}

function seconds(duration: Millis): string {
  return `${Math.round(duration / 100) / 10} s`
}
