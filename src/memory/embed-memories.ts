import type { Clock, Millis } from '../domain/clock.ts'
import type { Embedder } from '../domain/embedder.ts'
import { HeddleError } from '../domain/errors.ts'
import { newestMemory } from '../store/memories.ts'
import {
  dropUnused,
  findEmbedder,
  type KeptEmbedder,
  keepEmbedder,
  keepVectors,
  memoriesWithout,
  retireEmbedder,
} from '../store/memory-vectors.ts'
import type { Store } from '../store/store.ts'
import { cosine, packVector, unpackVector } from './packed-vector.ts'
import { yardstick } from './yardstick.ts'

const together = 32
/** Numbers that are looked through at a time. */
const stretch = 1000
/** Between two requests, and between two looks: whoever answers people comes first. */
const pause: Millis = 50
const lookEvery: Millis = 5000
/** Everything is looked through so often: what a lost moment left out is found then. */
const wholeEvery: Millis = 600_000
const firstBackOff: Millis = 1000
const longestBackOff: Millis = 300_000
/** Vectors that nobody used for so long are removed; two programs may have different settings for a while. */
const keptUnused: Millis = 86_400_000
const removedTogether = 500
/** Texts are never exactly where they were: models run on different machines. */
const sameFrom = 0.95

interface Around {
  store: Store
  clock: Clock
}

/**
 * Gives every memory that counts a vector, newest first, until the signal aborts. While the embedder does not answer it
 * is asked less and less often. Two processes that do the same pay twice and change nothing.
 */
export async function embedMemories(
  embedder: Embedder,
  around: Around,
  { signal, onTrouble }: { signal: AbortSignal; onTrouble(error: unknown): void },
): Promise<void> {
  const { clock } = around
  const passes = new Passes(embedder, around, signal)
  let backOff = firstBackOff
  while (!signal.aborted) {
    try {
      await passes.next()
      backOff = firstBackOff
      await clock.sleep(lookEvery, signal)
    } catch (error) {
      if (signal.aborted) return
      // Told once, however long it lasts.
      if (backOff === firstBackOff) onTrouble(error)
      await clock.sleep(backOff, signal)
      backOff = Math.min(backOff * 2, longestBackOff)
    }
  }
}

/** Looks through what is known, again and again: all of it at first and now and then, else only what is new. */
export class Passes {
  readonly #embedder: Embedder
  readonly #around: Around
  readonly #signal: AbortSignal
  /** Memories that it refuses by themselves; asked again after a restart. */
  readonly #refused = new Set<number>()
  #isSame = false
  #lookedUpTo = 0
  #wholeAt = Number.NEGATIVE_INFINITY
  #usedAt = Number.NEGATIVE_INFINITY

  constructor(embedder: Embedder, around: Around, signal: AbortSignal) {
    this.#embedder = embedder
    this.#around = around
    this.#signal = signal
  }

  async next(): Promise<void> {
    const { store, clock } = this.#around
    const newest = (await store.read(newestMemory)) ?? 0
    if (newest === 0) return
    const kept = await this.#introduced()
    const isWhole = clock.monotonic() - this.#wholeAt >= wholeEvery
    // Numbers may become visible out of order: what is a little older is looked at again.
    await this.#embedMissing(kept, { above: isWhole ? 0 : Math.max(0, this.#lookedUpTo - stretch), upTo: newest })
    if (this.#signal.aborted) return
    this.#lookedUpTo = newest
    if (!isWhole) return
    this.#wholeAt = clock.monotonic()
    await this.#removeUnused()
  }

  /** Whose vectors these are, with a yardstick for them. One that answers otherwise than it did is another. */
  async #introduced(): Promise<KeptEmbedder> {
    const { store, clock } = this.#around
    const { name } = this.#embedder
    let kept = await store.read((rows) => findEmbedder(rows, name))
    if (kept && !this.#isSame && !(await this.#answersAs(kept))) {
      await this.#retire(kept)
      kept = undefined
    }
    this.#isSame = true
    if (kept && clock.now() - this.#usedAt < keptUnused / 24) return kept
    const vectors = kept ? [] : await this.#embed(yardstick)
    const dimensions = kept?.dimensions ?? vectors[0]?.length ?? 0
    const known = { name, dimensions, yardstick: kept?.yardstick ?? vectors.map(packVector) }
    await store.write('embed', (tx) => keepEmbedder(tx, known, clock.now()))
    this.#usedAt = clock.now()
    const found = await store.read((rows) => findEmbedder(rows, name))
    if (!found) throw changed()
    return found
  }

  async #answersAs({ dimensions, yardstick: packed }: KeptEmbedder): Promise<boolean> {
    const before = unpackVector(packed[0] ?? '', dimensions)
    const [now] = await this.#embed(yardstick.slice(0, 1))
    return before !== undefined && now?.length === dimensions && cosine(now, before) >= sameFrom
  }

