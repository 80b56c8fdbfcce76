import type { Clock, Millis } from '../domain/clock.ts'
import type { Model, ModelFailure, Price } from '../domain/model.ts'
import { isLoopback } from './loopback.ts'
import type { ProviderFailures } from './provider-failures.ts'
import type { CallOptions, ProviderModel } from './provider-package.ts'
import { callOptions, type PromptTarget } from './stream/prompt.ts'
import { ReplyParts } from './stream/reply-parts.ts'
import { replyTimeouts } from './stream/reply-timeouts.ts'

/** Settings of a configured model. */
export interface ProviderSettings extends Omit<PromptTarget, 'kind'> {
  /** Name in the `models` section. */
  name: string
  /** The provider's name of the model. */
  model: string
  baseURL: string
  apiKey?: string
  window: number
  price: Price
  /** Max silence between two parts of a reply. */
  idleTimeout: Millis
  totalTimeout: Millis
}

/** Provider-specific half of a model. */
interface Wire extends Pick<PromptTarget, 'kind'> {
  failures: ProviderFailures
  /** Loads the provider's package at the first request, so that other commands start fast. */
  load(): Promise<ProviderModel>
  /** Options sent with every request. */
  options?: CallOptions['providerOptions']
}

/** Model port over a provider package: one streamed request per call; a partial reply is a failure. */
export function streamedModel(settings: ProviderSettings, wire: Wire, clock: Clock): Model {
  const { name, window, price, idleTimeout, totalTimeout, sees, readsPdf, thinks, thinking } = settings
  const { failures, kind, options } = wire
  // Only a server on this machine may know the run id.
  const sendsRunId = isLoopback(settings.baseURL)
  let loading: Promise<ProviderModel> | undefined
  return {
    name,
    modelId: settings.model,
    window,
    price,
    ...(sees !== undefined && { sees }),
    ...(readsPdf !== undefined && { readsPdf }),
    ...(thinks !== undefined && { thinks }),
    ...(thinking !== undefined && { thinking }),
    async reply(request, onDelta) {
      const { signal } = request
      signal.throwIfAborted()
      loading ??= wire.load()
      const provider = await loading
      signal.throwIfAborted()
      const parts = new ReplyParts(request, { ...settings, kind }, failures, onDelta)
      const connection = new AbortController()
      let expired: ModelFailure | undefined
      let hasStarted = false

      const abort = () => connection.abort()
      signal.addEventListener('abort', abort)
      const timeouts = replyTimeouts(clock, { idle: idleTimeout, total: totalTimeout }, (limit) => {
        expired = failures.timeout(limit, parts.usage)
        abort()
      })
      try {
        const { stream } = await provider.doStream({
          ...callOptions(request, { ...settings, kind }),
          ...(sendsRunId && { headers: { 'x-heddle-run': request.id } }),
          ...(options && { providerOptions: options }),
          abortSignal: connection.signal,
          includeRawChunks: true,
        })
        hasStarted = true
        for await (const part of stream) {
          // A raw event shows that the server is alive, not the model.
          if (part.type !== 'raw') timeouts.heard()
          parts.take(part)
        }
        return parts.whole()
      } catch (error) {
        abort()
        signal.throwIfAborted()
        throw expired ?? (hasStarted ? failures.ofStream(error, parts.usage) : failures.ofRequest(error))
      } finally {
        timeouts.end()
        signal.removeEventListener('abort', abort)
      }
    },
  }
}
