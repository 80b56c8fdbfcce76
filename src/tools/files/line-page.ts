import { TextDecoder } from 'node:util'
import type { OpenFile } from '../../domain/tools/path-handle.ts'
import { headBytes, kindOfText, type TextKind } from './text-kind.ts'

/** Requested lines, and limits on their size. */
interface PageRequest {
  /** The first line, from 1. */
  offset: number
  lines: number
  bytes: number
  /** Max bytes of one line. */
  lineBytes: number
}

/** Some lines of a file. */
export interface Page {
  lines: string[]
  kind: TextKind
  /** Lines after the page; `atLeast` if there were too many to count. */
  more: number
  atLeast: boolean
  /** Lines of the whole file, or as many as were counted. */
  total: number
  /** Whether the page has bytes that are not text. */
  isDamaged: boolean
  hasCarriageReturns: boolean
}

const chunkBytes = 65_536
const newline = 10
// Stop counting lines of a huge file here.
const maxCounted = 64 * 1024 * 1024

/** Reads a page of lines in chunks; only the page is held in memory. */
export async function readPage(
  file: OpenFile,
  wanted: PageRequest,
  signal: AbortSignal,
): Promise<Page | { binary: string }> {
  const head = Buffer.allocUnsafe(headBytes)
  const kind = kindOfText(head.subarray(0, await file.read(head, 0)))
  if ('binary' in kind) return kind
  const page = new PageOfLines(wanted, kind)
  for await (const chunk of chunks(file, kind, signal)) {
    page.take(chunk)
    if (page.passed > maxCounted) return page.end(true)
  }
  return page.end(false)
}

/** Chunks of a file in an encoding with single-byte line breaks. */
async function* chunks(file: OpenFile, { encoding, mark }: TextKind, signal: AbortSignal): AsyncIterable<Buffer> {
  const wide = encoding.startsWith('utf-16') ? new TextDecoder(encoding) : undefined
  const into = Buffer.allocUnsafe(chunkBytes)
  for (let position = mark; ; ) {
    signal.throwIfAborted()
    const count = await file.read(into, position)
    if (count === 0) break
    position += count
    const read = into.subarray(0, count)
    yield wide ? Buffer.from(wide.decode(read, { stream: true })) : read
  }
  if (wide) yield Buffer.from(wide.decode())
}

/** Collects the requested lines from chunks, each up to the max line length. */
class PageOfLines {
  readonly #wanted: PageRequest
  readonly #kind: TextKind
  readonly #decoder: TextDecoder
  readonly #lines: string[] = []
  #left: number
  /** Number of the current line, from 1, and its bytes so far. */
  #number = 1
  #length = 0
  #kept: Buffer[] = []
  #keptBytes = 0
  #isDamaged = false
  #hasCarriageReturns = false
  #isFull = false
  /** Bytes counted but not kept since the page began. */
  passed = 0

  constructor(wanted: PageRequest, kind: TextKind) {
    this.#wanted = wanted
    this.#kind = kind
    this.#left = wanted.bytes
    this.#decoder = new TextDecoder(kind.encoding === 'windows-1252' ? 'windows-1252' : 'utf-8', { ignoreBOM: true })
  }

  take(chunk: Buffer): void {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(newline, from)
      const isWhole = end !== -1
      this.#add(chunk.subarray(from, isWhole ? end : chunk.length), isWhole)
      if (!isWhole) return
      this.#endLine()
      from = end + 1
    }
  }

  end(isCutShort: boolean): Page {
    if (this.#length > 0) this.#endLine()
    const total = this.#number - 1
    return {
      lines: this.#lines,
      kind: this.#kind,
      more: Math.max(0, total - (this.#wanted.offset - 1) - this.#lines.length),
      atLeast: isCutShort,
      total,
      isDamaged: this.#isDamaged,
      hasCarriageReturns: this.#hasCarriageReturns,
    }
  }

  get #isWanted(): boolean {
    return this.#number >= this.#wanted.offset && !this.#isFull
  }

  #add(bytes: Buffer, isWhole: boolean): void {
    this.#length += bytes.length
    if (this.#number < this.#wanted.offset) return
    const room = this.#isFull ? 0 : this.#wanted.lineBytes - this.#keptBytes
    const wanted = bytes.length > room ? bytes.subarray(0, room) : bytes
    // Copied, since the chunk's buffer is reused before it is decoded.
    const kept = isWhole ? wanted : Buffer.from(wanted)
    if (kept.length > 0) this.#kept.push(kept)
    this.#keptBytes += kept.length
    this.passed += bytes.length - kept.length
  }

  #endLine(): void {
    if (this.#isWanted) this.#keep()
    this.#number++
    this.#length = 0
    this.#kept = []
    this.#keptBytes = 0
  }

  #keep(): void {
    const text = this.#decoded()
    const cost = Buffer.byteLength(text) + `${this.#number}\t\n`.length
    // Always include the first line, so that reading on makes progress.
    if (cost > this.#left && this.#lines.length > 0) {
      this.#isFull = true
      return
    }
    this.#left -= cost
    this.#lines.push(text)
    this.#isFull = this.#lines.length >= this.#wanted.lines
  }

  #decoded(): string {
    const isCut = this.#length > this.#keptBytes
    // Streaming holds back a character that was cut, instead of replacing it.
    const text = this.#decoder.decode(this.#kept.length === 1 ? this.#kept[0] : Buffer.concat(this.#kept), {
      stream: isCut,
    })
    if (isCut) this.#decoder.decode()
    if (text.includes('\ufffd')) this.#isDamaged = true
    if (isCut) return `${text}… [line cut: ${this.#length - this.#keptBytes} more bytes]`
    if (!text.endsWith('\r')) return text
    this.#hasCarriageReturns = true
    return text.slice(0, -1)
  }
}
