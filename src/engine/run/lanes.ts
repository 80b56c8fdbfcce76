/** Queues by key: work under one key runs one after another. */
export class Lanes {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs the work after all earlier work under this key, even if that failed. */
  inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const ours = (this.#last.get(name) ?? Promise.resolve()).then(work, work)
    this.#last.set(name, ours)
    const leave = () => {
      if (this.#last.get(name) === ours) this.#last.delete(name)
    }
    ours.then(leave, leave)
    return ours
  }
}
