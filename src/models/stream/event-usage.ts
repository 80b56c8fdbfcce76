import type { TokenUsage } from './usage.ts'

/**
 * Token usage in a stream event of any format; undefined when there is none. `before` is the usage of earlier events: one
 * format reports the input at the beginning and the output at the end.
 */
export function usageInEvent(event: unknown, before: TokenUsage | undefined): TokenUsage | undefined {
  const { usage, message, response, usageMetadata } = section(event) ?? {}
  const found = section(usage) ?? section(section(message)?.['usage']) ?? section(section(response)?.['usage'])
  if (section(usageMetadata)) return ofGoogle(section(usageMetadata) ?? {})
  if (!found) return undefined
  return 'prompt_tokens' in found ? ofChat(found) : ofParts(found, before)
}

function ofChat(usage: Section): TokenUsage {
  const cached = section(usage['prompt_tokens_details'])?.['cached_tokens']
  return toTokenUsage(asCount(usage['prompt_tokens']), usage['completion_tokens'], cached, 0)
}

/** Formats with `input_tokens` and `output_tokens`: cached tokens are counted separately or as part of the input. */
function ofParts(usage: Section, before: TokenUsage | undefined): TokenUsage {
  const inside = section(usage['input_tokens_details'])
  if (inside) return toTokenUsage(asCount(usage['input_tokens']), usage['output_tokens'], inside['cached_tokens'], 0)
  const read = asCount(usage['cache_read_input_tokens'] ?? before?.cachedTokens)
  const written = asCount(usage['cache_creation_input_tokens'] ?? before?.cacheWriteTokens)
  const input = 'input_tokens' in usage ? asCount(usage['input_tokens']) + read + written : (before?.inputTokens ?? 0)
  return toTokenUsage(input, usage['output_tokens'] ?? before?.outputTokens, read, written)
}

function ofGoogle(usage: Section): TokenUsage {
  const output = asCount(usage['candidatesTokenCount']) + asCount(usage['thoughtsTokenCount'])
  return toTokenUsage(asCount(usage['promptTokenCount']), output, usage['cachedContentTokenCount'], 0)
}

/** Sanitizes counts to non-negative integers. */
export function toTokenUsage(input: unknown, output: unknown, cached: unknown, written: unknown): TokenUsage {
  const cacheWriteTokens = asCount(written)
  return {
    inputTokens: asCount(input),
    outputTokens: asCount(output),
    cachedTokens: asCount(cached),
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
  }
}

type Section = Record<string, unknown>

function section(value: unknown): Section | undefined {
  return typeof value === 'object' && value !== null ? (value as Section) : undefined
}

function asCount(value: unknown): number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? Math.trunc(value) : 0
}
