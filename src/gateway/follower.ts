import type { App } from '../api/app.ts'
import type { Heddle } from '../api/heddle.ts'
import { isOwner, type Principal } from '../domain/access/principal.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { type Event, isAboutRun } from '../domain/event.ts'
import type { DroppedFollower, LiveDelta, Refusal, StreamItem, StreamQuery } from './api.ts'
import type { EventHub } from './event-hub.ts'
import { eventJson } from './event-json.ts'
import type { LiveTexts } from './live-texts.ts'

/** Max queue of a follower before it is dropped, and how often it must have read something. */
export interface FollowerLimits {
  messages: number
  characters: number
  heartbeatEvery: Millis
}

export const defaultFollowerLimits: FollowerLimits = { messages: 1000, characters: 1024 * 1024, heartbeatEvery: 15_000 }

/** Events are fetched only while the queue is shorter than this; the rest stays in the database. */
const fetchBelow = 64

/** A merged text is each follower's own, while pieces are kept once for all: many slow followers must stay cheap. */
const maxMergedLength = 16 * 1024

/** Runs of which a follower remembers whether it may receive their text. */
const maxKnownRuns = 1000

/** A subscription to events: its filter and its sender. */
type FollowerQuery = Omit<StreamQuery, 'signal'> & { principal: Principal }

/** The parts of Heddle that a follower uses. */
type FollowedHeddle = Pick<Heddle, 'listen' | 'shownTo' | 'mayStream'>

/** A message to a follower. */
export type FollowerMessage =
  | StreamItem
  | { kind: 'beat' }
  | { kind: 'dropped'; last: DroppedFollower }
  | { kind: 'failed'; refusal: Refusal }

/**
 * A subscriber to the event stream. Never blocks a run: events stay in the database until it reads them, deltas wait in
 * a bounded queue, and a follower that reads nothing for too long is dropped with a cursor to resume from.
 */
export class Follower {
  readonly #queue: { sent: FollowerMessage; size: number }[] = []
  readonly #gone = new AbortController()
  readonly #limits: FollowerLimits
  readonly #app: Pick<App, 'events' | 'cursor'>
  readonly #heddle: FollowedHeddle
  readonly #live: Pick<LiveTexts, 'whole'>
  readonly #principal: Principal
  readonly #run: string | undefined
  /** By run: whether its text may be sent; undefined before that is known. */
  readonly #shown = new Map<string, boolean>()
  #queuedCharacters = 0
  #cursor: string | null
  #isClosed = false
  #readSinceHeartbeat = true
  #changed = Promise.withResolvers<void>()

