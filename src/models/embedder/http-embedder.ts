import type { Clock, Millis } from '../../domain/clock.ts'
import type { Embedder } from '../../domain/embedder.ts'
import { EmbedderFailures, type EmbedderTarget } from './embedder-failures.ts'

/** Max texts of one request; servers reject larger ones. */
const maxTexts = 32
/** Max characters of a text; some models reject longer ones. */
const maxTextLength = 2000
const maxAnswerBytes = 16 * 1024 * 1024
const maxErrorBytes = 64 * 1024
const maxDimensions = 4096
const timeout: Millis = 30_000

/** Embedder behind any server that speaks OpenAI's embeddings API: Ollama, LM Studio, vLLM, OpenAI and others. */
export function httpEmbedder(target: EmbedderTarget, clock: Clock): Embedder {
  const failures = new EmbedderFailures(target)
  const base = target.baseURL.replace(/\/+$/, '')
  return {
    name: nameOf(base, target.model),
    async embed(texts, { signal }) {
      const vectors: Float32Array[] = []
      for (let at = 0; at < texts.length; at += maxTexts) {
        signal.throwIfAborted()
        const input = texts.slice(at, at + maxTexts).map((text) => text.slice(0, maxTextLength).toWellFormed())
        const { ok, status, text } = await post(`${base}/embeddings`, { model: target.model, input }, signal)
        if (!ok) throw failures.refused(status, text ?? '')
        if (text === undefined) throw failures.tooLarge()
        vectors.push(...vectorsIn(parseJson(text), input.length, failures))
      }
      if (new Set(vectors.map(({ length }) => length)).size > 1)
        throw failures.malformed('vectors of different lengths')
      return vectors
    },
  }

  async function post(url: string, body: object, signal: AbortSignal): Promise<EmbeddingsAnswer> {
    const late = new AbortController()
    const done = new AbortController()
    void clock.sleep(timeout, done.signal).then(() => late.abort())
    try {
      const response = await fetch(url, {
        method: 'POST',
        body: JSON.stringify(body),
        // No redirects: memories go only where the user configured.
        redirect: 'manual',
        signal: AbortSignal.any([signal, late.signal]),
        headers: {
          'content-type': 'application/json',
          ...(target.apiKey !== undefined && { authorization: `Bearer ${target.apiKey}` }),
        },
      })
      const { ok, status } = response
      return { ok, status, text: await textOf(response, ok ? maxAnswerBytes : maxErrorBytes) }
    } catch (error) {
      signal.throwIfAborted()
      throw late.signal.aborted ? failures.slow(timeout / 1000) : failures.unreachable(error)
    } finally {
      done.abort()
    }
  }
}

interface EmbeddingsAnswer {
  ok: boolean
  status: number
  /** Undefined when it is too large. */
  text: string | undefined
}

/** Name without secrets that the URL may contain. */
function nameOf(base: string, model: string): string {
  const url = URL.parse(base)
  return `${url ? url.host + url.pathname : base} ${model}`
}

async function textOf(response: Response, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function vectorsIn(answer: unknown, count: number, failures: EmbedderFailures): Float32Array[] {
  const data = (answer as { data?: unknown } | undefined | null)?.data
  if (!Array.isArray(data)) throw failures.malformed('something other than a list of vectors')
  if (data.length !== count) throw failures.malformed(`${data.length} vectors for ${count} texts`)
  const vectors = new Map<unknown, Float32Array>()
  for (const [at, row] of data.entries()) vectors.set(row?.index ?? at, vectorOf(row?.embedding, failures))
  return data.map((_, at) => {
    const vector = vectors.get(at)
    if (!vector) throw failures.malformed('no vector for one of the texts')
    return vector
  })
}

function vectorOf(numbers: unknown, failures: EmbedderFailures): Float32Array {
  if (!Array.isArray(numbers) || numbers.length === 0 || numbers.length > maxDimensions)
    throw failures.malformed(`a vector without numbers, or with more than ${maxDimensions}`)
  if (!numbers.every((number) => typeof number === 'number' && Number.isFinite(number)))
    throw failures.malformed('a vector with a value that is not a number')
  const vector = Float32Array.from(numbers)
  if (!vector.some((number) => number !== 0) || !vector.every((number) => Number.isFinite(number)))
    throw failures.malformed('a vector that cannot be normalized')
  return vector
}
