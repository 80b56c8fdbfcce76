import type { Clock } from '../domain/clock.ts'
import { newestMemory } from '../store/knowledge/memories.ts'
import {
  findEmbedder,
  findEmbedderId,
  nthNewestMemoryId,
  type StoredVector,
  vectorsAfter,
} from '../store/knowledge/memory-vectors.ts'
import type { Store } from '../store/store.ts'
import { unpackVector } from './packed-vector.ts'
import { baselineSimilarity, chanceSimilarity, relevanceOf, type SimilarityStats } from './similarity-baseline.ts'
import { VectorScan } from './vector-scan.ts'

/** Limits of the cache; the newest memories are kept. */
const maxVectors = 100_000
const maxBytes = 160 * 1024 * 1024
/** Bytes compared before yielding to the event loop: a few milliseconds. */
const sliceBytes = 40 * 1024 * 1024
const pageBytes = 512 * 1024

/** A memory that is semantically near a query. */
export interface NearMemory {
  id: number
  /** Similarity scaled from unrelated to identical: 0 to 1. */
  relevance: number
  /** Whether this similarity can be chance, given the number of vectors. */
  isChance: boolean
}

/**
 * In-memory copy of one embedder's vectors. New ones are read before each query; inactive ones are dropped when a search
 * finds out from the rows.
 */
export class VectorCache {
  readonly #store: Store
  readonly #clock: Clock
  readonly #embedder: string
  #loaded: VectorSlots | undefined
  #reading: Promise<void> | undefined

  constructor({ store, clock }: { store: Store; clock: Clock }, embedder: string) {
    this.#store = store
    this.#clock = clock
    this.#embedder = embedder
  }

  /** Reads vectors added since the last time. Concurrent callers share one read. */
  refresh(): Promise<void> {
    this.#reading ??= this.#readNew().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  get isEmpty(): boolean {
    return !this.#loaded || this.#loaded.slots.size === 0
  }

  /** Changes when the model behind the same name changes. */
  get embedderId(): number | undefined {
    return this.#loaded?.embedderId
  }

  /** Memories nearest to a vector, nearest first; undefined for other dimensions. */
  async nearest(question: Float32Array, max: number): Promise<NearMemory[] | undefined> {
    const loaded = this.#loaded
    if (!loaded || question.length !== loaded.dimensions) return undefined
    const best = new TopMatches(max)
    const stats: SimilarityStats = { count: 0, sum: 0, squares: 0 }
    for (let from = 0; from < loaded.ids.length; from += loaded.slice) {
      // Another query may have run while we yielded: set ours again.
      if (from > 0) await this.#clock.sleep(0)
      loaded.scan.ask(question)
      const cosines = loaded.scan.cosines(from, Math.min(loaded.slice, loaded.ids.length - from))
      for (let at = 0; at < cosines.length; at++) {
        const id = loaded.ids[from + at]
        if (id === undefined) continue
        const near = cosines[at] ?? 0
        stats.count++
        stats.sum += near
        stats.squares += near * near
        best.offer(id, near)
      }
    }
    const baseline = baselineSimilarity(question, loaded.baselineVectors)
    const chance = chanceSimilarity(stats)
    return best.sorted.flatMap(({ id, near }) => {
      const relevance = relevanceOf(near, baseline)
      return relevance > 0 ? [{ id, relevance, isChance: near < chance }] : []
    })
  }

  drop(id: number): void {
    this.#loaded?.drop(id)
  }

  async #readNew(): Promise<void> {
    const id = await this.#store.read((rows) => findEmbedderId(rows, this.#embedder))
    if (id !== this.#loaded?.embedderId) this.#loaded = await this.#load()
    const loaded = this.#loaded
    if (!loaded) return
    const page = Math.max(1, Math.floor(pageBytes / loaded.dimensions))
    for (;;) {
      const found = await this.#store.read((rows) => vectorsAfter(rows, loaded.embedderId, loaded.seq, page))
      for (const each of found) loaded.put(each)
      if (found.length < page) return
      await this.#clock.sleep(0)
    }
  }

  async #load(): Promise<VectorSlots | undefined> {
    return this.#store.read(async (rows) => {
      const embedder = await findEmbedder(rows, this.#embedder)
      if (!embedder) return undefined
      const max = Math.min(maxVectors, Math.floor(maxBytes / embedder.dimensions))
      const tooMany = ((await newestMemory(rows)) ?? 0) > max
      const oldest = tooMany ? await nthNewestMemoryId(rows, max) : undefined
      return new VectorSlots(embedder, max, oldest ?? 0)
    })
  }
}

/** Vectors in slots; free slots are reused. */
class VectorSlots {
  readonly embedderId: number
  readonly dimensions: number
  readonly baselineVectors: Int8Array[]
  readonly slice: number
  readonly scan: VectorScan
  /** Memory of each slot; undefined for a free one. */
  readonly ids: (number | undefined)[] = []
  readonly slots = new Map<number, number>()
  readonly #max: number
  readonly #free: number[] = []
  /** Memories up to this id are too old to be cached. */
  #oldest: number
  /** `seq` of the last vector read. */
  seq = 0

  constructor(embedder: { id: number; dimensions: number; baselineVectors: string[] }, max: number, oldest: number) {
    this.embedderId = embedder.id
    this.dimensions = embedder.dimensions
    this.baselineVectors = embedder.baselineVectors.flatMap((text) => unpackVector(text, embedder.dimensions) ?? [])
    this.slice = Math.max(1, Math.floor(sliceBytes / embedder.dimensions))
    this.scan = new VectorScan(embedder.dimensions, this.slice)
    this.#max = max
    this.#oldest = oldest
  }

  put({ seq, memoryId, vector }: StoredVector): void {
    this.seq = seq
    const bytes = unpackVector(vector, this.dimensions)
    if (!bytes || memoryId <= this.#oldest) return
    if (!this.slots.has(memoryId) && this.slots.size >= this.#max) this.#dropOldest()
    if (memoryId <= this.#oldest) return
    const slot = this.slots.get(memoryId) ?? this.#free.pop() ?? this.ids.length
    this.ids[slot] = memoryId
    this.slots.set(memoryId, slot)
    this.scan.put(slot, bytes)
  }

  drop(id: number): void {
    const slot = this.slots.get(id)
    if (slot === undefined) return
    this.slots.delete(id)
    this.ids[slot] = undefined
    this.scan.put(slot, undefined)
    this.#free.push(slot)
  }

  #dropOldest(): void {
    this.#oldest = this.ids.reduce((oldest: number, id) => Math.min(oldest, id ?? oldest), Number.MAX_SAFE_INTEGER)
    this.drop(this.#oldest)
  }
}

/** Keeps the best of many without sorting them all. */
class TopMatches {
  readonly #max: number
  #matches: { id: number; near: number }[] = []
  #least = Number.NEGATIVE_INFINITY

  constructor(max: number) {
    this.#max = max
  }

  offer(id: number, near: number): void {
    if (near <= this.#least) return
    this.#matches.push({ id, near })
    // Sort only now and then; a few too many are kept in between.
    if (this.#matches.length < this.#max * 4) return
    this.#matches = this.sorted
    this.#least = this.#matches.at(-1)?.near ?? this.#least
  }

  get sorted(): { id: number; near: number }[] {
    return this.#matches.toSorted((a, b) => b.near - a.near || b.id - a.id).slice(0, this.#max)
  }
}
