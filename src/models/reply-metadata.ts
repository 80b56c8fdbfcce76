import type { ProviderKind, ProviderMetadata } from './provider-package.ts'

/** One part of a reply as the provider gave it; what it wants back with it is in `metadata`. */
export type KeptPart =
  /** So many characters of the reply's text. */
  | { type: 'text'; length: number; metadata?: ProviderMetadata }
  | { type: 'thinking'; text: string; metadata?: ProviderMetadata }
  /** The call at this place among the reply's calls. */
  | { type: 'call'; place: number; metadata?: ProviderMetadata }

/** What a provider wants back unchanged with a reply: its parts in order, such as signed thoughts. */
export interface ReplyMetadata {
  /** Only this kind of provider can read it. */
  from: ProviderKind
  parts: KeptPart[]
}

/**
 * The parts of a stored reply that this kind of provider can take back; undefined when it is another's, or does not fit
 * the message any more.
 */
export function keptParts(
  metadata: unknown,
  kind: ProviderKind,
  message: { content: string; calls: readonly unknown[] },
): KeptPart[] | undefined {
  if (!isReplyMetadata(metadata) || metadata.from !== kind) return undefined
  const { parts } = metadata
  const length = parts.reduce((sum, part) => sum + (part.type === 'text' ? part.length : 0), 0)
  const calls = parts.filter(({ type }) => type === 'call').length
  return length === message.content.length && calls === message.calls.length ? parts : undefined
}

function isReplyMetadata(value: unknown): value is ReplyMetadata {
  return typeof value === 'object' && value !== null && 'parts' in value && Array.isArray(value.parts)
}
