import type { Clock, Millis } from '../domain/clock.ts'
import type { Embedder } from '../domain/embedder.ts'
import { HeddleError } from '../domain/errors.ts'
import { newestMemory } from '../store/knowledge/memories.ts'
import {
  dropUnusedVectors,
  findEmbedder,
  memoriesWithoutVector,
  retireEmbedder,
  type StoredEmbedder,
  saveEmbedder,
  saveVectors,
} from '../store/knowledge/memory-vectors.ts'
import type { Store } from '../store/store.ts'
import { cosine, packVector, unpackVector } from './packed-vector.ts'
import { baselineSentences } from './similarity-baseline.ts'

const batchSize = 32
/** Ids scanned at a time. */
const idRange = 1000
/** Pause between two requests and between two scans: answering users comes first. */
const pause: Millis = 50
const scanInterval: Millis = 5000
/** Interval of full scans, which find memories that an incremental scan missed. */
const fullScanInterval: Millis = 600_000
const firstBackOff: Millis = 1000
const maxBackOff: Millis = 300_000
/** Age at which unused vectors are removed; two processes may have different settings for a while. */
const unusedRetention: Millis = 86_400_000
const removeBatch = 500
/** Min similarity for the same model: vectors differ slightly between machines. */
const sameModelSimilarity = 0.95

interface EmbeddingContext {
  store: Store
  clock: Clock
  /** Marks secrets in what is sent to the embedder. */
  markSecrets?<T>(value: T): T
}

/**
 * Embeds all active memories, newest first, until the signal aborts. Backs off while the embedder does not answer. Two
 * processes that do the same pay twice but do no harm.
 */
export async function embedMemories(
  embedder: Embedder,
  context: EmbeddingContext,
  { signal, onError }: { signal: AbortSignal; onError(error: unknown): void },
): Promise<void> {
  const { clock } = context
  const passes = new EmbeddingPasses(embedder, context, signal)
  let backOff = firstBackOff
  while (!signal.aborted) {
    try {
      await passes.next()
      backOff = firstBackOff
      await clock.sleep(scanInterval, signal)
    } catch (error) {
      if (signal.aborted) return
      // Reported once per outage.
      if (backOff === firstBackOff) onError(error)
      await clock.sleep(backOff, signal)
      backOff = Math.min(backOff * 2, maxBackOff)
    }
  }
}

/** Scans for memories without vectors: all of them at first and from time to time, otherwise only new ones. */
export class EmbeddingPasses {
  readonly #embedder: Embedder
  readonly #context: EmbeddingContext
  readonly #signal: AbortSignal
  /** Memories that the embedder rejects; retried after a restart. */
  readonly #refused = new Set<number>()
  #isChecked = false
  #scannedUpTo = 0
  #fullScanAt = Number.NEGATIVE_INFINITY
  #usedAt = Number.NEGATIVE_INFINITY

  constructor(embedder: Embedder, context: EmbeddingContext, signal: AbortSignal) {
    this.#embedder = embedder
    this.#context = context
    this.#signal = signal
  }

  async next(): Promise<void> {
    const { store, clock } = this.#context
    const newest = (await store.read(newestMemory)) ?? 0
    if (newest === 0) return
    const stored = await this.#loadEmbedder()
    const isWhole = clock.monotonic() - this.#fullScanAt >= fullScanInterval
    // Ids may become visible out of order: scan slightly older ones again.
    await this.#embedMissing(stored, { above: isWhole ? 0 : Math.max(0, this.#scannedUpTo - idRange), upTo: newest })
    if (this.#signal.aborted) return
    this.#scannedUpTo = newest
    if (!isWhole) return
    this.#fullScanAt = clock.monotonic()
    await this.#removeUnused()
  }

  /** Loads or registers the embedder with its similarity baseline. If its vectors have changed, it counts as a new one. */
  async #loadEmbedder(): Promise<StoredEmbedder> {
    const { store, clock } = this.#context
    const { name } = this.#embedder
    let stored = await store.read((rows) => findEmbedder(rows, name))
    if (stored && !this.#isChecked && !(await this.#isSameModel(stored))) {
      await this.#retire(stored)
      stored = undefined
    }
    this.#isChecked = true
    if (stored && clock.now() - this.#usedAt < unusedRetention / 24) return stored
    const vectors = stored ? [] : await this.#embed(baselineSentences)
    const dimensions = stored?.dimensions ?? vectors[0]?.length ?? 0
    const known = { name, dimensions, baselineVectors: stored?.baselineVectors ?? vectors.map(packVector) }
    await store.write('embed', (tx) => saveEmbedder(tx, known, clock.now()))
    this.#usedAt = clock.now()
    const found = await store.read((rows) => findEmbedder(rows, name))
    if (!found) throw changed()
    return found
  }

  async #isSameModel({ dimensions, baselineVectors: packed }: StoredEmbedder): Promise<boolean> {
    const before = unpackVector(packed[0] ?? '', dimensions)
    const [now] = await this.#embed(baselineSentences.slice(0, 1))
    return before !== undefined && now?.length === dimensions && cosine(now, before) >= sameModelSimilarity
  }

