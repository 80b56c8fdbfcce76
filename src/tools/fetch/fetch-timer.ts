import type { Clock, Millis } from '../../domain/clock.ts'

/** Timeouts: in total, and without activity. */
interface TimeBounds {
  totalMs: Millis
  idleMs: Millis
}

/** Timer of one fetch; its signal aborts on timeout, or with the given signal. */
export class FetchTimer {
  readonly signal: AbortSignal
  readonly #clock: Clock
  readonly #bounds: TimeBounds
  readonly #over = new AbortController()
  readonly #done = new AbortController()
  readonly #begun: Millis
  #heard: Millis

  constructor(clock: Clock, bounds: TimeBounds, signal: AbortSignal, toError: (why: string) => Error) {
    this.#clock = clock
    this.#bounds = bounds
    this.#begun = clock.monotonic()
    this.#heard = this.#begun
    this.signal = AbortSignal.any([signal, this.#over.signal])
    void this.#watch(toError)
  }

  /** Reports activity, which restarts the idle timeout. */
  heard(): void {
    this.#heard = this.#clock.monotonic()
  }

  /** Stops the timer. */
  end(): void {
    this.#done.abort()
  }

  /** Settles with the promise, or rejects on abort. */
  async until<T>(promise: Promise<T>): Promise<T> {
    const { promise: stopped, reject } = Promise.withResolvers<never>()
    const stop = () => reject(this.signal.reason)
    if (this.signal.aborted) stop()
    this.signal.addEventListener('abort', stop)
    try {
      return await Promise.race([promise, stopped])
    } finally {
      this.signal.removeEventListener('abort', stop)
    }
  }

  async #watch(toError: (why: string) => Error): Promise<void> {
    const { totalMs, idleMs } = this.#bounds
    while (!this.#done.signal.aborted) {
      const now = this.#clock.monotonic()
      const [total, idle] = [this.#begun + totalMs - now, this.#heard + idleMs - now]
      if (total <= 0) return this.#over.abort(toError(`took longer than ${totalMs / 1000} s`))
      if (idle <= 0) return this.#over.abort(toError(`was silent for ${idleMs / 1000} s`))
      await this.#clock.sleep(Math.min(total, idle), this.#done.signal)
    }
  }
}
