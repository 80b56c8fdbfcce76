import type { Clock } from '../domain/clock.ts'
import type { Store } from '../store/store.ts'

/** Everything the engine needs that is not an argument of the call: rows, time, new ids. */
export interface World {
  store: Store
  clock: Clock
  newId(): string
}
