import type { App } from '../domain/app.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import type { Event } from '../domain/event.ts'

const mostKept = 1000
const pauseAfterTrouble: Millis = 1000

/** Reads new events once, for however many followers there are. Older ones each reads for itself. */
export class EventHub {
  readonly #kept: Event[] = []
  readonly #places = new Map<string, number>()
  readonly #listeners = new Set<(event: Event) => void>()
  readonly #stopped = new AbortController()
  /** How many events came before the first that is kept, and the cursor of the last of them. */
  #gone = 0
  #before: string | null

  static async open(app: Pick<App, 'follow' | 'cursor'>, clock: Clock): Promise<EventHub> {
    const hub = new EventHub(await app.cursor())
    void hub.#read(app, clock)
    return hub
  }

  private constructor(from: string | null) {
    this.#before = from
  }

  /** The newest events after this cursor; undefined for a cursor that only the rows may know. */
  after(cursor: string | null): Event[] | undefined {
    if (cursor === this.#before) return this.#kept.slice()
    const place = cursor === null ? undefined : this.#places.get(cursor)
    return place === undefined ? undefined : this.#kept.slice(place - this.#gone + 1)
  }

  /** Tells each new event until the returned function is called. The listener must be quick and must not throw. */
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
        const after = this.#kept.at(-1)?.cursor ?? this.#before
        for await (const event of app.follow({ ...(after !== null && { after }), signal })) this.#add(event)
      } catch {
        // Rows that cannot be reached are told of by whoever needs them; events wait until they can be.
        await clock.sleep(pauseAfterTrouble, signal)
      }
    }
  }

  #add(event: Event): void {
    this.#places.set(event.cursor, this.#gone + this.#kept.length)
    this.#kept.push(event)
    if (this.#kept.length > mostKept) {
      this.#before = this.#kept.shift()?.cursor ?? null
      this.#places.delete(this.#before ?? '')
      this.#gone++
    }
    for (const listener of this.#listeners) listener(event)
  }
}
