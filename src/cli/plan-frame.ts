import { type Screen, width } from './screen.ts'

/** Lines that are drawn again and again in one place: only those that changed, each time in a single stroke. */
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

  /** What was shown last stays; the cursor, which was never hidden, stands below it. */
  close(): void {
    this.#output.off('resize', this.#resized)
    // The terminal has written ^C there if that is how we came here.
    this.#output.write('\r\u001b[K')
  }

  #draw(all: readonly string[], anew: boolean): void {
    const { columns, rows } = this.#screen
    // What has left the screen at the top cannot be drawn again.
    const lines = all.slice(-Math.max(1, rows - 1))
    const before = this.#lines
    const isMoved = anew || lines.length < before.length
    const text = isMoved
      ? `\r${up(rowsOf(before, columns))}\u001b[J${lines.map((line) => `${line}\n`).join('')}`
      : changes(before, lines, columns)
    this.#lines = lines
    this.#columns = columns
    if (text !== '') this.#output.write(text)
  }
}

/** The strokes from one picture to the next, which has at least as many lines. The cursor begins and ends below. */
function changes(before: readonly string[], lines: readonly string[], columns: number): string {
  let row = before.length
  let text = ''
  lines.forEach((line, at) => {
    if (line === before[at]) return
    text += at < row ? `\r${up(row - at)}` : down(at - row)
    // A full row leaves the cursor on its last letter, which would be erased.
    text += `${line}${width(line) < columns ? '\u001b[K' : ''}\r\n`
    row = at + 1
  })
  return text === '' ? '' : text + down(lines.length - row)
}

/** How many rows a window that may have become narrower gives these lines. */
function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(width(line) / columns)), 0)
}

function up(rows: number): string {
  return rows > 0 ? `\u001b[${rows}A` : ''
}

function down(rows: number): string {
  return rows > 0 ? `\u001b[${rows}B` : ''
}
