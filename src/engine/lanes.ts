/** Work that waits for its turn where it concerns the same thing. */
export class Lanes {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Does the work after all that was handed in before it under this name, whatever became of that. */
  inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const ours = (this.#last.get(name) ?? Promise.resolve()).then(work, work)
    this.#last.set(name, ours)
    return ours
  }
}
