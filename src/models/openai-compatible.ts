import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { Clock, Millis } from '../domain/clock.ts'
import type { Model } from '../domain/model.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { isLoopback } from './loopback.ts'
import { ProviderFailures } from './provider-failures.ts'
import { streamedModel } from './streamed-model.ts'

export interface OpenAiCompatibleSettings {
  /** As the owner names it in `models`. */
  name: string
  /** As the server names it. */
  model: string
  baseURL: string
  apiKey?: string
  window: number
  /** USD per million tokens. */
  price: { input: number; output: number }
  /** How long the provider may send nothing that belongs to a reply. */
  idleTimeout: Millis
  totalTimeout: Millis
}

/** A model behind any server that speaks OpenAI's chat completions: Ollama, vLLM, LM Studio, OpenRouter and others. */
export function openAiCompatible(settings: OpenAiCompatibleSettings, clock: Clock): Model {
  const failures = new ProviderFailures(settings, clock)
  const provider = createOpenAICompatible({
    // Names the metadata in stored replies: the same for every model, so that a fallback can read another's.
    name: 'heddle',
    baseURL: settings.baseURL,
    includeUsage: true,
    fetch: boundedFetch(failures),
    ...(settings.apiKey === undefined ? {} : { apiKey: settings.apiKey }),
  })
  return streamedModel(
    provider.chatModel(settings.model),
    { ...settings, sendsRunId: isLoopback(settings.baseURL) },
    failures,
    clock,
  )
}
