import type { Clock, Millis } from '../domain/clock.ts'
import type { Model, ModelFailure } from '../domain/model.ts'
import { patience } from './patience.ts'
import { callOptions } from './prompt.ts'
import type { ProviderFailures } from './provider-failures.ts'
import type { ProviderModel } from './provider-package.ts'
import { ReplyParts } from './reply-parts.ts'

export interface StreamedSettings {
  name: string
  /** As the provider names it. */
  model: string
  window: number
  price: { input: number; output: number }
  idleTimeout: Millis
  totalTimeout: Millis
  /** Whether requests say which run they belong to: only a server on this machine may know. */
  sendsRunId: boolean
}

/** The Model port over a provider package: one streamed request per call, and a reply only if all of it came. */
export function streamedModel(
  provider: ProviderModel,
  settings: StreamedSettings,
  failures: ProviderFailures,
  clock: Clock,
): Model {
  const { name, window, price, idleTimeout, totalTimeout, sendsRunId } = settings
  return {
    name,
    window,
    price,
    async reply(request, onDelta) {
      const { signal } = request
      signal.throwIfAborted()
      const parts = new ReplyParts(request, settings, failures, onDelta)
      const connection = new AbortController()
      let expired: ModelFailure | undefined
      let hasBegun = false

      const hangUp = () => connection.abort()
      signal.addEventListener('abort', hangUp)
      const waiting = patience(clock, { idle: idleTimeout, total: totalTimeout }, (limit) => {
        expired = failures.timeout(limit, parts.usage)
        hangUp()
      })
      try {
        const { stream } = await provider.doStream({
          ...callOptions(request),
          ...(sendsRunId && { headers: { 'x-heddle-run': request.id } }),
          abortSignal: connection.signal,
          includeRawChunks: true,
        })
        hasBegun = true
        for await (const part of stream) {
          // An event that brings no part of a reply is a sign of life of the server, not of the model.
          if (part.type !== 'raw') waiting.heard()
          parts.take(part)
        }
        return parts.whole()
      } catch (error) {
        hangUp()
        signal.throwIfAborted()
        throw expired ?? (hasBegun ? failures.ofStream(error, parts.usage) : failures.ofRequest(error))
      } finally {
        waiting.end()
        signal.removeEventListener('abort', hangUp)
      }
    },
  }
}
