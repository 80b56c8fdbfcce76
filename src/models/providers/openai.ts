import type { Clock } from '../../domain/clock.ts'
import type { Model } from '../../domain/model.ts'
import { ProviderFailures } from '../provider-failures.ts'
import { boundedFetch } from '../stream/bounded-fetch.ts'
import { type ProviderSettings, streamedModel } from '../streamed-model.ts'

/**
 * A model of OpenAI through the responses API: chat completions lose the thinking between two calls, and newer models
 * cannot think and call tools there. A server that speaks only chat completions is `openai-compatible`.
 */
export function openAi(settings: ProviderSettings, clock: Clock): Model {
  const failures = new ProviderFailures({ ...settings, speaks: "OpenAI's responses" }, clock)
  const load = async () => {
    const { createOpenAI } = await import('@ai-sdk/openai')
    // Address and key are always passed: the package would otherwise read them from the environment.
    const { baseURL, apiKey = '' } = settings
    return createOpenAI({ baseURL, apiKey, fetch: boundedFetch(failures) }).responses(settings.model)
  }
  // Nothing is stored at the provider, so thoughts come back encrypted; summaries would need a verified account.
  const options = { openai: { store: false, reasoningSummary: null } }
  return streamedModel(settings, { kind: 'openai', failures, load, options }, clock)
}
