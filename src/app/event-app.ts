import type { EventApp } from '../api/events.ts'
import type { Millis } from '../domain/clock.ts'
import { followEvents, newestCursor, pruneEvents, readEvents } from '../store/rows/events.ts'
import type { Store, StoreContext } from '../store/store.ts'

/** The event log; `keepMs` is how long events are kept. */
export function eventApp(store: Store, context: StoreContext, keepMs: Millis): EventApp {
  return {
    events: ({ after, limit }) => store.read((rows) => readEvents(rows, after, limit)),
    follow: (query) => followEvents(store, context, query),
    cursor: () => store.read(newestCursor),
    async prune() {
      const before = context.clock.now() - keepMs
      return { events: await store.write('prune', (tx) => pruneEvents(tx, before)) }
    },
  }
}
