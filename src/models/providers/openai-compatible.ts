import type { Clock } from '../../domain/clock.ts'
import type { Model } from '../../domain/model.ts'
import { ProviderFailures } from '../provider-failures.ts'
import { boundedFetch } from '../stream/bounded-fetch.ts'
import { type ProviderSettings, streamedModel } from '../streamed-model.ts'

/** A model behind any server that speaks OpenAI's chat completions: Ollama, vLLM, LM Studio, OpenRouter and others. */
export function openAiCompatible(settings: ProviderSettings, clock: Clock): Model {
  const failures = new ProviderFailures({ ...settings, speaks: "OpenAI's chat completions" }, clock)
  const load = async () => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const provider = createOpenAICompatible({
      // Key of the metadata in stored replies: the same for every model, so that a fallback can read it.
      name: 'heddle',
      baseURL: settings.baseURL,
      includeUsage: true,
      fetch: boundedFetch(failures),
      ...(settings.apiKey === undefined ? {} : { apiKey: settings.apiKey }),
    })
    return provider.chatModel(settings.model)
  }
  return streamedModel(settings, { kind: 'openai-compatible', failures, load }, clock)
}
