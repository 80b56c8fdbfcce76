import type { Clock, Millis } from '../domain/clock.ts'
import type { Embedder } from '../domain/embedder.ts'
import { HeddleError } from '../domain/errors.ts'
import { recordEvent } from '../store/events.ts'
import type { Store } from '../store/store.ts'
import { KnownVectors, type Near } from './known-vectors.ts'

/** Of what lies near, so many are looked at. */
const mostNear = 50
/** How long a question waits for its meaning where somebody waits for an answer. */
const usualPatience: Millis = 1000
/** After a failure nobody waits again for so long. */
const quietFor: Millis = 15_000
const longestQuestion = 2000
const rememberedQuestions = 32
/** More than anybody asks at once while it answers. */
const mostWaiting = 64

/** What a question means, as far as that is known. */
export interface Meant {
  near: readonly Near[]
  /** Why it was looked for by its words alone. */
  trouble?: string
  /** Told of one that does not count any more. */
  drop(id: number): void
}

/** What lies near a question by its meaning, where the owner has an embedder. */
export interface Meaning {
  /** Never rejects and never keeps anybody waiting for longer than this: without an answer the words decide. */
  of(question: string, patience?: Millis): Promise<Meant>
  /** Reads what is kept, before somebody waits for it. */
  warmUp(): Promise<void>
  /** Asks nobody any more. */
  close(): void
}

export function meaningBy(embedder: Embedder, { store, clock }: { store: Store; clock: Clock }): Meaning {
  const vectors = new KnownVectors({ store, clock }, embedder.name)
  const closed = new AbortController()
  const remembered = new Map<string, Promise<Float32Array>>()
  const drop = (id: number) => vectors.drop(id)
  let waiting = 0
  let quietUntil = 0
  let isTold = false

  return {
    async of(question, patience = usualPatience) {
      const asked = question.slice(0, longestQuestion).trim()
      if (asked === '') return { near: [], drop }
      const over = new AbortController()
      const late = clock.sleep(patience, over.signal).then(() => (waiting > 0 ? tooSlow() : stillReading()))
      try {
        const near = await Promise.race([look(asked), late])
        if (near instanceof HeddleError) return await wordsAlone(near)
        isTold = false
        return { near, drop }
      } catch (error) {
        return await wordsAlone(error)
      } finally {
        over.abort()
      }
    },
    warmUp: () => vectors.refresh(),
    close: () => closed.abort(),
  }

  async function look(question: string): Promise<Near[]> {
    await vectors.refresh()
    // Nothing to compare with: there is no need to ask.
    if (vectors.isEmpty) return []
    const near = await vectors.nearest(await vectorOf(question), mostNear)
    if (!near) throw otherModel()
    return near
  }

  /** What was asked lately is known. A request that is late is not cut off: it wakes up a model that has to be loaded. */
  function vectorOf(question: string): Promise<Float32Array> {
    const key = `${vectors.embedderId} ${question}`
    const known = remembered.get(key)
    if (known) {
      remembered.delete(key)
      remembered.set(key, known)
      return known
    }
    if (clock.monotonic() < quietUntil || waiting >= mostWaiting) return Promise.reject(stillDown())
    waiting++
    const asking = embedder.embed([question], { signal: closed.signal }).then(
      ([vector]) => {
        quietUntil = 0
        return vector as Float32Array
      },
      (error) => {
        remembered.delete(key)
        throw error
      },
    )
    remembered.set(key, asking)
    void asking.finally(() => waiting--).catch(() => undefined)
    for (const oldest of remembered.keys()) if (remembered.size > rememberedQuestions) remembered.delete(oldest)
    return asking
  }

  /** Told once for each time that it fails, so that a person can see it and nobody is told a thousand times. */
  async function wordsAlone(error: unknown): Promise<Meant> {
    if (closed.signal.aborted) return { near: [], trouble: 'heddle is closing', drop }
    const { code, message, remedy } = error instanceof HeddleError ? error : unexpected(error)
    if (code !== 'embedder_down' && code !== 'vectors_unread') quietUntil = clock.monotonic() + quietFor
    if (!isTold) {
      isTold = true
      const subject = `embedder:${embedder.name}`
      const event = { kind: 'memory.words_only' as const, subject, payload: { code, message, remedy } }
      // Whether it can be told must not decide whether there is an answer.
      await store.write('owner', (tx) => recordEvent(tx, { at: clock.now(), ...event })).catch(() => undefined)
    }
    return { near: [], trouble: message, drop }
  }
}

function unexpected(error: unknown): HeddleError {
  const message = `Looking by meaning failed: ${error instanceof Error ? error.message : error}.`
  return new HeddleError('embedder_trouble', message, 'see: heddle doctor')
}

function tooSlow(): HeddleError {
  const message = 'The embedder was not heard in time.'
  return new HeddleError('embedder_slow', message, 'ask again in a moment; see: heddle doctor', { retry: 'later' })
}

function stillReading(): HeddleError {
  const message = 'What memories mean is still being read from the rows.'
  return new HeddleError('vectors_unread', message, 'ask again in a moment', { retry: 'later' })
}

function stillDown(): HeddleError {
  const message = 'The embedder did not answer a moment ago.'
  return new HeddleError('embedder_down', message, 'see: heddle doctor', { retry: 'later' })
}

function otherModel(): HeddleError {
  const message = 'The embedder gives vectors of another length than those that are kept.'
  return new HeddleError('embedder_changed', message, 'they are made anew while heddle is up', { retry: 'later' })
}
