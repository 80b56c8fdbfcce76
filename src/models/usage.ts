import type { ModelRequest } from '../domain/model.ts'
import type { Usage } from '../domain/turn.ts'

/** What a call cost, at a price in USD per million tokens. Cached tokens count in full: what they save differs. */
export function priced(
  tokens: { inputTokens: number; outputTokens: number; cachedTokens: number },
  price: { input: number; output: number },
): Usage {
  const costUsd = (tokens.inputTokens * price.input + tokens.outputTokens * price.output) / 1_000_000
  return { ...tokens, costUsd }
}

/** Every text of the conversation that a request carries; the tools' descriptions are not among them. */
export function textsOf({ system, messages }: Pick<ModelRequest, 'system' | 'messages'>): string[] {
  return [
    system,
    ...messages.flatMap((message) =>
      message.role === 'assistant'
        ? [message.content, ...message.calls.flatMap(({ name, input }) => [name, JSON.stringify(input) ?? ''])]
        : [message.content],
    ),
  ]
}

/** The common rule of thumb, for where nobody has counted. */
export function tokensIn(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / 4)
}
