/** How often something took how long: numbers of observations up to each bound, as Prometheus has them. */
export interface HistogramView {
  /** Upper bounds in seconds, ascending, with how many took at most that long. */
  buckets: { seconds: number; count: number }[]
  sum: number
  count: number
}

/** Counts durations. Costs one comparison per bound and keeps nothing else. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #count = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(seconds: number): void {
    this.#sum += seconds
    this.#count++
    for (const [at, bound] of this.#bounds.entries())
      if (seconds <= bound) this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  view(): HistogramView {
    const buckets = this.#bounds.map((seconds, at) => ({ seconds, count: this.#counts[at] ?? 0 }))
    return { buckets, sum: this.#sum, count: this.#count }
  }
}
