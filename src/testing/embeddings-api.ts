import type { ServerResponse } from 'node:http'
import type { ProviderFaults } from './provider-wire.ts'

/** Behaviour of the embeddings of a test provider. */
export interface TestEmbeddings {
  /** Dimensions of the vectors; default 128. */
  dimensions?: number
  /** Lists of words with the same meaning. */
  synonyms?: string[][]
  /** Faults of a request: `status`, `reset`, or a wrong body. */
  faults?(request: EmbeddingsRequest): EmbeddingsFaults | undefined
}

export interface EmbeddingsRequest {
  model: string
  texts: string[]
}

export interface EmbeddingsFaults extends Pick<ProviderFaults, 'status' | 'reset'> {
  /** Sent instead of the correct answer. */
  body?: unknown
  /** Never answers. */
  silent?: boolean
}

/** Parses an embeddings request in OpenAI's format; undefined for anything else. */
export function readEmbeddings(body: unknown): EmbeddingsRequest | undefined {
  const { model, input } = (body ?? {}) as { model?: unknown; input?: unknown }
  const texts = typeof input === 'string' ? [input] : input
  if (typeof model !== 'string' || !Array.isArray(texts) || texts.length === 0) return undefined
  return texts.every((text) => typeof text === 'string') ? { model, texts } : undefined
}

/** Vectors of texts: equal for equal words, near for texts that share words or synonyms. */
function embeddingsOf({ model, texts }: EmbeddingsRequest, { dimensions = 128, synonyms = [] }: TestEmbeddings) {
  const same = new Map(synonyms.flatMap((words) => words.map((word) => [word.toLowerCase(), words[0] ?? word])))
  const vector = (text: string) => {
    const sum = new Array<number>(dimensions).fill(0)
    for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
      const next = numbersFrom(`${model}/${same.get(word) ?? word}`)
      for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] ?? 0) + next()
    }
    const length = Math.hypot(...sum)
    // A text without words gets a vector of its own.
    return length === 0 ? sum.map((_, at) => (at === 0 ? 1 : 0)) : sum.map((number) => number / length)
  }
  return {
    object: 'list',
    model,
    data: texts.map((text, index) => ({ object: 'embedding', index, embedding: vector(text) })),
  }
}

/** Answers, or fails as configured; returns the outcome. */
export function sendEmbeddings(
  response: ServerResponse,
  request: EmbeddingsRequest,
  options: TestEmbeddings,
): 'answered' | 'silent' | 'broken' | number {
  const { status, reset, silent, body } = options.faults?.(request) ?? {}
  if (silent) return 'silent'
  if (reset) {
    response.socket?.resetAndDestroy()
    return 'broken'
  }
  const defaultBody = { error: { message: `status ${status?.code}, as asked` } }
  const answer = body ?? (status ? (status.body ?? defaultBody) : embeddingsOf(request, options))
  response.writeHead(status?.code ?? 200, { 'content-type': 'application/json', ...status?.headers })
  response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  return status?.code ?? 'answered'
}

/** Pseudo-random numbers between -1 and 1, seeded by a word. */
function numbersFrom(word: string): () => number {
  let state = 2166136261
  for (const character of word) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16777619) >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) >>> 0
    return state / 2 ** 31 - 1
  }
}
