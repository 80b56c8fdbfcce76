import type { Clock, Millis } from '../domain/clock.ts'
import type { Embedder } from '../domain/embedder.ts'
import { EmbedderFailures, type EmbedderPlace } from './embedder-failures.ts'

/** What one request holds at most; servers refuse more than they expect. */
const mostTexts = 32
/** Of each text: what models read at once is seldom more, and some refuse what is longer. */
const longestText = 2000
const largestAnswer = 16 * 1024 * 1024
const longestError = 64 * 1024
const mostDimensions = 4096
const patience: Millis = 30_000

/** An embedder behind any server that speaks OpenAI's embeddings: Ollama, LM Studio, vLLM, OpenAI and others. */
export function httpEmbedder(place: EmbedderPlace, clock: Clock): Embedder {
  const failures = new EmbedderFailures(place)
  const base = place.baseURL.replace(/\/+$/, '')
  return {
    name: nameOf(base, place.model),
    async embed(texts, { signal }) {
      const vectors: Float32Array[] = []
      for (let at = 0; at < texts.length; at += mostTexts) {
        signal.throwIfAborted()
        const input = texts.slice(at, at + mostTexts).map((text) => text.slice(0, longestText).toWellFormed())
        const { ok, status, text } = await ask(`${base}/embeddings`, { model: place.model, input }, signal)
        if (!ok) throw failures.refused(status, text ?? '')
        if (text === undefined) throw failures.tooLarge()
        vectors.push(...vectorsIn(parsed(text), input.length, failures))
      }
      if (new Set(vectors.map(({ length }) => length)).size > 1)
        throw failures.malformed('vectors of different lengths')
      return vectors
    },
  }

  async function ask(url: string, body: object, signal: AbortSignal): Promise<Answer> {
    const late = new AbortController()
    const over = new AbortController()
    void clock.sleep(patience, over.signal).then(() => late.abort())
    try {
      const response = await fetch(url, {
        method: 'POST',
        body: JSON.stringify(body),
        // The owner chose where memories go: nobody sends them on to another place.
        redirect: 'manual',
        signal: AbortSignal.any([signal, late.signal]),
        headers: {
          'content-type': 'application/json',
          ...(place.apiKey !== undefined && { authorization: `Bearer ${place.apiKey}` }),
        },
      })
      const { ok, status } = response
      return { ok, status, text: await textOf(response, ok ? largestAnswer : longestError) }
    } catch (error) {
      signal.throwIfAborted()
      throw late.signal.aborted ? failures.slow(patience / 1000) : failures.unreachable(error)
    } finally {
      over.abort()
    }
  }
}

interface Answer {
  ok: boolean
  status: number
  /** Undefined where there is too much of it. */
  text: string | undefined
}

/** Without what an address may hold of secrets. */
function nameOf(base: string, model: string): string {
  const url = URL.parse(base)
  return `${url ? url.host + url.pathname : base} ${model}`
}

async function textOf(response: Response, most: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > most) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function vectorsIn(answer: unknown, count: number, failures: EmbedderFailures): Float32Array[] {
  const data = (answer as { data?: unknown } | undefined | null)?.data
  if (!Array.isArray(data)) throw failures.malformed('something that is no list of vectors')
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
  if (!Array.isArray(numbers) || numbers.length === 0 || numbers.length > mostDimensions)
    throw failures.malformed(`a vector without numbers, or with more than ${mostDimensions}`)
  if (!numbers.every((number) => typeof number === 'number' && Number.isFinite(number)))
    throw failures.malformed('a vector with something in it that is no number')
  const vector = Float32Array.from(numbers)
  if (!vector.some((number) => number !== 0) || !vector.every((number) => Number.isFinite(number)))
    throw failures.malformed('a vector that points nowhere')
  return vector
}
