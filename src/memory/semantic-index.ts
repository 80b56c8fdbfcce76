import type { Clock, Millis } from '../domain/clock.ts'
import type { Embedder } from '../domain/embedder.ts'
import { HeddleError } from '../domain/errors.ts'
import { recordEvent } from '../store/rows/events.ts'
import type { Store } from '../store/store.ts'
import { type NearMemory, VectorCache } from './vector-cache.ts'

/** Max semantic matches. */
const maxNear = 50
/** Default max wait for the embedder. */
const defaultTimeout: Millis = 1000
/** After a failure the embedder is not called for this long. */
const cooldown: Millis = 15_000
const maxQueryLength = 2000
const maxCachedQueries = 32
/** Max concurrent requests to the embedder. */
const maxPending = 64

/** Semantic matches of a query. */
export interface SemanticMatches {
  near: readonly NearMemory[]
  /** Why only words were searched. */
  reason?: string
  /** Removes a memory that is no longer active from the index. */
  drop(id: number): void
}

/** Semantic search over memories, if an embedder is configured. */
export interface SemanticIndex {
  /** Semantic matches of a query. Never rejects and never takes longer than the timeout: without an answer only words count. */
  search(query: string, timeout?: Millis): Promise<SemanticMatches>
  /** Loads the stored vectors ahead of the first query. */
  warmUp(): Promise<void>
  /** Aborts requests to the embedder. */
  close(): void
}

export function createSemanticIndex(
  embedder: Embedder,
  {
    store,
    clock,
    markSecrets = (value) => value,
  }: {
    store: Store
    clock: Clock
    /** Marks secrets in what is sent to the embedder. */
    markSecrets?<T>(value: T): T
  },
): SemanticIndex {
  const vectors = new VectorCache({ store, clock }, embedder.name)
  const closed = new AbortController()
  const cachedQueries = new Map<string, Promise<Float32Array>>()
  const drop = (id: number) => vectors.drop(id)
  let pending = 0
  let cooldownUntil = 0
  let isReported = false

  return {
    async search(text, timeout = defaultTimeout) {
      const query = markSecrets(text).slice(0, maxQueryLength).trim()
      if (query === '') return { near: [], drop }
      const done = new AbortController()
      const late = clock.sleep(timeout, done.signal).then(() => (pending > 0 ? tooSlow() : stillReading()))
      try {
        const near = await Promise.race([findNear(query), late])
        if (near instanceof HeddleError) return await wordsOnly(near)
        isReported = false
        return { near, drop }
      } catch (error) {
        return await wordsOnly(error)
      } finally {
        done.abort()
      }
    },
    warmUp: () => vectors.refresh(),
    close: () => closed.abort(),
  }

  async function findNear(question: string): Promise<NearMemory[]> {
    await vectors.refresh()
    // Nothing to compare with: skip the request.
    if (vectors.isEmpty) return []
    const near = await vectors.nearest(await vectorOf(question), maxNear)
    if (!near) throw otherModel()
    return near
  }

  /** Vector of a query, cached. A late request is not aborted: it makes the server load the model. */
  function vectorOf(question: string): Promise<Float32Array> {
    const key = `${vectors.embedderId} ${question}`
    const known = cachedQueries.get(key)
    if (known) {
      cachedQueries.delete(key)
      cachedQueries.set(key, known)
      return known
    }
    if (clock.monotonic() < cooldownUntil || pending >= maxPending) return Promise.reject(stillDown())
    pending++
    const request = embedder.embed([question], { signal: closed.signal }).then(
      ([vector]) => {
        cooldownUntil = 0
        return vector as Float32Array
      },
      (error) => {
        cachedQueries.delete(key)
        throw error
      },
    )
    cachedQueries.set(key, request)
    void request.finally(() => pending--).catch(() => undefined)
    for (const oldest of cachedQueries.keys()) if (cachedQueries.size > maxCachedQueries) cachedQueries.delete(oldest)
    return request
  }

  /** Result without semantic matches; records one event per outage. */
  async function wordsOnly(error: unknown): Promise<SemanticMatches> {
    if (closed.signal.aborted) return { near: [], reason: 'heddle is closing', drop }
    const { code, message, remedy } = error instanceof HeddleError ? error : unexpected(error)
    if (code !== 'embedder_down' && code !== 'vectors_unread') cooldownUntil = clock.monotonic() + cooldown
    if (!isReported) {
      isReported = true
      const subject = `embedder:${embedder.name}`
      const event = { kind: 'memory.words_only' as const, subject, payload: { code, message, remedy }, scope: null }
      // A failed event must not fail the search.
      await store.write('owner', (tx) => recordEvent(tx, { at: clock.now(), ...event })).catch(() => undefined)
    }
    return { near: [], reason: message, drop }
  }
}

function unexpected(error: unknown): HeddleError {
  const message = `semantic search failed: ${error instanceof Error ? error.message : error}`
  return new HeddleError('embedder_trouble', message, 'see: heddle doctor')
}

function tooSlow(): HeddleError {
  const message = 'the embedder did not answer in time'
  return new HeddleError('embedder_slow', message, 'ask again in a moment; see: heddle doctor', { retry: 'later' })
}

function stillReading(): HeddleError {
  const message = 'the vectors of the memories are still being loaded'
  return new HeddleError('vectors_unread', message, 'ask again in a moment', { retry: 'later' })
}

function stillDown(): HeddleError {
  const message = 'the embedder did not answer a moment ago'
  return new HeddleError('embedder_down', message, 'see: heddle doctor', { retry: 'later' })
}

function otherModel(): HeddleError {
  const message = 'the embedder gives vectors of another length than the stored ones'
  return new HeddleError('embedder_changed', message, 'they are rebuilt while heddle up runs', { retry: 'later' })
}
