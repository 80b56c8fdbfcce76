import type { Clock } from '../domain/clock.ts'
import type { Model } from '../domain/model.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { ProviderFailures } from './provider-failures.ts'
import { type ProviderSettings, streamedModel } from './streamed-model.ts'

/**
 * A model of OpenAI's, by the responses format: chat completions lose a model's thoughts between two calls, and newer
 * models refuse to think and call tools there. A server that speaks only chat completions is `openai-compatible`.
 */
export function openAi(settings: ProviderSettings, clock: Clock): Model {
  const failures = new ProviderFailures({ ...settings, speaks: "OpenAI's responses" }, clock)
  const load = async () => {
    const { createOpenAI } = await import('@ai-sdk/openai')
    // Address and key are always given: the package would take others from the environment, unasked.
    const { baseURL, apiKey = '' } = settings
    return createOpenAI({ baseURL, apiKey, fetch: boundedFetch(failures) }).responses(settings.model)
  }
  // Nothing is left with the provider, so that thoughts come back sealed; summaries of them need a verified account.
  const options = { openai: { store: false, reasoningSummary: null } }
  return streamedModel(settings, { kind: 'openai', failures, load, options }, clock)
}
