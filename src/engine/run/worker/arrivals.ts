import type { Clock, Millis } from '../../../domain/clock.ts'

/** Turns of the event loop without a new input: between two requests of a rush there are fewer. */
const quietTurns = 16
/** Max time that a claimed run waits for inputs to be accepted, whatever still arrives. */
const maxWait: Millis = 1000

/** Inputs that arrive at this process. In a rush they are accepted first, since that is quick, and claimed runs start after it. */
export class Arrivals {
  readonly #clock: Clock
  #count = 0
  #pending = 0
  /** Resolves when no input is pending. */
  #accepted = Promise.withResolvers<void>()
  #pause: Promise<void> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts an input as pending until the turn of the event loop after its end: inputs of one commit still see each other. */
  async accept<T>(input: () => Promise<T>): Promise<T> {
    this.#count++
    if (this.#pending++ === 0) this.#accepted = Promise.withResolvers()
    try {
      return await input()
    } finally {
      setImmediate(() => {
        if (--this.#pending === 0) this.#accepted.resolve()
      })
    }
  }

  /** Resolves when the rush is over, or has lasted too long; undefined if there is none. One input alone is none. */
  pause(): Promise<void> | undefined {
    if (this.#pending > 1)
      this.#pause ??= this.#waitForQuiet().finally(() => {
        this.#pause = undefined
      })
    return this.#pause
  }

  async #waitForQuiet(): Promise<void> {
    const over = new AbortController()
    let isLate = false
    const late = this.#clock.sleep(maxWait, over.signal).then(() => {
      isLate = true
    })
    for (let quiet = 0; quiet < quietTurns && !isLate; quiet++) {
      const seen = this.#count
      if (this.#pending > 0) await Promise.race([this.#accepted.promise, late])
      await new Promise(setImmediate)
      if (this.#count > seen) quiet = -1
    }
    over.abort('over')
  }
}
