import type { App } from '../domain/app.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Event } from '../domain/event.ts'
import type { Dropped, Live, Refusal, StreamQuery, Told } from './api.ts'
import type { EventHub } from './event-hub.ts'
import type { LiveTexts } from './live-texts.ts'

/** How much may wait for a follower before it is dropped, and how often it must show that it reads. */
export interface Patience {
  messages: number
  characters: number
  beatEvery: Millis
}

export const usualPatience: Patience = { messages: 1000, characters: 1024 * 1024, beatEvery: 15_000 }

/** Durable events are fetched only while less than this waits: the rest stays in its rows until there is room. */
const fetchBelow = 64

export type Sent = Told | { kind: 'beat' } | { kind: 'dropped'; last: Dropped } | { kind: 'failed'; refusal: Refusal }

/**
 * One who listens to what happens. Nobody waits for a follower: events wait in their rows, signs in a bounded queue,
 * and one that takes nothing for too long is dropped with the cursor from which it can go on.
 */
export class Follower {
  readonly #queue: { sent: Sent; size: number }[] = []
  readonly #gone = new AbortController()
  readonly #patience: Patience
  readonly #run: string | undefined
  #waiting = 0
  #cursor: string | null
  #isLast = false
  #tookSinceBeat = true
  #stir = Promise.withResolvers<void>()

  constructor(
    app: Pick<App, 'events' | 'listen'>,
    { hub, live }: { hub: EventHub; live: Pick<LiveTexts, 'whole'> },
    query: Omit<StreamQuery, 'signal'>,
    { clock, patience }: { clock: Clock; patience: Patience },
  ) {
    this.#patience = patience
    this.#run = query.run
    this.#cursor = query.after ?? null
    for (const stop of [app.listen((sign) => this.#tellLive(sign)), hub.listen(() => this.#wake())])
      this.#gone.signal.addEventListener('abort', stop)
    for (const sign of live.whole()) this.#tellLive(sign)
    void this.#tellEvents(app, hub)
    void this.#beat(clock)
  }

  /** What it is to be sent next, once there is something; undefined when that was all. */
  async next(): Promise<Sent | undefined> {
    for (;;) {
      const first = this.#queue.shift()
      if (first) {
        this.#waiting -= first.size
        this.#tookSinceBeat = true
        this.#wake()
        return first.sent
      }
      if (this.#isLast) return undefined
      await this.#stir.promise
    }
  }

  /** Tells nothing more and leaves nothing behind. */
  leave(): void {
    this.#isLast = true
    this.#gone.abort()
    this.#queue.length = 0
    this.#wake()
  }

  /** Aborts when it has left, of its own accord or because it did not even take its farewell. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  async #tellEvents(app: Pick<App, 'events'>, hub: EventHub): Promise<void> {
    try {
      while (!this.#isLast) {
        // Taken before the look, so that nothing that comes meanwhile is slept through.
        const stirred = this.#stir.promise
        const after = this.#cursor
        const page = hub.after(after) ?? (await app.events(after === null ? {} : { after }))
        if (page.length === 0) await stirred
        for (const event of page) await this.#tellEvent(event)
      }
    } catch (error) {
      this.#end({ kind: 'failed', refusal: refusalOf(error) })
    }
  }

  async #tellEvent(event: Event): Promise<void> {
    while (this.#queue.length >= fetchBelow && !this.#isLast) await this.#stir.promise
    if (this.#isLast) return
    if (this.#concerns(event)) this.#add({ kind: 'event', event }, JSON.stringify(event.payload).length + 200)
    this.#cursor = event.cursor
  }

  #concerns({ subject, payload }: Event): boolean {
    return this.#run === undefined || subject === `run:${this.#run}` || payload['run'] === this.#run
  }

  #tellLive(sign: Live): void {
    if (this.#isLast || (this.#run !== undefined && sign.runId !== this.#run)) return
    const size = 'text' in sign ? sign.text.length : 0
    const last = this.#queue.at(-1)
    // A burst of pieces is one message to someone who has not taken the first yet.
    const grown = last?.sent.kind === 'live' ? joined(last.sent.sign, sign) : undefined
    if (last && grown) {
      last.sent = { kind: 'live', sign: grown }
      last.size += size
      this.#waiting += size
    } else this.#add({ kind: 'live', sign }, size)
    const { messages, characters } = this.#patience
    if (this.#queue.length > messages || this.#waiting > characters) this.#drop()
  }

  /** A sign of life, and the question whether the follower lives. */
  async #beat(clock: Clock): Promise<void> {
    const { signal } = this.#gone
    for (;;) {
      await clock.sleep(this.#patience.beatEvery, signal)
      if (signal.aborted) return
      const isStuck = this.#queue.length > 0 && !this.#tookSinceBeat
      this.#tookSinceBeat = false
      if (isStuck && this.#isLast) return this.leave()
      if (isStuck) this.#drop()
      else if (this.#queue.length === 0) this.#add({ kind: 'beat' }, 0)
    }
  }

  #drop(): void {
    this.#end({ kind: 'dropped', last: { cursor: this.#cursor } })
  }

  #end(last: Sent): void {
    this.#add(last, 0)
    this.#isLast = true
  }

  #add(sent: Sent, size: number): void {
    if (this.#isLast) return
    this.#queue.push({ sent, size })
    this.#waiting += size
    this.#wake()
  }

  #wake(): void {
    const { resolve } = this.#stir
    this.#stir = Promise.withResolvers()
    resolve()
  }
}

/** Two signs of the same call as one, where the second goes on with the first. */
function joined(first: Live, next: Live): Live | undefined {
  if (first.runId !== next.runId || first.call !== next.call) return undefined
  if (first.kind === 'reset' || (next.kind !== 'text' && next.kind !== 'thinking')) return undefined
  const goesOn = first.kind === next.kind || (first.kind === 'whole' && next.kind === 'text')
  return goesOn ? { ...first, text: first.text + next.text } : undefined
}

/** What is told of a failure: expected ones as they are, of a bug only that there was one. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof HeddleError) {
    const { code, message, remedy, retry } = error
    return { ok: false, error: { code, message, remedy, retry } }
  }
  const remedy = 'the log of heddle up says more; please report it'
  return { ok: false, error: { code: 'bug', message: 'heddle met a bug', remedy, retry: 'never' } }
}
