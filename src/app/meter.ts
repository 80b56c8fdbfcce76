import type { Clock, Millis } from '../domain/clock.ts'
import { Histogram, type HistogramView } from '../domain/histogram.ts'
import type { Store } from '../store/store.ts'

const commitBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
const callBounds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
/** Max models that are told apart. */
const maxModels = 100

/** Measures how long writes and model calls of this process take. */
export class Meter {
  readonly #commits = new Histogram(commitBounds)
  readonly #calls = new Map<string, Histogram>()

  /** The store with its writes measured. */
  measuring(store: Store, clock: Pick<Clock, 'monotonic'>): Store {
    return {
      ...store,
      write: async (area, body) => {
        const begun = clock.monotonic()
        const done = await store.write(area, body)
        this.#commits.observe((clock.monotonic() - begun) / 1000)
        return done
      },
    }
  }

  observeCall(model: string, took: Millis): void {
    const known = this.#calls.get(model)
    if (!known && this.#calls.size >= maxModels) return
    const calls = known ?? new Histogram(callBounds)
    this.#calls.set(model, calls)
    calls.observe(took / 1000)
  }

  view(): { commits: HistogramView; modelCalls: { model: string; seconds: HistogramView }[] } {
    const modelCalls = [...this.#calls].map(([model, seconds]) => ({ model, seconds: seconds.view() }))
    return { commits: this.#commits.view(), modelCalls }
  }
}
