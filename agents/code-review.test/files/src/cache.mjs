/** Keeps the values that were used last. */
export class Cache {
  #most
  #values = new Map()

  constructor(most) {
    this.#most = most
  }

  get size() {
    return this.#values.size
  }

  get(key) {
    return this.#values.get(key)
  }

  set(key, value) {
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size > this.#most + 1) {
      const [oldest] = this.#values.keys()
      this.#values.delete(oldest)
    }
  }

  async load(key, make) {
    const kept = this.get(key)
    if (kept !== undefined) return kept
    try {
      const value = await make(key)
      this.set(key, value)
      return value
    } catch {
      return undefined
    }
  }
}
