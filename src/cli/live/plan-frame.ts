import { type Screen, width } from '../terminal/screen.ts'

/** Lines that are redrawn in place: only the changed ones, in a single write. */
export class Frame {
  readonly #screen: Screen
  readonly #output: NodeJS.WritableStream
  readonly #resized = () => this.#draw(this.#lines, true)
  #lines: readonly string[] = []
  #columns: number

  constructor(screen: Screen, output: NodeJS.WritableStream) {
    this.#screen = screen
    this.#output = output
    this.#columns = screen.columns
    output.on('resize', this.#resized)
  }

  show(lines: readonly string[]): void {
    this.#draw(lines, this.#screen.columns !== this.#columns)
  }

  /** Leaves the last frame on the screen, with the cursor below it. */
  close(): void {
    this.#output.off('resize', this.#resized)
    // Erases the ^C that the terminal echoed.
    this.#output.write('\r\u001b[K')
  }

  #draw(all: readonly string[], isForced: boolean): void {
    const { columns, rows } = this.#screen
    // Lines that scrolled off the top cannot be redrawn.
    const lines = all.slice(-Math.max(1, rows - 1))
    const before = this.#lines
    const isMoved = isForced || lines.length < before.length
    const text = isMoved
      ? `\r${up(rowsOf(before, columns))}\u001b[J${lines.map((line) => `${line}\n`).join('')}`
      : changes(before, lines, columns)
    this.#lines = lines
    this.#columns = columns
    if (text !== '') this.#output.write(text)
  }
}

/** Escape sequences from one frame to the next, which has at least as many lines. The cursor starts and ends below. */
function changes(before: readonly string[], lines: readonly string[], columns: number): string {
  let row = before.length
  let text = ''
  lines.forEach((line, at) => {
    if (line === before[at]) return
    text += at < row ? `\r${up(row - at)}` : down(at - row)
    // After a full row the cursor is on the last character, which would be erased.
    text += `${line}${width(line) < columns ? '\u001b[K' : ''}\r\n`
    row = at + 1
  })
  return text === '' ? '' : text + down(lines.length - row)
}

/** Rows these lines take in a window that may be narrower by now. */
function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(width(line) / columns)), 0)
}

function up(rows: number): string {
  return rows > 0 ? `\u001b[${rows}A` : ''
}

function down(rows: number): string {
  return rows > 0 ? `\u001b[${rows}B` : ''
}
