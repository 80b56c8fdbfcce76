import { z } from 'zod'
import { integrities } from '../../domain/label.ts'
import { sources, thinkingLevels } from '../../domain/message.ts'
import { outcomes } from '../../domain/run.ts'
import { callStatuses } from '../../domain/turn.ts'
import { part } from './fields.ts'

const name = z.string().max(1000)
const tokens = z.int().nonnegative()
const dollars = z.number().nonnegative()
const parts = z.array(part).max(100)

/** A turn written by hand. */
export const turnDraft = z.strictObject({
  query: z
    .array(
      z.strictObject({
        content: z.string(),
        source: z.enum(sources).exactOptional(),
        parts: parts.exactOptional(),
        label: z.strictObject({ integrity: z.enum(integrities), sources: z.array(name).max(1000) }).exactOptional(),
      }),
    )
    .max(1000),
  response: z.strictObject({ content: z.string(), parts: parts.exactOptional() }),
  status: z.enum(outcomes).exactOptional(),
  model: z.strictObject({ requested: name.exactOptional(), actual: name.exactOptional() }).exactOptional(),
  thinkingConfig: z.strictObject({ level: z.enum(thinkingLevels) }).exactOptional(),
  toolCalls: z
    .array(z.strictObject({ id: name, name, input: z.json(), output: z.json(), status: z.enum(callStatuses) }))
    .max(10_000)
    .exactOptional(),
  usage: z
    .strictObject({
      inputTokens: tokens,
      outputTokens: tokens,
      cachedTokens: tokens,
      cacheWriteTokens: tokens.exactOptional(),
      costUsd: dollars,
      estimatedInputTokens: tokens.exactOptional(),
      estimatedOutputTokens: tokens.exactOptional(),
      estimatedUsd: dollars.exactOptional(),
      lostInputTokens: tokens.exactOptional(),
      lostOutputTokens: tokens.exactOptional(),
      lostUsd: dollars.exactOptional(),
      isEstimate: z.literal(true).exactOptional(),
      isPriceAssumed: z.literal(true).exactOptional(),
    })
    .exactOptional(),
  systemPrompt: z.string().exactOptional(),
  compactsTo: z.int().nonnegative().exactOptional(),
})
