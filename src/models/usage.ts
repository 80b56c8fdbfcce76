import { isTextFile } from '../domain/attachment.ts'
import type { ModelRequest, Price } from '../domain/model.ts'
import type { Usage } from '../domain/turn.ts'

export type Counted = Omit<Usage, 'costUsd'>

/** What a call cost. Tokens that a cache served or took are part of the input and may have a price of their own. */
export function priced(tokens: Counted, price: Price): Usage {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens = 0 } = tokens
  const plain = Math.max(0, inputTokens - cachedTokens - cacheWriteTokens)
  const input =
    plain * price.input +
    cachedTokens * (price.cacheRead ?? price.input) +
    cacheWriteTokens * (price.cacheWrite ?? price.input)
  return { ...tokens, costUsd: (input + outputTokens * price.output) / 1_000_000 }
}

/** Every text of the conversation that a request carries; the tools' descriptions and pictures are not among them. */
export function textsOf({ system, messages }: Pick<ModelRequest, 'system' | 'messages'>): string[] {
  return [
    system,
    ...messages.flatMap((message) => {
      if (message.role === 'assistant')
        return [message.content, ...message.calls.flatMap(({ name, input }) => [name, JSON.stringify(input) ?? ''])]
      if (message.role === 'tool') return [message.content]
      return [message.content, ...(message.parts ?? []).filter(isTextFile).map(({ data }) => decoded(data))]
    }),
  ]
}

/** The text that a part's data stands for. */
export function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8')
}

/** The common rule of thumb, for where nobody has counted. */
export function tokensIn(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / 4)
}
