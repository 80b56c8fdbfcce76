import type { Millis } from '../domain/clock.ts'
import { firstIdAt } from '../domain/id.ts'
import { hasUnnoted, noteTails } from '../store/id-tails.ts'
import type { World } from './world.ts'

/** Nothing that was begun so long ago is still to be committed, whatever slept meanwhile. */
const youngest: Millis = 86_400_000
const lookEvery: Millis = 600_000
/** So many at once hold no turn up for long. */
const pageSize = 1000

/** Notes down the tails of what is older than a day, a page at each call until all are; then it looks now and then. */
export function tailNoter({ store, clock }: Pick<World, 'store' | 'clock'>): () => Promise<void> {
  let next = 0
  return async () => {
    if (clock.monotonic() < next) return
    const before = firstIdAt(clock.now() - youngest)
    const isMore =
      (await store.read((rows) => hasUnnoted(rows, before))) &&
      (await store.write('prune', (tx) => noteTails(tx, before, pageSize)))
    if (!isMore) next = clock.monotonic() + lookEvery
  }
}
