import type { EventApp } from '../api/events.ts'
import { isOwner } from '../domain/access/principal.ts'
import type { Millis } from '../domain/clock.ts'
import type { Event } from '../domain/event.ts'
import { pruneRequests } from '../store/rows/access/idempotency.ts'
import { followEvents, newestCursor, pruneEvents, readEvents } from '../store/rows/events.ts'
import { pruneFires } from '../store/rows/jobs/fires.ts'
import { pruneMessages } from '../store/rows/jobs/outbox.ts'
import type { Store, StoreContext } from '../store/store.ts'
import type { Caller } from './guard/caller.ts'
import { withoutPrivateDetails } from './guard/private-views.ts'

/** The event log; `keepMs` is how long events are kept. */
export function eventApp(store: Store, context: StoreContext, keepMs: Millis, caller: Caller): EventApp {
  const own = () => caller.only('event.read')
  const shown = (event: Event) => (isOwner(caller.principal) ? event : withoutPrivateDetails(event))
  return {
    events: async ({ after, limit }) => (await store.read((rows) => readEvents(rows, after, limit, own()))).map(shown),
    async *follow(query) {
      for await (const event of followEvents(store, context, { ...query, ...own() })) yield shown(event)
    },
    cursor: () => store.read(newestCursor),
    async prune() {
      const before = context.clock.now() - keepMs
      const events = await store.write('prune', async (tx) => {
        // Keys, fires and sent messages are kept as long as the events that tell of the same requests.
        await pruneRequests(tx, before)
        await pruneFires(tx, before)
        await pruneMessages(tx, before)
        return pruneEvents(tx, before)
      })
      return { events }
    },
  }
}
