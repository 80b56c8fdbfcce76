import type { Clock } from '../../domain/clock.ts'
import type { Model } from '../../domain/model.ts'
import { ProviderFailures } from '../provider-failures.ts'
import { boundedFetch } from '../stream/bounded-fetch.ts'
import { type ProviderSettings, streamedModel } from '../streamed-model.ts'

/** A model of Google. Tool calls carry a thought signature, which must be sent back with them. */
export function google(settings: ProviderSettings, clock: Clock): Model {
  const failures = new ProviderFailures({ ...settings, speaks: "Google's generateContent" }, clock)
  const load = async () => {
    const { createGoogle } = await import('@ai-sdk/google')
    // The key is always passed: the package would otherwise read it from the environment.
    const { baseURL, apiKey = '' } = settings
    return createGoogle({ baseURL, apiKey, fetch: boundedFetch(failures) }).languageModel(settings.model)
  }
  // Streamed thoughts show that the model is alive; a model that cannot think rejects the option.
  const options = settings.thinks ? { google: { thinkingConfig: { includeThoughts: true } } } : undefined
  return streamedModel(settings, { kind: 'google', failures, load, ...(options && { options }) }, clock)
}
