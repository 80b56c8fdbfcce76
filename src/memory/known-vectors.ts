import type { Clock } from '../domain/clock.ts'
import { newestMemory } from '../store/memories.ts'
import { embedderNamed, findEmbedder, type KeptVector, memoryBefore, vectorsAfter } from '../store/memory-vectors.ts'
import type { Store } from '../store/store.ts'
import { unpackVector } from './packed-vector.ts'
import { VectorScan } from './vector-scan.ts'
import { type Crowd, chanceIn, relevanceOf, strangersAt } from './yardstick.ts'

/** So many are compared with a question, the newest, and no more than fit here. */
const mostVectors = 100_000
const mostBytes = 160 * 1024 * 1024
/** So many bytes are compared before others get their turn: a few milliseconds. */
const sliceBytes = 40 * 1024 * 1024
const pageBytes = 512 * 1024

/** A memory that lies near a question. */
export interface Near {
  id: number
  /** How near, from what has nothing to do with it to the very same: 0 to 1. */
  relevance: number
  /** As near as this one of so many is by chance. */
  isChance: boolean
}

/**
 * The vectors of one embedder in this process. They follow the rows: what was added since is read before each question,
 * and what does not count any more is dropped when the rows say so.
 */
export class KnownVectors {
  readonly #store: Store
  readonly #clock: Clock
  readonly #embedder: string
  #held: Held | undefined
  #reading: Promise<void> | undefined

  constructor({ store, clock }: { store: Store; clock: Clock }, embedder: string) {
    this.#store = store
    this.#clock = clock
    this.#embedder = embedder
  }

  /** Reads what came since the last time. Whoever asks meanwhile waits for the same reading. */
  refresh(): Promise<void> {
    this.#reading ??= this.#readOn().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  get isEmpty(): boolean {
    return !this.#held || this.#held.places.size === 0
  }

  /** Another number, another model, although its name may be the same. */
  get embedderId(): number | undefined {
    return this.#held?.embedderId
  }

  /** Those nearest to a vector, nearest first; undefined for a vector that cannot be compared with these. */
  async nearest(question: Float32Array, most: number): Promise<Near[] | undefined> {
    const held = this.#held
    if (!held || question.length !== held.dimensions) return undefined
    const best = new Best(most)
    const crowd: Crowd = { count: 0, sum: 0, squares: 0 }
    for (let from = 0; from < held.ids.length; from += held.slice) {
      // While others had their turn they may have asked something else.
      if (from > 0) await this.#clock.sleep(0)
      held.scan.ask(question)
      const cosines = held.scan.cosines(from, Math.min(held.slice, held.ids.length - from))
      for (let at = 0; at < cosines.length; at++) {
        const id = held.ids[from + at]
        if (id === undefined) continue
        const near = cosines[at] ?? 0
        crowd.count++
        crowd.sum += near
        crowd.squares += near * near
        best.offer(id, near)
      }
    }
    const strangers = strangersAt(question, held.yardstick)
    const chance = chanceIn(crowd)
    return best.sorted.flatMap(({ id, near }) => {
      const relevance = relevanceOf(near, strangers)
      return relevance > 0 ? [{ id, relevance, isChance: near < chance }] : []
    })
  }

  drop(id: number): void {
    this.#held?.drop(id)
  }

  async #readOn(): Promise<void> {
    const id = await this.#store.read((rows) => embedderNamed(rows, this.#embedder))
    if (id !== this.#held?.embedderId) this.#held = await this.#begin()
    const held = this.#held
    if (!held) return
    const page = Math.max(1, Math.floor(pageBytes / held.dimensions))
    for (;;) {
      const found = await this.#store.read((rows) => vectorsAfter(rows, held.embedderId, held.seq, page))
      for (const each of found) held.put(each)
      if (found.length < page) return
      await this.#clock.sleep(0)
    }
  }

  async #begin(): Promise<Held | undefined> {
    return this.#store.read(async (rows) => {
      const kept = await findEmbedder(rows, this.#embedder)
      if (!kept) return undefined
      const most = Math.min(mostVectors, Math.floor(mostBytes / kept.dimensions))
      const tooMany = ((await newestMemory(rows)) ?? 0) > most
      const oldest = tooMany ? await memoryBefore(rows, most) : undefined
      return new Held(kept, most, oldest ?? 0)
    })
  }
}

/** Each vector has a place; a place that is free is taken again. */
class Held {
  readonly embedderId: number
  readonly dimensions: number
  readonly yardstick: Int8Array[]
  readonly slice: number
  readonly scan: VectorScan
  /** Which memory has a place; undefined for a free one. */
  readonly ids: (number | undefined)[] = []
  readonly places = new Map<number, number>()
  readonly #most: number
  readonly #free: number[] = []
  /** Up to this number they are too old to be held. */
  #oldest: number
  /** The last that was read. */
  seq = 0

  constructor(kept: { id: number; dimensions: number; yardstick: string[] }, most: number, oldest: number) {
    this.embedderId = kept.id
    this.dimensions = kept.dimensions
    this.yardstick = kept.yardstick.flatMap((text) => unpackVector(text, kept.dimensions) ?? [])
    this.slice = Math.max(1, Math.floor(sliceBytes / kept.dimensions))
    this.scan = new VectorScan(kept.dimensions, this.slice)
    this.#most = most
    this.#oldest = oldest
  }

  put({ seq, memoryId, vector }: KeptVector): void {
    this.seq = seq
    const bytes = unpackVector(vector, this.dimensions)
    if (!bytes || memoryId <= this.#oldest) return
    if (!this.places.has(memoryId) && this.places.size >= this.#most) this.#dropOldest()
    if (memoryId <= this.#oldest) return
    const place = this.places.get(memoryId) ?? this.#free.pop() ?? this.ids.length
    this.ids[place] = memoryId
    this.places.set(memoryId, place)
    this.scan.put(place, bytes)
  }

  drop(id: number): void {
    const place = this.places.get(id)
    if (place === undefined) return
    this.places.delete(id)
    this.ids[place] = undefined
    this.scan.put(place, undefined)
    this.#free.push(place)
  }

  #dropOldest(): void {
    this.#oldest = this.ids.reduce((oldest: number, id) => Math.min(oldest, id ?? oldest), Number.MAX_SAFE_INTEGER)
    this.drop(this.#oldest)
  }
}

/** The best of many, without sorting them all. */
class Best {
  readonly #most: number
  #kept: { id: number; near: number }[] = []
  #least = Number.NEGATIVE_INFINITY

  constructor(most: number) {
    this.#most = most
  }

  offer(id: number, near: number): void {
    if (near <= this.#least) return
    this.#kept.push({ id, near })
    // Now and then is enough: between two sortings a few too many are kept.
    if (this.#kept.length < this.#most * 4) return
    this.#kept = this.sorted
    this.#least = this.#kept.at(-1)?.near ?? this.#least
  }

  get sorted(): { id: number; near: number }[] {
    return this.#kept.toSorted((a, b) => b.near - a.near || b.id - a.id).slice(0, this.#most)
  }
}
