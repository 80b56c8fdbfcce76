const replacement = '\ufffd'

/** Keeps the beginning and the end of any output in bounded memory. */
export class BoundedOutput {
  readonly #half: number
  readonly #head: Buffer
  #headBytes = 0
  #tail: Buffer = Buffer.alloc(0)
  #total = 0

  constructor(maxBytes: number) {
    this.#half = Math.floor(maxBytes / 2)
    this.#head = Buffer.alloc(this.#half)
  }

  get total(): number {
    return this.#total
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length
    const fits = chunk.copy(this.#head, this.#headBytes)
    this.#headBytes += fits
    if (fits === chunk.length) return
    // Copied: a part of a chunk would keep the whole of it in memory.
    const rest = chunk.subarray(Math.max(fits, chunk.length - this.#half))
    this.#tail = Buffer.concat([this.#tail.subarray(Math.max(0, this.#tail.length + rest.length - this.#half)), rest])
  }

  /** As text; invalid UTF-8, and NUL, which PostgreSQL cannot store, become U+FFFD. */
  text(): string {
    const head = this.#head.subarray(0, this.#headBytes)
    if (this.#headBytes + this.#tail.length === this.#total) return decode(Buffer.concat([head, this.#tail]))
    const [begin, end] = [withoutBrokenEnd(head), withoutBrokenStart(this.#tail)]
    const cut = this.#total - begin.length - end.length
    return `${decode(begin)}\n… [cut: ${cut} bytes] …\n${decode(end)}`
  }
}

function decode(bytes: Buffer): string {
  return bytes.toString('utf8').replaceAll('\0', replacement)
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** Drops a character that the cut went through. */
function withoutBrokenEnd(bytes: Buffer): Buffer {
  let start = bytes.length - 1
  while (start > bytes.length - 4 && isContinuation(bytes[start])) start--
  const lead = bytes[start] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start + length > bytes.length ? bytes.subarray(0, start) : bytes
}

function withoutBrokenStart(bytes: Buffer): Buffer {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start++
  return bytes.subarray(start)
}
