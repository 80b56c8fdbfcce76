import type { EventApp } from '../api/events.ts'
import type { Millis } from '../domain/clock.ts'
import { followEvents, newestCursor, pruneEvents, readEvents } from '../store/rows/events.ts'
import type { Store, StoreContext } from '../store/store.ts'
import type { Caller } from './caller.ts'

/** The event log; `keepMs` is how long events are kept. */
export function eventApp(store: Store, context: StoreContext, keepMs: Millis, caller: Caller): EventApp {
  const own = () => caller.only('event.read')
  return {
    events: ({ after, limit }) => store.read((rows) => readEvents(rows, after, limit, own())),
    follow: (query) => followEvents(store, context, { ...query, ...own() }),
    cursor: () => store.read(newestCursor),
    async prune() {
      const before = context.clock.now() - keepMs
      return { events: await store.write('prune', (tx) => pruneEvents(tx, before)) }
    },
  }
}
