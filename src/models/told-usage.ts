import type { Counted } from './usage.ts'

/**
 * What an event of a stream says of tokens, in whichever format; undefined when it says nothing. `before` is what earlier
 * events said: one format tells the input at the beginning and the output at the end.
 */
export function toldUsage(event: unknown, before: Counted | undefined): Counted | undefined {
  const { usage, message, response, usageMetadata } = section(event) ?? {}
  const found = section(usage) ?? section(section(message)?.['usage']) ?? section(section(response)?.['usage'])
  if (section(usageMetadata)) return ofGoogle(section(usageMetadata) ?? {})
  if (!found) return undefined
  return 'prompt_tokens' in found ? ofChat(found) : ofParts(found, before)
}

function ofChat(usage: Section): Counted {
  const cached = section(usage['prompt_tokens_details'])?.['cached_tokens']
  return counted(count(usage['prompt_tokens']), usage['completion_tokens'], cached, 0)
}

/** Input and output tokens by these names: caches stand beside the input, or inside it. */
function ofParts(usage: Section, before: Counted | undefined): Counted {
  const inside = section(usage['input_tokens_details'])
  if (inside) return counted(count(usage['input_tokens']), usage['output_tokens'], inside['cached_tokens'], 0)
  const read = count(usage['cache_read_input_tokens'] ?? before?.cachedTokens)
  const written = count(usage['cache_creation_input_tokens'] ?? before?.cacheWriteTokens)
  const input = 'input_tokens' in usage ? count(usage['input_tokens']) + read + written : (before?.inputTokens ?? 0)
  return counted(input, usage['output_tokens'] ?? before?.outputTokens, read, written)
}

function ofGoogle(usage: Section): Counted {
  const output = count(usage['candidatesTokenCount']) + count(usage['thoughtsTokenCount'])
  return counted(count(usage['promptTokenCount']), output, usage['cachedContentTokenCount'], 0)
}

/** Whole numbers from 0 on, whatever was sent. */
export function counted(input: unknown, output: unknown, cached: unknown, written: unknown): Counted {
  const cacheWriteTokens = count(written)
  return {
    inputTokens: count(input),
    outputTokens: count(output),
    cachedTokens: count(cached),
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
  }
}

type Section = Record<string, unknown>

function section(value: unknown): Section | undefined {
  return typeof value === 'object' && value !== null ? (value as Section) : undefined
}

function count(value: unknown): number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? Math.trunc(value) : 0
}
