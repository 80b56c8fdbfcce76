/** Queues by key: work under one key runs one after another. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs the work after all earlier work under this key, even if that failed. */
  inOrder<T>(key: string, work: () => Promise<T>): Promise<T> {
    const ours = (this.#last.get(key) ?? Promise.resolve()).then(work, work)
    this.#last.set(key, ours)
    const leave = () => {
      if (this.#last.get(key) === ours) this.#last.delete(key)
    }
    ours.then(leave, leave)
    return ours
  }
}
