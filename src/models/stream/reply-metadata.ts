import type { ProviderKind, ProviderMetadata } from '../provider-package.ts'

/** One part of a reply; `metadata` must be sent back to the provider. */
export type ReplyPart =
  /** The next `length` characters of the reply's text. */
  | { type: 'text'; length: number; metadata?: ProviderMetadata }
  | { type: 'thinking'; text: string; metadata?: ProviderMetadata }
  /** The call at this index of the reply's calls. */
  | { type: 'call'; place: number; metadata?: ProviderMetadata }

/** Parts of a reply that must be sent back unchanged, such as signed thoughts. */
export interface ReplyMetadata {
  /** Only this kind of provider can read it. */
  from: ProviderKind
  parts: ReplyPart[]
}

/**
 * Parts of a stored reply that can be sent back to this kind of provider; undefined when it is from another kind or no
 * longer matches the message.
 */
export function replayableParts(
  metadata: unknown,
  kind: ProviderKind,
  message: { content: string; calls: readonly unknown[] },
): ReplyPart[] | undefined {
  if (!isReplyMetadata(metadata) || metadata.from !== kind) return undefined
  const { parts } = metadata
  const length = parts.reduce((sum, part) => sum + (part.type === 'text' ? part.length : 0), 0)
  const calls = parts.filter(({ type }) => type === 'call').length
  return length === message.content.length && calls === message.calls.length ? parts : undefined
}

function isReplyMetadata(value: unknown): value is ReplyMetadata {
  return typeof value === 'object' && value !== null && 'parts' in value && Array.isArray(value.parts)
}
