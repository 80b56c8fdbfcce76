import type { Event } from '../../src/domain/event.ts'
import { readEvents } from '../../src/store/rows/events.ts'
import type { Store } from '../../src/store/store.ts'
import { untilSo } from './until.ts'

/**
 * All events that are stored, once each is shown. On PostgreSQL that is when every older transaction of the server has
 * ended, and those of other tests are among them.
 */
export async function visibleEvents(store: Store): Promise<Event[]> {
  const stored = await store.read((rows) => rows.all(rows.build.selectFrom('events').select('seq')))
  let shown: Event[] = []
  await untilSo(async () => {
    shown = await store.read((rows) => readEvents(rows, undefined, Number.MAX_SAFE_INTEGER))
    return shown.length >= stored.length
  })
  return shown
}