  constructor(
    app: Pick<App, 'events' | 'cursor'>,
    { heddle, hub, live }: { heddle: FollowedHeddle; hub: EventHub; live: Pick<LiveTexts, 'whole'> },
    query: FollowerQuery,
    { clock, followerLimits }: { clock: Clock; followerLimits: FollowerLimits },
  ) {
    this.#limits = followerLimits
    this.#app = app
    this.#heddle = heddle
    this.#live = live
    this.#principal = query.principal
    this.#run = query.run
    this.#cursor = query.after ?? null
    for (const stop of [heddle.listen((delta) => this.#pushDelta(delta)), hub.listen(() => this.#wake())])
      this.#gone.signal.addEventListener('abort', stop)
    for (const delta of live.whole()) this.#pushDelta(delta)
    void this.#pushEvents(hub)
    void this.#sendHeartbeats(clock)
  }

  /** Waits for the next message; undefined when the stream has ended. */
  async next(): Promise<FollowerMessage | undefined> {
    for (;;) {
      const first = this.#queue.shift()
      if (first) {
        this.#queuedCharacters -= first.size
        this.#readSinceHeartbeat = true
        this.#wake()
        return first.sent
      }
      if (this.#isClosed) return undefined
      await this.#changed.promise
    }
  }

  /** Ends the stream with this error as its last message. */
  fail(error: unknown): void {
    this.#end({ kind: 'failed', refusal: refusalOf(error) })
  }

  /** The same, and nothing that waits to be read is sent any more: the reader has lost its rights to it. */
  revoke(error: unknown): void {
    this.#queue.length = 0
    this.fail(error)
  }

  /** Ends the stream at once and releases its listeners. */
  leave(): void {
    this.#isClosed = true
    this.#gone.abort()
    this.#queue.length = 0
    this.#wake()
  }

  /** Aborts when the follower has left, or was dropped and did not read its last message. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  async #pushEvents(hub: EventHub): Promise<void> {
    try {
      while (!this.#isClosed) {
        // Taken before reading, so that no change in between is missed.
        const changed = this.#changed.promise
        const shared = hub.after(this.#cursor)
        if (shared?.length === 0) await changed
        else if (shared) await this.#pushShared(shared)
        else await this.#pushStored(changed)
      }
    } catch (error) {
      this.fail(error)
    }
  }

  /** Sends what was read once for all followers, as far as this one may see it. */
  async #pushShared(events: readonly Event[]): Promise<void> {
    for (const event of await this.#heddle.shownTo(this.#principal, events)) await this.#pushEvent(event)
    // The next look need not pass over the events of others again.
    this.#cursor = events.at(-1)?.cursor ?? this.#cursor
  }

  /** Sends events that are older than those that are kept for all. */
  async #pushStored(changed: Promise<void>): Promise<void> {
    const after = this.#cursor
    // Before the page: what is committed in between is on the next one.
    const newest = await this.#app.cursor()
    const page = await this.#app.events(after === null ? {} : { after })
    for (const event of page) await this.#pushEvent(event)
    if (page.length > 0) return
    if (newest === null || newest === after) return changed
    this.#cursor = newest
  }

  async #pushEvent(event: Event): Promise<void> {
    while (this.#queue.length >= fetchBelow && !this.#isClosed) await this.#changed.promise
    if (this.#isClosed) return
    if (this.#concerns(event)) this.#add({ kind: 'event', event }, eventJson(event).length)
    this.#cursor = event.cursor
  }

  #concerns(event: Event): boolean {
    return this.#run === undefined || isAboutRun(event, this.#run)
  }

  #pushDelta(delta: LiveDelta): void {
    if (this.#isClosed || (this.#run !== undefined && delta.runId !== this.#run) || !this.#mayStream(delta.runId))
      return
    const size = 'text' in delta ? delta.text.length : 0
    const last = this.#queue.at(-1)
    // Merge deltas that the follower has not read yet.
    const hasRoom = last !== undefined && last.size + size <= maxMergedLength
    const merged = hasRoom && last.sent.kind === 'live' ? mergeDeltas(last.sent.delta, delta) : undefined
    if (last && merged) {
      last.sent = { kind: 'live', delta: merged }
      last.size += size
      this.#queuedCharacters += size
    } else this.#add({ kind: 'live', delta: delta }, size)
    const { messages, characters } = this.#limits
    if (this.#queue.length > messages || this.#queuedCharacters > characters) this.#drop()
  }

  /** Whether this follower may receive the text of a run. The first time the text so far follows once that is known. */
  #mayStream(runId: string): boolean {
    if (isOwner(this.#principal)) return true
    const isShown = this.#shown.get(runId)
    if (isShown !== undefined) return isShown
    this.#shown.set(runId, false)
    const [oldest] = this.#shown.keys()
    if (this.#shown.size > maxKnownRuns && oldest !== undefined) this.#shown.delete(oldest)
    void this.#heddle.mayStream(this.#principal, runId).then(
      (mayStream) => {
        if (!mayStream) return
        this.#shown.set(runId, true)
        for (const delta of this.#live.whole()) if (delta.runId === runId) this.#pushDelta(delta)
      },
      () => undefined,
    )
    return false
  }

  /** Sends heartbeats to an idle follower, and drops one that does not read. */
  async #sendHeartbeats(clock: Clock): Promise<void> {
    const { signal } = this.#gone
    for (;;) {
      await clock.sleep(this.#limits.heartbeatEvery, signal)
      if (signal.aborted) return
      const isStuck = this.#queue.length > 0 && !this.#readSinceHeartbeat
      this.#readSinceHeartbeat = false
      if (isStuck && this.#isClosed) return this.leave()
      if (isStuck) this.#drop()
      else if (this.#queue.length === 0) this.#add({ kind: 'beat' }, 0)
    }
  }

  #drop(): void {
    this.#end({ kind: 'dropped', last: { cursor: this.#cursor } })
  }

  #end(last: FollowerMessage): void {
    this.#add(last, 0)
    this.#isClosed = true
  }

  #add(sent: FollowerMessage, size: number): void {
    if (this.#isClosed) return
    this.#queue.push({ sent, size })
    this.#queuedCharacters += size
    this.#wake()
  }

  #wake(): void {
    const { resolve } = this.#changed
    this.#changed = Promise.withResolvers()
    resolve()
  }
}

/** Merges two deltas of the same call if the second continues the first. */
function mergeDeltas(first: LiveDelta, next: LiveDelta): LiveDelta | undefined {
  if (first.runId !== next.runId || first.call !== next.call) return undefined
  if (first.kind === 'reset' || (next.kind !== 'text' && next.kind !== 'thinking')) return undefined
  const continues = first.kind === next.kind || (first.kind === 'whole' && next.kind === 'text')
  return continues ? { ...first, text: first.text + next.text } : undefined
}

/** Error body for a client: expected errors as they are, bugs without details. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof HeddleError) {
    const { code, message, remedy, retry } = error
    return { ok: false, error: { code, message, remedy, retry } }
  }
  const remedy = 'the log of heddle up says more; please report it'
  return { ok: false, error: { code: 'bug', message: 'this is a bug in heddle', remedy, retry: 'never' } }
}