  async #embedMissing(kept: KeptEmbedder, { above, upTo }: { above: number; upTo: number }): Promise<void> {
    const { store, clock } = this.#around
    for (let to = upTo; to > above && !this.#signal.aborted; ) {
      const from = Math.max(above, to - stretch)
      const query = { above: from, upTo: to, limit: together }
      const missing = await store.read((rows) => memoriesWithout(rows, kept.id, query))
      await this.#keep(
        kept,
        missing.filter(({ id }) => !this.#refused.has(id)),
      )
      to = missing.length < together ? from : (missing.at(-1)?.id ?? from) - 1
      if (to > above) await clock.sleep(missing.length > 0 ? pause : 1, this.#signal)
    }
  }

  async #keep(kept: KeptEmbedder, memories: { id: number; content: string }[]): Promise<void> {
    if (memories.length === 0) return
    const vectors = await this.#embed(memories.map(({ content }) => content)).catch((error) => {
      if (!isOfText(error)) throw error
      return error as HeddleError
    })
    if (vectors instanceof HeddleError) return this.#keepWithout(kept, memories, vectors)
    if (vectors.some(({ length }) => length !== kept.dimensions)) {
      await this.#retire(kept)
      throw changed()
    }
    const made = memories.map(({ id, content }, at) => ({
      memoryId: id,
      content,
      vector: packVector(vectors[at] as Float32Array),
    }))
    await this.#around.store.write('embed', (tx) => keepVectors(tx, kept.id, made))
  }

  /** Something in these texts is refused: halves tell which. Unless it refuses everything: then it is not the texts. */
  async #keepWithout(kept: KeptEmbedder, memories: { id: number; content: string }[], error: HeddleError) {
    await this.#embed(yardstick.slice(0, 1)).catch(() => {
      throw error
    })
    const [only, ...more] = memories
    if (only && more.length === 0) return void this.#refused.add(only.id)
    const half = Math.ceil(memories.length / 2)
    await this.#keep(kept, memories.slice(0, half))
    await this.#keep(kept, memories.slice(half))
  }

  async #retire({ id }: KeptEmbedder): Promise<void> {
    this.#isSame = false
    this.#usedAt = Number.NEGATIVE_INFINITY
    this.#wholeAt = Number.NEGATIVE_INFINITY
    await this.#around.store.write('embed', (tx) => retireEmbedder(tx, id))
  }

  async #removeUnused(): Promise<void> {
    const { store, clock } = this.#around
    const since = clock.now() - keptUnused
    while (!this.#signal.aborted) {
      const gone = await store.write('embed', (tx) => dropUnused(tx, since, removedTogether))
      if (gone < removedTogether) return
      await clock.sleep(pause, this.#signal)
    }
  }

  #embed(texts: readonly string[]): Promise<Float32Array[]> {
    return this.#embedder.embed(texts, { signal: this.#signal })
  }
}

/** Whether another text might be answered. */
function isOfText(error: unknown): boolean {
  return (
    error instanceof HeddleError && ['embedder_rejected', 'embedder_failed', 'embedder_malformed'].includes(error.code)
  )
}

function changed(): HeddleError {
  const message = 'The embedder gives other vectors than it did.'
  return new HeddleError('embedder_changed', message, 'nothing: they are made anew', { retry: 'later' })
}
