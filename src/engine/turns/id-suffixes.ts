import type { Millis } from '../../domain/clock.ts'
import { firstIdAt } from '../../domain/id.ts'
import { hasUnindexedTails, indexTails } from '../../store/rows/id-tails.ts'
import type { Runtime } from '../runtime.ts'

/** Min age of an indexed id: no transaction that old can still commit, even after the machine slept. */
const minAge: Millis = 86_400_000
const pollInterval: Millis = 600_000
/** Max ids per transaction, so that no turn's commit waits long. */
const pageSize = 1000

/** Indexes the suffixes of ids older than a day: one page per call until all are indexed, then polls. */
export function idSuffixIndexer({ store, clock }: Pick<Runtime, 'store' | 'clock'>): () => Promise<void> {
  let next = 0
  return async () => {
    if (clock.monotonic() < next) return
    const before = firstIdAt(clock.now() - minAge)
    const isMore =
      (await store.read((rows) => hasUnindexedTails(rows, before))) &&
      (await store.write('prune', (tx) => indexTails(tx, before, pageSize)))
    if (!isMore) next = clock.monotonic() + pollInterval
  }
}
