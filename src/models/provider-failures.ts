import type { Clock, Millis } from '../domain/clock.ts'
import { ModelFailure } from '../domain/model.ts'
import type { Usage } from '../domain/turn.ts'
import { cleanProviderText } from './stream/provider-message.ts'
import { retryAfter } from './stream/retry-after.ts'

/** Settings of a provider that its error messages need. */
interface Provider {
  name: string
  model: string
  baseURL: string
  /** Wire format, for the message about a server that does not speak it. */
  speaks: string
  apiKey?: string
  idleTimeout: Millis
  totalTimeout: Millis
}

/** Error that the provider packages throw for an error status or a failed connection. */
interface CallError {
  statusCode?: number
  responseHeaders?: Record<string, string>
  responseBody?: string
  data?: unknown
  cause?: unknown
}

/** Provider messages for a request that exceeds the context window. */
const contextOverflow =
  /context.{0,20}(length|window|size)|prompt is too long|maximum context|too many tokens|exceeds? the (context|maximum)/i

/** Maps everything that can go wrong in a call to a ModelFailure with a remedy. No message contains the key. */
export class ProviderFailures {
  readonly #provider: Provider
  readonly #clock: Clock

  constructor(provider: Provider, clock: Clock) {
    this.#provider = provider
    this.#clock = clock
  }

  /** Failure before the reply began. */
  ofRequest(error: unknown): ModelFailure {
    const known = modelFailureIn(error)
    if (known) return known
    if (!isCallError(error)) return isParseFailure(error) ? this.malformed(undefined) : this.#unsendable(error)
    if (error.statusCode === undefined || error.statusCode < 300) return this.#unreachable(error.cause)
    return this.#refused(error.statusCode, providerMessage(error), retryAfter(error.responseHeaders, this.#clock))
  }

  /** Failure in the middle of the reply. */
  ofStream(error: unknown, usage: Usage | undefined): ModelFailure {
    const known = modelFailureIn(error)
    if (known) return withUsage(known, usage)
    return errorCode(error) === 'UND_ERR_BODY_TIMEOUT' ? this.timeout('idle', usage) : this.cut(usage)
  }

