import type { ServerResponse } from 'node:http'
import type { ProviderFaults } from './provider-wire.ts'

/** What the embeddings of a test provider are like. */
export interface TestEmbeddings {
  /** Numbers in each vector; 128 unless said otherwise. */
  dimensions?: number
  /** Words of one list mean the same. */
  synonyms?: string[][]
  /** What goes wrong with a request, asked for each: `status`, `reset`, or another body than the right one. */
  faults?(request: EmbeddingsRequest): EmbeddingsFaults | undefined
}

export interface EmbeddingsRequest {
  model: string
  texts: string[]
}

export interface EmbeddingsFaults extends Pick<ProviderFaults, 'status' | 'reset'> {
  /** Sent instead of the right answer. */
  body?: unknown
  /** Nothing is ever sent. */
  silent?: boolean
}

/** A request for embeddings as OpenAI's format has it; anything else is undefined. */
export function readEmbeddings(body: unknown): EmbeddingsRequest | undefined {
  const { model, input } = (body ?? {}) as { model?: unknown; input?: unknown }
  const texts = typeof input === 'string' ? [input] : input
  if (typeof model !== 'string' || !Array.isArray(texts) || texts.length === 0) return undefined
  return texts.every((text) => typeof text === 'string') ? { model, texts } : undefined
}

/** The vectors of these texts: the same for the same words, near for texts that share some or their synonyms. */
export function embeddingsOf({ model, texts }: EmbeddingsRequest, { dimensions = 128, synonyms = [] }: TestEmbeddings) {
  const same = new Map(synonyms.flatMap((words) => words.map((word) => [word.toLowerCase(), words[0] ?? word])))
  const vector = (text: string) => {
    const sum = new Array<number>(dimensions).fill(0)
    for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
      const next = numbersFrom(`${model}/${same.get(word) ?? word}`)
      for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] ?? 0) + next()
    }
    const length = Math.hypot(...sum)
    // A text without a word lies where no other does.
    return length === 0 ? sum.map((_, at) => (at === 0 ? 1 : 0)) : sum.map((number) => number / length)
  }
  return {
    object: 'list',
    model,
    data: texts.map((text, index) => ({ object: 'embedding', index, embedding: vector(text) })),
  }
}

/** Answers, or fails as the test wants it; tells what became of it. */
export function sendEmbeddings(
  response: ServerResponse,
  asked: EmbeddingsRequest,
  options: TestEmbeddings,
): 'answered' | 'silent' | 'broken' | number {
  const { status, reset, silent, body } = options.faults?.(asked) ?? {}
  if (silent) return 'silent'
  if (reset) {
    response.socket?.resetAndDestroy()
    return 'broken'
  }
  const usual = { error: { message: `status ${status?.code}, as asked` } }
  const answer = body ?? (status ? (status.body ?? usual) : embeddingsOf(asked, options))
  response.writeHead(status?.code ?? 200, { 'content-type': 'application/json', ...status?.headers })
  response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  return status?.code ?? 'answered'
}

/** Numbers between -1 and 1 that a word alone decides. */
function numbersFrom(word: string): () => number {
  let state = 2166136261
  for (const character of word) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16777619) >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) >>> 0
    return state / 2 ** 31 - 1
  }
}
