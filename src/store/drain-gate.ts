import { HeddleError } from '../domain/errors.ts'

/** Lets a store drain running work before it closes, and refuses new work. */
export class DrainGate {
  #running = 0
  #onExit: () => void = () => undefined
  #closing: Promise<void> | undefined

  async enter<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new HeddleError('store_closed', 'the store is closed', 'open it again')
    this.#running++
    try {
      return await work()
    } finally {
      this.#running--
      this.#onExit()
    }
  }

  /** Resolves when all work has ended and `release` is done; repeated calls return the same promise. */
  close(release: () => void | Promise<void>): Promise<void> {
    this.#closing ??= this.#drain().then(release)
    return this.#closing
  }

  #drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onExit = () => {
        if (this.#running === 0) resolve()
      }
      this.#onExit()
    })
  }
}
