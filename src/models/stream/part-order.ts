import type { ProviderKind, ProviderMetadata, StreamPart } from '../provider-package.ts'
import type { ReplyMetadata, ReplyPart } from './reply-metadata.ts'

type Piece = Extract<StreamPart, { type: 'text-start' | 'text-delta' | 'text-end' }>
type Thought = Extract<StreamPart, { type: 'reasoning-start' | 'reasoning-delta' | 'reasoning-end' }>

/** Parts of a reply in order, with the provider metadata that must be sent back. */
export class PartOrder {
  readonly #parts: ReplyPart[] = []
  readonly #open = new Map<string, ReplyPart>()
  #calls = 0
  /** Set when the provider accepts unsigned thoughts back. */
  takesThoughtsBack = false

  text(piece: Piece): void {
    const part = this.#at(`text ${piece.id}`, piece.type === 'text-start', () => ({ type: 'text', length: 0 }))
    if (piece.type === 'text-delta' && part.type === 'text') part.length += piece.delta.length
    sign(part, piece.providerMetadata)
  }

  thought(piece: Thought): void {
    const isStart = piece.type === 'reasoning-start'
    const part = this.#at(`thinking ${piece.id}`, isStart, () => ({ type: 'thinking', text: '' }))
    if (piece.type === 'reasoning-delta' && part.type === 'thinking') part.text += piece.delta
    sign(part, piece.providerMetadata)
  }

  call(metadata: ProviderMetadata | undefined): void {
    const part: ReplyPart = { type: 'call', place: this.#calls++ }
    sign(part, metadata)
    this.#parts.push(part)
  }

  /** Metadata to store; undefined when the provider needs nothing back. Most providers ignore unsigned thoughts. */
  toMetadata(kind: ProviderKind): ReplyMetadata | undefined {
    const parts = this.#parts.filter((part) =>
      part.type === 'thinking' ? part.metadata || this.takesThoughtsBack : part.type === 'call' || part.length > 0,
    )
    if (!parts.some((part) => part.metadata || part.type === 'thinking')) return undefined
    return { from: kind, parts }
  }

  #at(key: string, isStart: boolean, make: () => ReplyPart): ReplyPart {
    const open = isStart ? undefined : this.#open.get(key)
    if (open) return open
    const part = make()
    this.#open.set(key, part)
    this.#parts.push(part)
    return part
  }
}

/** Merges metadata: a signature arrives at the end of a thought. */
function sign(part: ReplyPart, metadata: ProviderMetadata | undefined): void {
  for (const [provider, values] of Object.entries(metadata ?? {})) {
    const before = part.metadata ?? {}
    part.metadata = { ...before, [provider]: { ...before[provider], ...values } }
  }
}
