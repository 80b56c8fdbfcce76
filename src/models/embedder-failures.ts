import { HeddleError, type Retry } from '../domain/errors.ts'
import { toldWords } from './told-words.ts'

/** Whose trouble it is, for the sentence that tells of it. */
export interface EmbedderPlace {
  baseURL: string
  model: string
  apiKey?: string
}

/** Everything that can go wrong with an embedder, with what to do about it. No text of it has the key. */
export class EmbedderFailures {
  readonly #place: EmbedderPlace

  constructor(place: EmbedderPlace) {
    this.#place = place
  }

  /** It answered with a status instead of vectors. */
  refused(status: number, body: string): HeddleError {
    const words = toldWords(wordsIn(body), this.#place.apiKey)
    const said = `${status}${words === '' ? '' : ` "${words}"`}`
    if (status === 401 || status === 403) {
      const what = this.#place.apiKey === undefined ? 'wants a key' : 'does not accept the key'
      return this.#failure('embedder_refused_key', `${what}: ${said}`, 'correct memory.embedder.apiKey in heddle.yaml')
    }
    if (status === 404)
      return this.#failure(
        'embedder_unknown_model',
        `does not know ${this.#place.model}: ${said}`,
        'correct memory.embedder.model or memory.embedder.baseURL; with Ollama: ollama pull MODEL',
      )
    if (status >= 500 || [408, 409, 425, 429].includes(status))
      return this.#failure('embedder_failed', `does not answer now: ${said}`, 'wait; it is asked again', 'later')
    return this.#failure(
      'embedder_rejected',
      `rejects the request: ${said}`,
      'see that memory.embedder.model makes embeddings and memory.embedder.baseURL usually ends with /v1',
    )
  }

  /** No answer came; what `fetch` says of it may quote the key, so only its code is repeated. */
  unreachable(error: unknown): HeddleError {
    const { apiKey } = this.#place
    if (apiKey !== undefined && /[^\x21-\x7e]/.test(apiKey))
      return this.#failure(
        'embedder_refused_key',
        'cannot be asked: its key has characters that no key has, such as a space or a line break',
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
    return this.#failure('embedder_slow', `did not answer within ${seconds} s`, 'wait; it is asked again', 'later')
  }

  tooLarge(): HeddleError {
    return this.#malformed('sent more than any vectors need')
  }

  /** What came are no vectors for these texts. */
  malformed(what: string): HeddleError {
    return this.#malformed(`sent ${what}`)
  }

  #malformed(what: string): HeddleError {
    return this.#failure(
      'embedder_malformed',
      what,
      "check that memory.embedder.baseURL speaks OpenAI's embeddings and memory.embedder.model makes them",
    )
  }

  #failure(code: string, what: string, remedy: string, retry: Retry = 'never'): HeddleError {
    const host = URL.parse(this.#place.baseURL)?.host ?? 'an address that is none'
    return new HeddleError(code, `The embedder (${host}) ${what}.`, remedy, { retry })
  }
}

function wordsIn(body: string): string {
  // A web page says nothing that helps.
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