  cut(usage: Usage | undefined): ModelFailure {
    return this.#later(
      'stream_cut',
      'closed the connection in the middle of a reply',
      'ask again; what it said before that is not a whole answer',
      usage,
    )
  }

  malformed(usage: Usage | undefined): ModelFailure {
    const { name, speaks } = this.#provider
    const remedy = `ask again; if it goes on, check that models.${name}.baseURL speaks ${speaks}`
    return this.#later('reply_malformed', 'sent an invalid reply', remedy, usage)
  }

  timeout(limit: 'idle' | 'total', usage: Usage | undefined): ModelFailure {
    const { name, idleTimeout, totalTimeout } = this.#provider
    const what =
      limit === 'idle' ? `was silent for ${seconds(idleTimeout)}` : `did not finish within ${seconds(totalTimeout)}`
    const remedy = `ask again, raise models.${name}.timeout.${limit}, or name another model in agent.fallbacks`
    return this.#later('provider_timeout', what, remedy, usage)
  }

  /** The provider sent an error event in the stream. */
  errorEvent(error: unknown, usage: Usage | undefined): ModelFailure {
    const { code, statusCode, message } = error as { code?: unknown; statusCode?: unknown; message?: unknown }
    const text = typeof error === 'string' ? error : typeof message === 'string' ? message : ''
    const status = Number(statusCode ?? code)
    if (status >= 400 && status < 600) return this.#refused(status, text, undefined, { usage, mayHaveCost: true })
    return this.#later('provider_failed', `stopped replying${quoted(this.#clean(text))}`, this.#retryRemedy(), usage)
  }

  contextCut(sent: number, usage: Usage): ModelFailure {
    const { name } = this.#provider
    return new ModelFailure(
      'context_cut',
      `${this.#modelName()} read only ${usage.inputTokens} of about ${sent} tokens that were sent, so its answer is not used`,
      `raise the context window of the server (Ollama: num_ctx), or lower models.${name}.contextWindow to what it has`,
      { retry: 'never', usage },
    )
  }

  tooLarge(what: string): ModelFailure {
    return new ModelFailure(
      'reply_too_large',
      `${this.#modelName()} sent ${what}`,
      'use another model, or ask for less',
      {
        retry: 'never',
        mayHaveCost: true,
      },
    )
  }

  /** An answer that is not a stream: an HTML page, or a server that cannot stream. */
  notAStream(contentType: string): ModelFailure {
    return new ModelFailure(
      'provider_rejected',
      `${this.#modelName()} answered with ${this.#clean(contentType)} instead of a stream`,
      `check models.${this.#provider.name}.baseURL in heddle.yaml; it usually ends with /v1`,
      { retry: 'never', mayHaveCost: contentType.includes('json') },
    )
  }

  #refused(status: number, words: string, after: Millis | undefined, cost: Cost = {}): ModelFailure {
    const { name, model, apiKey } = this.#provider
    const text = `${status}${quoted(this.#clean(words))}`
    const never = (code: string, what: string, remedy: string) =>
      new ModelFailure(code, `${this.#modelName()} ${what}: ${text}`, remedy, { retry: 'never', ...costOf(cost) })
    const key = `models.${name}.apiKey in heddle.yaml`
    if (status === 401 || status === 403 || (status === 400 && /api[ _]key[ _](not[ _]valid|invalid)/i.test(words)))
      return apiKey === undefined
        ? never(
            'provider_refused_key',
            'needs a key',
            `store a key: heddle secret set ${name}; then set ${key} to \${secret:${name}}`,
          )
        : never(
            'provider_refused_key',
            'does not accept the key',
            `correct ${key}, or the variable or secret it names (heddle secret set NAME)`,
          )
    if (status === 404)
      return never('model_unknown', `does not know ${model}`, `correct models.${name}.model or models.${name}.baseURL`)
    if (status === 413 || (status === 400 && contextOverflow.test(words)))
      return never(
        'provider_rejected',
        'says that the request is too long',
        `lower models.${name}.contextWindow to what the model has, ask for less, or start a new session`,
      )
    if (status < 500 && !isBusy(status))
      return never('provider_rejected', 'rejects the request', `check models.${name} in heddle.yaml`)
    return new ModelFailure(
      isBusy(status) ? 'provider_busy' : 'provider_failed',
      `${this.#modelName()} ${isBusy(status) ? 'is busy' : 'failed'}: ${text}`,
      this.#retryRemedy(),
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
    return this.#later('provider_unreachable', what, remedy, undefined, isConnectionBroken(code))
  }

  /** Nothing was sent. The message of `fetch` may quote the key, so it is not shown. */
  #unsendable(error: unknown): ModelFailure {
    const { name, apiKey } = this.#provider
    if (apiKey !== undefined && /[^\x21-\x7e]/.test(apiKey)) {
      const message = `the key of model ${name} contains invalid characters, such as a space or a line break`
      const remedy = `correct models.${name}.apiKey in heddle.yaml, or the variable or secret it names`
      return new ModelFailure('provider_refused_key', message, remedy, { retry: 'never' })
    }
    const why = error instanceof Error ? error.name : 'unknown error'
    const message = `no request can be sent to ${this.#modelName()} (${why})`
    const remedy = `correct models.${name}.baseURL in heddle.yaml: http or https, no password, a usual port`
    return new ModelFailure('provider_unreachable', message, remedy, { retry: 'never' })
  }

  #later(code: string, what: string, remedy: string, usage: Usage | undefined, mayHaveCost = true): ModelFailure {
    const cost = costOf({ usage, mayHaveCost })
    return new ModelFailure(code, `${this.#modelName()} ${what}`, remedy, { retry: 'later', ...cost })
  }

  #modelName(): string {
    const { name, baseURL } = this.#provider
    return `model ${name} (${URL.parse(baseURL)?.host ?? 'invalid address'})`
  }

  #retryRemedy(): string {
    return 'wait and ask again, or name another model in agent.fallbacks'
  }

  #clean(words: string): string {
    return cleanProviderText(words, this.#provider.apiKey)
  }
}

/** Adds the usage to a failure that was created before it was known. */
function withUsage(failure: ModelFailure, usage: Usage | undefined): ModelFailure {
  if (failure.usage || !usage) return failure
  const { code, message, remedy, retry, retryAfter, mayHaveCost } = failure
  const more = { ...(retryAfter !== undefined && { retryAfter }), mayHaveCost }
  return new ModelFailure(code, message, remedy, { retry, usage, ...more })
}

/** Cost of a failed call: the reported usage, and whether there may be more. */
interface Cost {
  usage?: Usage | undefined
  mayHaveCost?: boolean
}

function costOf({ usage, mayHaveCost = false }: Cost) {
  return { ...(usage && { usage }), mayHaveCost }
}

/** Whether an established connection broke: the request may have arrived. */
function isConnectionBroken(code: string | undefined): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET'
}

/** Status codes that mean "retry later". */
function isBusy(status: number): boolean {
  return [408, 409, 425, 429, 503, 529].includes(status)
}

function quoted(words: string): string {
  return words === '' ? '' : ` "${words}"`
}

function providerMessage({ data, responseBody, statusCode }: CallError): string {
  const message = (data as { error?: { message?: unknown } } | undefined)?.error?.message
  if (typeof message === 'string') return message
  // A redirect or an HTML page has no useful message.
  return statusCode === undefined || statusCode < 400 || /^\s*</.test(responseBody ?? '<') ? '' : (responseBody ?? '')
}

function isCallError(error: unknown): error is CallError {
  return error instanceof Error && error.name === 'AI_APICallError'
}

/** Whether the request was sent and the answer cannot be parsed. */
function isParseFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return /^AI_(JSONParse|TypeValidation|InvalidResponseData)Error$/.test(error.name) || /normalized/.test(error.message)
}

/** Unwraps our own failures, which are wrapped when thrown inside a stream. */
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
