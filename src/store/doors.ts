import { HeddleError } from '../domain/errors.ts'

/** Lets a store finish what was begun before it closes, and refuse what comes later. */
export class Doors {
  #inside = 0
  #leave: () => void = () => undefined
  #closing: Promise<void> | undefined

  async enter<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new HeddleError('store_closed', 'the store is closed', 'open it again')
    this.#inside++
    try {
      return await work()
    } finally {
      this.#inside--
      this.#leave()
    }
  }

  /** Resolves when all are out and `lock` is done; the same however often it is asked for. */
  close(lock: () => void | Promise<void>): Promise<void> {
    this.#closing ??= this.#empty().then(lock)
    return this.#closing
  }

  #empty(): Promise<void> {
    return new Promise((resolve) => {
      this.#leave = () => {
        if (this.#inside === 0) resolve()
      }
      this.#leave()
    })
  }
}
