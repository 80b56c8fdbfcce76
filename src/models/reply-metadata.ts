import type { StreamPart } from './provider-package.ts'

export type CallMetadata = NonNullable<Extract<StreamPart, { type: 'tool-call' }>['providerMetadata']>

/** What a provider wants back unchanged with a reply: by call id, such as the signature of the thought behind it. */
export interface ReplyMetadata {
  calls: Record<string, CallMetadata>
}

/** Whether stored metadata is ours: a reply may have come from another kind of provider. */
export function isReplyMetadata(value: unknown): value is ReplyMetadata {
  return typeof value === 'object' && value !== null && 'calls' in value && typeof value.calls === 'object'
}