  async #embedMissing(stored: StoredEmbedder, { above, upTo }: { above: number; upTo: number }): Promise<void> {
    const { store, clock } = this.#context
    for (let to = upTo; to > above && !this.#signal.aborted; ) {
      const from = Math.max(above, to - idRange)
      const query = { above: from, upTo: to, limit: batchSize }
      const missing = await store.read((rows) => memoriesWithoutVector(rows, stored.id, query))
      await this.#embedBatch(
        stored,
        missing.filter(({ id }) => !this.#refused.has(id)),
      )
      to = missing.length < batchSize ? from : (missing.at(-1)?.id ?? from) - 1
      if (to > above) await clock.sleep(missing.length > 0 ? pause : 1, this.#signal)
    }
  }

  async #embedBatch(stored: StoredEmbedder, memories: { id: number; content: string }[]): Promise<void> {
    if (memories.length === 0) return
    const texts = memories.map(({ content }) => content)
    const { markSecrets = (value) => value } = this.#context
    const vectors = await this.#embed(markSecrets(texts)).catch((error) => {
      if (!isTextFailure(error)) throw error
      return error as HeddleError
    })
    if (vectors instanceof HeddleError) return this.#bisect(stored, memories, vectors)
    if (vectors.some(({ length }) => length !== stored.dimensions)) {
      await this.#retire(stored)
      throw changed()
    }
    const made = memories.map(({ id, content }, at) => ({
      memoryId: id,
      content,
      vector: packVector(vectors[at] as Float32Array),
    }))
    await this.#context.store.write('embed', (tx) => saveVectors(tx, stored.id, made))
  }

  /** Bisects a rejected batch to find the rejected texts, unless the embedder rejects every text. */
  async #bisect(stored: StoredEmbedder, memories: { id: number; content: string }[], error: HeddleError) {
    await this.#embed(baselineSentences.slice(0, 1)).catch(() => {
      throw error
    })
    const [only, ...more] = memories
    if (only && more.length === 0) return void this.#refused.add(only.id)
    const half = Math.ceil(memories.length / 2)
    await this.#embedBatch(stored, memories.slice(0, half))
    await this.#embedBatch(stored, memories.slice(half))
  }

  async #retire({ id }: StoredEmbedder): Promise<void> {
    this.#isChecked = false
    this.#usedAt = Number.NEGATIVE_INFINITY
    this.#fullScanAt = Number.NEGATIVE_INFINITY
    await this.#context.store.write('embed', (tx) => retireEmbedder(tx, id))
  }

  async #removeUnused(): Promise<void> {
    const { store, clock } = this.#context
    const since = clock.now() - unusedRetention
    while (!this.#signal.aborted) {
      const gone = await store.write('embed', (tx) => dropUnusedVectors(tx, since, removeBatch))
      if (gone < removeBatch) return
      await clock.sleep(pause, this.#signal)
    }
  }

  #embed(texts: readonly string[]): Promise<Float32Array[]> {
    return this.#embedder.embed(texts, { signal: this.#signal })
  }
}

/** Whether the failure may be caused by the text. */
function isTextFailure(error: unknown): boolean {
  return (
    error instanceof HeddleError && ['embedder_rejected', 'embedder_failed', 'embedder_malformed'].includes(error.code)
  )
}

function changed(): HeddleError {
  const message = 'the embedder gives other vectors than it did'
  return new HeddleError('embedder_changed', message, 'nothing to do: they are rebuilt', { retry: 'later' })
}
