import type { createOpenAICompatible } from '@ai-sdk/openai-compatible'

/** Model of the AI SDK's provider packages (specification v4). */
export type ProviderModel = ReturnType<ReturnType<typeof createOpenAICompatible>['chatModel']>
export type CallOptions = Parameters<ProviderModel['doStream']>[0]
export type ProviderPrompt = CallOptions['prompt']
export type StreamPart =
  Awaited<ReturnType<ProviderModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never
export type ProviderMetadata = NonNullable<Extract<StreamPart, { type: 'tool-call' }>['providerMetadata']>

/** Provider package of a model. */
export type ProviderKind = 'anthropic' | 'openai' | 'google' | 'openai-compatible'
