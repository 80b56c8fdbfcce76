import type { Live } from '../gateway/api.ts'
import { Markdown } from './markdown.ts'
import { paint, printable, type Screen, wrapped } from './screen.ts'

const thinkingRows = 3
const thinkingKept = 2000

/**
 * What one run says, printed line by line while it says it. Words are provisional until the durable answer comes: what
 * was printed and turns out to be void is told as such, and nothing is printed twice.
 */
export class SpokenLines {
  readonly #screen: Screen
  readonly #print: (text: string) => void
  #markdown: Markdown
  #call = -1
  #text = ''
  #printed = 0
  #thinking = ''
  /** Words that became durable with calls: if the answer is the same, they have been read. */
  #said = ''

  constructor(screen: Screen, print: (text: string) => void) {
    this.#screen = screen
    this.#print = print
    this.#markdown = new Markdown(screen)
  }

  hear(sign: Live): void {
    if (sign.call !== this.#call) {
      this.finish()
      this.#call = sign.call
    }
    if (sign.kind === 'reset') this.#takeBack()
    else if (sign.kind === 'thinking') this.#thinking = (this.#thinking + sign.text).slice(-thinkingKept)
    else {
      if (sign.kind === 'whole' && !sign.text.startsWith(this.#text.slice(0, this.#printed))) this.#takeBack()
      this.#text = sign.kind === 'whole' ? sign.text : this.#text + sign.text
      this.#printWholeLines()
    }
  }

  /** What is being said and not yet printed. */
  get moving(): string {
    const rest = this.#text.slice(this.#printed)
    if (rest.trim() !== '') return this.#markdown.peek(rest).join('\n')
    const thought = printable(this.#thinking.trim(), { lines: true }).replaceAll('\t', '  ')
    if (this.#text !== '' || thought === '') return ''
    const rows = wrapped(thought, this.#screen.columns, { words: true }).slice(-thinkingRows)
    return rows.map((row) => paint(this.#screen, 'dim', row)).join('\n')
  }

  get hasSpoken(): boolean {
    return this.#text !== ''
  }

  /** The words have become durable: prints what is left of them, or all if they are others than were heard. */
  finish(answer?: string): void {
    const isRead = answer !== undefined && this.#text === '' && answer.trim() === this.#said.trim()
    if (answer !== undefined) this.#said = ''
    else if (this.#text.trim() !== '') this.#said = this.#text
    if (!isRead) this.#printRest(answer ?? this.#text)
    this.#forget()
  }

  #printRest(durable: string): void {
    const heard = this.#text.slice(0, this.#printed).trimStart()
    const said = durable.trimStart()
    const begins = said.startsWith(heard)
    if (!begins) this.#takeBack()
    const rest = (begins ? said.slice(heard.length) : said).trimEnd()
    if (rest.trim() !== '') for (const line of this.#trimmed(rest).split('\n')) this.#printLine(line)
  }

  #printWholeLines(): void {
    const last = this.#text.lastIndexOf('\n')
    if (last < this.#printed) return
    const lines = this.#trimmed(this.#text.slice(this.#printed, last)).split('\n')
    // An answer does not begin with nothing.
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

  #takeBack(): void {
    if (this.#text.slice(0, this.#printed).trim() !== '')
      this.#print(paint(this.#screen, 'dim', '(that was broken off and does not count)'))
    this.#forget()
  }

  #forget(): void {
    this.#text = ''
    this.#printed = 0
    this.#thinking = ''
    this.#markdown = new Markdown(this.#screen)
  }
}
