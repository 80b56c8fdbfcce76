import { dotProducts } from './dot-products.ts'

const page = 65_536
/** So that a product of two numbers, summed up over any vector, stays within what the machine counts with. */
const finest = 2047

/** Vectors in one stretch of memory, to be compared with another all at once. Plain loops: it is done for every memory. */
export class VectorScan {
  readonly #machine = dotProducts()
  readonly #dimensions: number
  /** Rows begin at multiples of eight. */
  readonly #width: number
  readonly #queryAt = 0
  readonly #outAt: number
  readonly #rowsAt: number
  #lengths = new Float32Array(0)
  /** The length of what was asked for. */
  #asked = 1

  /** `slice`: the most that are compared at a time. */
  constructor(dimensions: number, slice: number) {
    this.#dimensions = dimensions
    this.#width = Math.ceil(dimensions / 8) * 8
    this.#outAt = this.#width * 2
    this.#rowsAt = Math.ceil((this.#outAt + slice * 4) / 8) * 8
  }

  /** Puts a vector into a place, or nothing. */
  put(place: number, vector: Int8Array | undefined): void {
    this.#reach(place)
    const row = new Int8Array(this.#machine.memory.buffer, this.#rowsAt + place * this.#width, this.#dimensions)
    if (vector) row.set(vector)
    else row.fill(0)
    let squares = 0
    for (let at = 0; at < row.length; at++) squares += (row[at] ?? 0) ** 2
    this.#lengths[place] = Math.sqrt(squares)
  }

  /** Takes a vector for everything that `cosines` is asked next. */
  ask(vector: Float32Array): void {
    const largest = vector.reduce((found, number) => Math.max(found, Math.abs(number)), 0)
    this.#reach(0)
    const query = new Int16Array(this.#machine.memory.buffer, this.#queryAt, this.#width).fill(0)
    for (const [at, number] of vector.entries()) query[at] = Math.round((number / largest) * finest)
    this.#asked = Math.sqrt(query.reduce((sum, number) => sum + number * number, 0))
  }

  /** How near each of these places is to what was asked for; 0 for an empty one. */
  cosines(from: number, count: number): Float32Array {
    const { memory, dots } = this.#machine
    dots(this.#rowsAt + from * this.#width, count, this.#width, this.#queryAt, this.#outAt)
    const products = new Int32Array(memory.buffer, this.#outAt, count)
    const near = new Float32Array(count)
    for (let at = 0; at < count; at++) {
      const own = this.#lengths[from + at] ?? 0
      near[at] = own === 0 ? 0 : (products[at] ?? 0) / (own * this.#asked)
    }
    return near
  }

  #reach(place: number): void {
    if (place >= this.#lengths.length) {
      const longer = new Float32Array(Math.max(1024, (place + 1) * 2))
      longer.set(this.#lengths)
      this.#lengths = longer
    }
    const { memory } = this.#machine
    const missing = this.#rowsAt + (place + 1) * this.#width - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(Math.max(missing, memory.buffer.byteLength / 4) / page))
  }
}
