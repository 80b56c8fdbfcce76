import type { EventApp } from '../api/events.ts'
import type { Millis } from '../domain/clock.ts'
import { pruneRequests } from '../store/rows/access/idempotency.ts'
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
      const events = await store.write('prune', async (tx) => {
        // Keys are kept as long as the events that tell what their requests did.
        await pruneRequests(tx, before)
        return pruneEvents(tx, before)
      })
      return { events }
    },
  }
}
