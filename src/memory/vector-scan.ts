import { dotProducts } from './dot-products.ts'

const wasmPageBytes = 65_536
/** Scale of query components, so that the sum of products stays within 32 bits. */
const queryScale = 2047

/** Vectors in one block of memory, compared with a query at once. Plain loops: this runs for every memory. */
export class VectorScan {
  readonly #machine = dotProducts()
  readonly #dimensions: number
  /** Rows begin at multiples of eight. */
  readonly #width: number
  readonly #queryAt = 0
  readonly #outAt: number
  readonly #rowsAt: number
  #lengths = new Float32Array(0)
  /** Length of the query vector. */
  #queryLength = 1

  /** `slice`: max vectors compared at a time. */
  constructor(dimensions: number, slice: number) {
    this.#dimensions = dimensions
    this.#width = Math.ceil(dimensions / 8) * 8
    this.#outAt = this.#width * 2
    this.#rowsAt = Math.ceil((this.#outAt + slice * 4) / 8) * 8
  }

  /** Sets or clears a slot. */
  put(slot: number, vector: Int8Array | undefined): void {
    this.#ensureCapacity(slot)
    const row = new Int8Array(this.#machine.memory.buffer, this.#rowsAt + slot * this.#width, this.#dimensions)
    if (vector) row.set(vector)
    else row.fill(0)
    let squares = 0
    for (let at = 0; at < row.length; at++) squares += (row[at] ?? 0) ** 2
    this.#lengths[slot] = Math.sqrt(squares)
  }

  /** Sets the query vector for the following calls of `cosines`. */
  ask(vector: Float32Array): void {
    const largest = vector.reduce((found, number) => Math.max(found, Math.abs(number)), 0)
    this.#ensureCapacity(0)
    const query = new Int16Array(this.#machine.memory.buffer, this.#queryAt, this.#width).fill(0)
    for (const [at, number] of vector.entries()) query[at] = Math.round((number / largest) * queryScale)
    this.#queryLength = Math.sqrt(query.reduce((sum, number) => sum + number * number, 0))
  }

  /** Cosine similarity of each slot to the query; 0 for an empty one. */
  cosines(from: number, count: number): Float32Array {
    const { memory, dots } = this.#machine
    dots(this.#rowsAt + from * this.#width, count, this.#width, this.#queryAt, this.#outAt)
    const products = new Int32Array(memory.buffer, this.#outAt, count)
    const near = new Float32Array(count)
    for (let at = 0; at < count; at++) {
      const own = this.#lengths[from + at] ?? 0
      near[at] = own === 0 ? 0 : (products[at] ?? 0) / (own * this.#queryLength)
    }
    return near
  }

  #ensureCapacity(slot: number): void {
    if (slot >= this.#lengths.length) {
      const grown = new Float32Array(Math.max(1024, (slot + 1) * 2))
      grown.set(this.#lengths)
      this.#lengths = grown
    }
    const { memory } = this.#machine
    const missing = this.#rowsAt + (slot + 1) * this.#width - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(Math.max(missing, memory.buffer.byteLength / 4) / wasmPageBytes))
  }
}
