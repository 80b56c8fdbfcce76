import { isTextFile } from '../../domain/attachment.ts'
import type { ModelRequest, Price } from '../../domain/model.ts'
import type { Usage } from '../../domain/turn.ts'

export type TokenUsage = Omit<Usage, 'costUsd'>

/** Adds the cost of a call. Cached tokens are part of the input and may have their own price. */
export function withCost(tokens: TokenUsage, price: Price): Usage {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens = 0 } = tokens
  const plain = Math.max(0, inputTokens - cachedTokens - cacheWriteTokens)
  const input =
    plain * price.input +
    cachedTokens * (price.cacheRead ?? price.input) +
    cacheWriteTokens * (price.cacheWrite ?? price.input)
  return {
    ...tokens,
    costUsd: (input + outputTokens * price.output) / 1_000_000,
    ...(price.isAssumed && { isPriceAssumed: true }),
  }
}

/** All texts of a request's conversation, without tool descriptions and pictures. */
export function textsOf({ system, messages }: Pick<ModelRequest, 'system' | 'messages'>): string[] {
  return [
    system,
    ...messages.flatMap((message) => {
      if (message.role === 'assistant')
        return [message.content, ...message.calls.flatMap(({ name, input }) => [name, JSON.stringify(input) ?? ''])]
      if (message.role === 'tool') return [message.content]
      return [message.content, ...(message.parts ?? []).filter(isTextFile).map(({ data }) => decodeBase64(data))]
    }),
  ]
}

/** Decodes the data of a text part. */
export function decodeBase64(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8')
}

/** Rough estimate: four characters per token. */
export function estimateTokensOf(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / 4)
}
