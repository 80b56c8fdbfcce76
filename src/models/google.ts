import type { Clock } from '../domain/clock.ts'
import type { Model } from '../domain/model.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { ProviderFailures } from './provider-failures.ts'
import { type ProviderSettings, streamedModel } from './streamed-model.ts'

/** A model of Google's. Calls carry the signature of the thought behind them and go back with it. */
export function google(settings: ProviderSettings, clock: Clock): Model {
  const failures = new ProviderFailures({ ...settings, speaks: "Google's generateContent" }, clock)
  const load = async () => {
    const { createGoogle } = await import('@ai-sdk/google')
    // The key is always given: the package would take another from the environment, unasked.
    const { baseURL, apiKey = '' } = settings
    return createGoogle({ baseURL, apiKey, fetch: boundedFetch(failures) }).languageModel(settings.model)
  }
  // Thoughts that are told while they come show that the model is alive; one that cannot think refuses the wish.
  const options = settings.thinks ? { google: { thinkingConfig: { includeThoughts: true } } } : undefined
  return streamedModel(settings, { kind: 'google', failures, load, ...(options && { options }) }, clock)
}
