import { HeddleError, type Retry } from '../../domain/errors.ts'
import { cleanProviderText } from '../stream/provider-message.ts'

/** Settings of an embedder that its error messages need. */
export interface EmbedderTarget {
  baseURL: string
  model: string
  apiKey?: string
}

/** Errors of an embedder, with remedies. No message contains the key. */
export class EmbedderFailures {
  readonly #target: EmbedderTarget

  constructor(target: EmbedderTarget) {
    this.#target = target
  }

  /** The server answered with an error status. */
  refused(status: number, body: string): HeddleError {
    const words = cleanProviderText(messageIn(body), this.#target.apiKey)
    const answer = `${status}${words === '' ? '' : ` "${words}"`}`
    if (status === 401 || status === 403) {
      const what = this.#target.apiKey === undefined ? 'needs a key' : 'does not accept the key'
      return this.#failure(
        'embedder_refused_key',
        `${what}: ${answer}`,
        'correct memory.embedder.apiKey in heddle.yaml',
      )
    }
    if (status === 404)
      return this.#failure(
        'embedder_unknown_model',
        `does not know ${this.#target.model}: ${answer}`,
        'correct memory.embedder.model or memory.embedder.baseURL; with Ollama: ollama pull MODEL',
      )
    if (status >= 500 || [408, 409, 425, 429].includes(status))
      return this.#failure('embedder_failed', `does not answer now: ${answer}`, 'wait; heddle retries', 'later')
    return this.#failure(
      'embedder_rejected',
      `rejects the request: ${answer}`,
      'check that memory.embedder.model is an embedding model; memory.embedder.baseURL usually ends with /v1',
    )
  }

  /** No answer. The message of `fetch` may quote the key, so only its code is shown. */
  unreachable(error: unknown): HeddleError {
    const { apiKey } = this.#target
    if (apiKey !== undefined && /[^\x21-\x7e]/.test(apiKey))
      return this.#failure(
        'embedder_refused_key',
        'cannot be called: its key contains invalid characters, such as a space or a line break',
        'correct memory.embedder.apiKey in heddle.yaml',
      )
    return this.#failure(
      'embedder_unreachable',
      `cannot be reached (${codeOf(error)})`,
      'check that the server runs and that memory.embedder.baseURL is right',
      'later',
    )
  }

  slow(seconds: number): HeddleError {
    return this.#failure('embedder_slow', `did not answer within ${seconds} s`, 'wait; heddle retries', 'later')
  }

  tooLarge(): HeddleError {
    return this.#malformed('sent too large an answer')
  }

  /** The answer has no valid vectors for these texts. */
  malformed(what: string): HeddleError {
    return this.#malformed(`sent ${what}`)
  }

  #malformed(what: string): HeddleError {
    return this.#failure(
      'embedder_malformed',
      what,
      "check that memory.embedder.baseURL speaks OpenAI's embeddings API and memory.embedder.model is an embedding model",
    )
  }

  #failure(code: string, what: string, remedy: string, retry: Retry = 'never'): HeddleError {
    const host = URL.parse(this.#target.baseURL)?.host ?? 'invalid address'
    return new HeddleError(code, `the embedder (${host}) ${what}`, remedy, { retry })
  }
}

function messageIn(body: string): string {
  // An HTML page has no useful message.
  if (/^\s*</.test(body)) return ''
  try {
    const { error } = JSON.parse(body)
    return String(error?.message ?? error ?? '')
  } catch {
    return body
  }
}

function codeOf(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 10; at = at.cause, depth++) {
    const { code } = at as NodeJS.ErrnoException
    if (typeof code === 'string') return code
  }
  return 'connection failed'
}
