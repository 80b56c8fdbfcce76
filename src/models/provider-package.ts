import type { createOpenAICompatible } from '@ai-sdk/openai-compatible'

/** A model as the AI SDK's provider packages make it (specification v4). */
export type ProviderModel = ReturnType<ReturnType<typeof createOpenAICompatible>['chatModel']>
export type CallOptions = Parameters<ProviderModel['doStream']>[0]
export type ProviderPrompt = CallOptions['prompt']
export type StreamPart =
  Awaited<ReturnType<ProviderModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never
export type ProviderMetadata = NonNullable<Extract<StreamPart, { type: 'tool-call' }>['providerMetadata']>

/** Which package speaks to a model. */
export type ProviderKind = 'anthropic' | 'openai' | 'google' | 'openai-compatible'
