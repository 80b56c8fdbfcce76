import type { Clock, Millis } from '../../domain/clock.ts'

/** How long something may take: in all, and without a sign of life. */
export interface Bounds {
  totalMs: Millis
  idleMs: Millis
}

/** Watches the time of one exchange; its signal aborts when that is over, or with the signal it was given. */
export class Patience {
  readonly signal: AbortSignal
  readonly #clock: Clock
  readonly #bounds: Bounds
  readonly #over = new AbortController()
  readonly #done = new AbortController()
  readonly #begun: Millis
  #heard: Millis

  constructor(clock: Clock, bounds: Bounds, signal: AbortSignal, lost: (why: string) => Error) {
    this.#clock = clock
    this.#bounds = bounds
    this.#begun = clock.monotonic()
    this.#heard = this.#begun
    this.signal = AbortSignal.any([signal, this.#over.signal])
    void this.#watch(lost)
  }

  /** A sign of life. */
  heard(): void {
    this.#heard = this.#clock.monotonic()
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.#done.abort()
  }

  /** The promise, or the reason why nobody waits for it any longer. */
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

  async #watch(lost: (why: string) => Error): Promise<void> {
    const { totalMs, idleMs } = this.#bounds
    while (!this.#done.signal.aborted) {
      const now = this.#clock.monotonic()
      const [total, idle] = [this.#begun + totalMs - now, this.#heard + idleMs - now]
      if (total <= 0) return this.#over.abort(lost(`took longer than ${totalMs / 1000} s`))
      if (idle <= 0) return this.#over.abort(lost(`was silent for ${idleMs / 1000} s`))
      await this.#clock.sleep(Math.min(total, idle), this.#done.signal)
    }
  }
}
