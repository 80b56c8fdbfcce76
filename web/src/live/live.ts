import { get, RequestError } from '../api/request.ts'
import type { Event, LiveDelta } from '../api/wire.ts'
import { readStream } from './read-stream.ts'
import type { Refresher } from './refresh.ts'
import { RunTexts } from './run-texts.ts'

/** State of the connection to Heddle; `since` is when it was opened, or lost. */
export type Connection = { state: 'connecting' | 'signed-out' } | { state: 'live' | 'lost'; since: number }

/** What tabs tell each other. `previous` is the cursor of the event before. */
type TabMessage =
  | { kind: 'event'; event: Event; previous: string | null }
  | { kind: 'delta'; delta: LiveDelta }
  | { kind: 'state'; connection: Connection; cursor: string | null; texts: LiveDelta[] }
  | { kind: 'hello' }

const pageSize = 500
const maxSeen = 5000

/**
 * Events and streamed text for all tabs of a browser over one connection: a browser opens six to a server, and each tab
 * would hold one. The tab with the lock reads the stream and passes everything on. Each tab keeps its own cursor, drops what
 * it has seen, and reads what it missed.
 */
export class Live {
  readonly texts = new RunTexts()
  readonly #refresher: Refresher
  readonly #channel: BroadcastChannel
  readonly #listeners = new Set<() => void>()
  readonly #seen = new Set<string>()
  #cursor: string | null
  #connection: Connection = { state: 'connecting' }
  #isLeader = false
  #failures = 0
  /** Events that came while missed ones are read. */
  #held: Event[] | undefined
  /** More was missed while missed events were read. */
  #hasMissedMore = false

  constructor({ cursor, principal }: { cursor: string | null; principal: string }, refresher: Refresher) {
    this.#cursor = cursor
    this.#refresher = refresher
    // Tabs that were opened for another user of this browser hear nothing of this one.
    const channelName = `heddle-live:${principal}`
    this.#channel = new BroadcastChannel(channelName)
    this.#channel.onmessage = ({ data }) => this.#hear(data)
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.#tell({ kind: 'hello' })
    })
    this.#tell({ kind: 'hello' })
    // Without a secure context there are no locks: this tab then reads for itself.
    if (navigator.locks === undefined) this.#lead()
    else
      void navigator.locks.request(channelName, () => {
        this.#lead()
        return new Promise(() => undefined)
      })
  }

  get connection(): Connection {
    return this.#connection
  }

  /** Calls the listener after each change of the connection. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #lead(): void {
    this.#isLeader = true
    readStream(() => this.#cursor, {
      onOpen: () => {
        this.#failures = 0
        this.#connect({ state: 'live', since: Date.now() })
      },
      onEvent: (event) => {
        const previous = this.#cursor
        this.#take(event)
        this.#tell({ kind: 'event', event, previous })
      },
      onDelta: (delta) => {
        this.texts.add(delta)
        this.#tell({ kind: 'delta', delta })
      },
      onCursor: (cursor) => {
        this.#cursor = cursor
      },
      onLost: () => void this.#checkAccess(),
    })
  }

  /** Finds out why the stream broke: it does not say so itself. */
  async #checkAccess(): Promise<void> {
    this.#failures++
    try {
      const { cursor } = await get<{ cursor: string | null }>('/v1/cursor')
      // Heddle answers, but not from this cursor on: the events after it are gone, so everything is read again.
      if (this.#failures >= 3) {
        this.#cursor = cursor
        this.#refresher.everything()
      }
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) return this.#connect({ state: 'signed-out' })
    }
    if (this.#connection.state !== 'lost' && this.#failures > 0) this.#connect({ state: 'lost', since: Date.now() })
  }

  #connect(connection: Connection): void {
    const before = this.#connection
    this.#connection = connection
    if (this.#isLeader) this.#tell(this.#state())
    // Opened again: Heddle may be another process now, and what was asked in between had no answer.
    const isReopened = connection.state === 'live' && before.state !== 'connecting'
    if (isReopened && !(before.state === 'live' && before.since === connection.since)) this.#refresher.everything()
    for (const listener of this.#listeners) listener()
  }

  #hear(message: TabMessage): void {
    if (message.kind === 'hello') {
      if (this.#isLeader) this.#tell(this.#state())
      return
    }
    // Two leaders for a moment, as when a lock changes hands: each trusts its own stream.
    if (this.#isLeader) return
    if (message.kind === 'delta') this.texts.add(message.delta)
    else if (message.kind === 'event') this.#takeFromTab(message.event, message.previous)
    else {
      for (const delta of message.texts) this.texts.add(delta)
      this.#connect(message.connection)
      if (message.cursor !== null && !this.#knows(message.cursor)) void this.#readMissed()
    }
  }

  #takeFromTab(event: Event, previous: string | null): void {
    if (!this.#held && previous !== null && !this.#knows(previous)) void this.#readMissed()
    if (this.#held) this.#held.push(event)
    else this.#take(event)
  }

  /** Reads the events after this tab's cursor; only once at a time, and from where it is until all are read. */
  async #readMissed(): Promise<void> {
    this.#hasMissedMore = true
    if (this.#held) return
    const held: Event[] = []
    this.#held = held
    try {
      while (this.#hasMissedMore) {
        this.#hasMissedMore = false
        const after = this.#cursor ?? undefined
        const { events } = await get<{ events: Event[] }>('/v1/events/page', { after, limit: pageSize })
        for (const event of events) this.#take(event)
        this.#hasMissedMore ||= events.length === pageSize
      }
    } catch {
      this.#refresher.everything()
    }
    this.#held = undefined
    for (const event of held) this.#take(event)
  }

  #take(event: Event): void {
    if (this.#seen.has(event.cursor)) return
    this.#seen.add(event.cursor)
    const [oldest] = this.#seen
    if (this.#seen.size > maxSeen && oldest !== undefined) this.#seen.delete(oldest)
    this.#cursor = event.cursor
    this.#refresher.add(event)
    if (event.kind === 'run.ended') this.texts.end(event.subject.slice('run:'.length))
  }

  #knows(cursor: string): boolean {
    return cursor === this.#cursor || this.#seen.has(cursor)
  }

  #state(): TabMessage {
    return { kind: 'state', connection: this.#connection, cursor: this.#cursor, texts: this.texts.whole() }
  }

  #tell(message: TabMessage): void {
    this.#channel.postMessage(message)
  }
}
