import type { Clock, Millis } from '../domain/clock.ts'
import type { Model, ModelFailure, Price } from '../domain/model.ts'
import { isLoopback } from './loopback.ts'
import { patience } from './patience.ts'
import { type Asked, callOptions } from './prompt.ts'
import type { ProviderFailures } from './provider-failures.ts'
import type { CallOptions, ProviderModel } from './provider-package.ts'
import { ReplyParts } from './reply-parts.ts'

/** A model as its owner configured it and its provider makes it. */
export interface ProviderSettings extends Omit<Asked, 'kind'> {
  /** As the owner names it in `models`. */
  name: string
  /** As the provider names it. */
  model: string
  baseURL: string
  apiKey?: string
  window: number
  price: Price
  /** How long the provider may send nothing that belongs to a reply. */
  idleTimeout: Millis
  totalTimeout: Millis
}

/** The half of a model that differs from provider to provider. */
export interface Wire extends Pick<Asked, 'kind'> {
  failures: ProviderFailures
  /** Loads the provider's package: at the first request, since commands that ask nothing must start quickly. */
  load(): Promise<ProviderModel>
  /** What this provider is always told. */
  options?: CallOptions['providerOptions']
}

/** The Model port over a provider package: one streamed request per call, and a reply only if all of it came. */
export function streamedModel(settings: ProviderSettings, wire: Wire, clock: Clock): Model {
  const { name, window, price, idleTimeout, totalTimeout, sees, readsPdf, thinks } = settings
  const { failures, kind, options } = wire
  // Which run a request belongs to is nobody's business but that of a server on this machine.
  const sendsRunId = isLoopback(settings.baseURL)
  let loading: Promise<ProviderModel> | undefined
  return {
    name,
    window,
    price,
    ...(sees !== undefined && { sees }),
    ...(readsPdf !== undefined && { readsPdf }),
    ...(thinks !== undefined && { thinks }),
    async reply(request, onDelta) {
      const { signal } = request
      signal.throwIfAborted()
      loading ??= wire.load()
      const provider = await loading
      signal.throwIfAborted()
      const parts = new ReplyParts(request, { ...settings, kind }, failures, onDelta)
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
          ...callOptions(request, { ...settings, kind }),
          ...(sendsRunId && { headers: { 'x-heddle-run': request.id } }),
          ...(options && { providerOptions: options }),
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
