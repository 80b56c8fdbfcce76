import type { Clock } from '../../domain/clock.ts'
import type { Model } from '../../domain/model.ts'
import { ProviderFailures } from '../provider-failures.ts'
import { boundedFetch } from '../stream/bounded-fetch.ts'
import { type ProviderSettings, streamedModel } from '../streamed-model.ts'

/** A model that speaks Anthropic's messages API. Thinking is signed and must be sent back unchanged, or the next call fails. */
export function anthropic(settings: ProviderSettings, clock: Clock): Model {
  const failures = new ProviderFailures({ ...settings, speaks: "Anthropic's messages" }, clock)
  const load = async () => {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    // Address and key are always passed: the package would otherwise read them from the environment.
    const { baseURL, apiKey = '' } = settings
    return createAnthropic({ baseURL, apiKey, fetch: boundedFetch(failures) }).messages(settings.model)
  }
  return streamedModel(settings, { kind: 'anthropic', failures, load }, clock)
}
