import type { App } from '../api/app.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import type { Event } from '../domain/event.ts'

const maxEvents = 1000
const pauseAfterError: Millis = 1000

/** Reads new events once for all followers. Each follower reads older events itself. */
export class EventHub {
  readonly #events: Event[] = []
  readonly #positions = new Map<string, number>()
  readonly #listeners = new Set<(event: Event) => void>()
  readonly #stopped = new AbortController()
  /** Number of evicted events, and the cursor of the last one. */
  #evicted = 0
  #before: string | null

  static async open(app: Pick<App, 'follow' | 'cursor'>, clock: Clock): Promise<EventHub> {
    const hub = new EventHub(await app.cursor())
    void hub.#read(app, clock)
    return hub
  }

  private constructor(from: string | null) {
    this.#before = from
  }

  /** The buffered events after this cursor; undefined if the cursor is older than the buffer. */
  after(cursor: string | null): Event[] | undefined {
    if (cursor === this.#before) return this.#events.slice()
    const position = cursor === null ? undefined : this.#positions.get(cursor)
    return position === undefined ? undefined : this.#events.slice(position - this.#evicted + 1)
  }

  /** Calls the listener for each new event until the returned function is called. It must be quick and must not throw. */
  listen(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #read(app: Pick<App, 'follow'>, clock: Clock): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      try {
        const after = this.#events.at(-1)?.cursor ?? this.#before
        for await (const event of app.follow({ ...(after !== null && { after }), signal })) this.#add(event)
      } catch {
        // Requests that need the database report its errors; the hub only retries.
        await clock.sleep(pauseAfterError, signal)
      }
    }
  }

  #add(event: Event): void {
    this.#positions.set(event.cursor, this.#evicted + this.#events.length)
    this.#events.push(event)
    if (this.#events.length > maxEvents) {
      this.#before = this.#events.shift()?.cursor ?? null
      this.#positions.delete(this.#before ?? '')
      this.#evicted++
    }
    for (const listener of this.#listeners) listener(event)
  }
}
