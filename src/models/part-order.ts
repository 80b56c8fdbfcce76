import type { ProviderKind, ProviderMetadata, StreamPart } from './provider-package.ts'
import type { KeptPart, ReplyMetadata } from './reply-metadata.ts'

type Piece = Extract<StreamPart, { type: 'text-start' | 'text-delta' | 'text-end' }>
type Thought = Extract<StreamPart, { type: 'reasoning-start' | 'reasoning-delta' | 'reasoning-end' }>

/** The parts of a reply in the order they came, with what the provider wants back with each. */
export class PartOrder {
  readonly #parts: KeptPart[] = []
  readonly #open = new Map<string, KeptPart>()
  #calls = 0
  /** Set when the provider gives its thoughts under the name by which it takes them back. */
  takesThoughtsBack = false

  text(piece: Piece): void {
    const part = this.#at(`text ${piece.id}`, piece.type === 'text-start', () => ({ type: 'text', length: 0 }))
    if (piece.type === 'text-delta' && part.type === 'text') part.length += piece.delta.length
    sign(part, piece.providerMetadata)
  }

  thought(piece: Thought): void {
    const begins = piece.type === 'reasoning-start'
    const part = this.#at(`thinking ${piece.id}`, begins, () => ({ type: 'thinking', text: '' }))
    if (piece.type === 'reasoning-delta' && part.type === 'thinking') part.text += piece.delta
    sign(part, piece.providerMetadata)
  }

  call(metadata: ProviderMetadata | undefined): void {
    const part: KeptPart = { type: 'call', place: this.#calls++ }
    sign(part, metadata)
    this.#parts.push(part)
  }

  /** Nothing when the provider needs nothing back. Thoughts without a signature are of no use to most. */
  kept(kind: ProviderKind): ReplyMetadata | undefined {
    const parts = this.#parts.filter((part) =>
      part.type === 'thinking' ? part.metadata || this.takesThoughtsBack : part.type === 'call' || part.length > 0,
    )
    if (!parts.some((part) => part.metadata || part.type === 'thinking')) return undefined
    return { from: kind, parts }
  }

  #at(key: string, begins: boolean, make: () => KeptPart): KeptPart {
    const open = begins ? undefined : this.#open.get(key)
    if (open) return open
    const part = make()
    this.#open.set(key, part)
    this.#parts.push(part)
    return part
  }
}

/** Later metadata completes earlier: a signature comes when the thought is over. */
function sign(part: KeptPart, metadata: ProviderMetadata | undefined): void {
  for (const [provider, values] of Object.entries(metadata ?? {})) {
    const before = part.metadata ?? {}
    part.metadata = { ...before, [provider]: { ...before[provider], ...values } }
  }
}
