import type { LiveDelta } from '../../gateway/api.ts'
import { Markdown } from '../terminal/markdown.ts'
import { paint, printable, type Screen, wrapText } from '../terminal/screen.ts'

const thinkingRows = 3
const thinkingKept = 2000

/**
 * Streamed text of one run, printed line by line. It is provisional until the answer is stored: printed text that is
 * discarded is marked as such, and nothing is printed twice.
 */
export class StreamedLines {
  readonly #screen: Screen
  readonly #print: (text: string) => void
  #markdown: Markdown
  #call = -1
  #text = ''
  #printed = 0
  #thinking = ''
  /** Text that was stored with tool calls: an equal answer is not printed again. */
  #storedText = ''

  constructor(screen: Screen, print: (text: string) => void) {
    this.#screen = screen
    this.#print = print
    this.#markdown = new Markdown(screen)
  }

  apply(delta: LiveDelta): void {
    if (delta.call !== this.#call) {
      this.finish()
      this.#call = delta.call
    }
    if (delta.kind === 'reset') this.#discard()
    else if (delta.kind === 'thinking') this.#thinking = (this.#thinking + delta.text).slice(-thinkingKept)
    else {
      if (delta.kind === 'whole' && !delta.text.startsWith(this.#text.slice(0, this.#printed))) this.#discard()
      this.#text = delta.kind === 'whole' ? delta.text : this.#text + delta.text
      this.#printWholeLines()
    }
  }

  /** Text that is streamed and not printed yet. */
  get moving(): string {
    const rest = this.#text.slice(this.#printed)
    if (rest.trim() !== '') return this.#markdown.peek(rest).join('\n')
    const thought = printable(this.#thinking.trim(), { lines: true }).replaceAll('\t', '  ')
    if (this.#text !== '' || thought === '') return ''
    const rows = wrapText(thought, this.#screen.columns, { words: true }).slice(-thinkingRows)
    return rows.map((row) => paint(this.#screen, 'dim', row)).join('\n')
  }

  get hasText(): boolean {
    return this.#text !== ''
  }

  /** The text is stored: prints the rest, or all of it if it differs from what was streamed. */
  finish(answer?: string): void {
    const isPrinted = answer !== undefined && this.#text === '' && answer.trim() === this.#storedText.trim()
    if (answer !== undefined) this.#storedText = ''
    else if (this.#text.trim() !== '') this.#storedText = this.#text
    if (!isPrinted) this.#printRest(answer ?? this.#text)
    this.#forget()
  }

  #printRest(durable: string): void {
    const printed = this.#text.slice(0, this.#printed).trimStart()
    const text = durable.trimStart()
    const begins = text.startsWith(printed)
    if (!begins) this.#discard()
    const rest = (begins ? text.slice(printed.length) : text).trimEnd()
    if (rest.trim() !== '') for (const line of this.#trimmed(rest).split('\n')) this.#printLine(line)
  }

  #printWholeLines(): void {
    const last = this.#text.lastIndexOf('\n')
    if (last < this.#printed) return
    const lines = this.#trimmed(this.#text.slice(this.#printed, last)).split('\n')
    // Skips blank lines at the beginning of an answer.
    const isFirst = this.#text.slice(0, this.#printed).trim() === ''
    if (!isFirst || lines.some((line) => line.trim() !== '')) for (const line of lines) this.#printLine(line)
    this.#printed = last + 1
  }

  #trimmed(text: string): string {
    return this.#text.slice(0, this.#printed).trim() === '' ? text.replace(/^(?:[ \t]*\n)+/, '') : text
  }

  #printLine(line: string): void {
    const rows = this.#markdown.line(line)
    if (rows.length > 0) this.#print(rows.join('\n'))
  }

  #discard(): void {
    if (this.#text.slice(0, this.#printed).trim() !== '')
      this.#print(paint(this.#screen, 'dim', '(connection lost; retrying)'))
    this.#forget()
  }

  #forget(): void {
    this.#text = ''
    this.#printed = 0
    this.#thinking = ''
    this.#markdown = new Markdown(this.#screen)
  }
}
