import type { Heddle } from '../../api/heddle.ts'
import type { Clock, Millis } from '../../domain/clock.ts'

const timeout: Millis = 2000
/** An answer counts for this long: strangers may ask, and must not keep the database busy. */
const keepFor: Millis = 1000

/** Whether work gets done here: the database answers, and the worker holds its lease. */
export class Readiness {
  readonly #heddle: Pick<Heddle, 'isReady'>
  readonly #clock: Clock
  #last: { at: Millis; isReady: Promise<boolean> } | undefined

  constructor(heddle: Pick<Heddle, 'isReady'>, clock: Clock) {
    this.#heddle = heddle
    this.#clock = clock
  }

  check(): Promise<boolean> {
    const now = this.#clock.monotonic()
    if (this.#last && now - this.#last.at < keepFor) return this.#last.isReady
    const isReady = this.#look()
    this.#last = { at: now, isReady }
    return isReady
  }

  async #look(): Promise<boolean> {
    const done = new AbortController()
    const late = this.#clock.sleep(timeout, done.signal).then(() => false)
    const answer = this.#heddle.isReady().catch(() => false)
    return Promise.race([answer, late]).finally(() => done.abort())
  }
}
