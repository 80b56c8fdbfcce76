import { escapeInvisible } from '../../domain/text/visible.ts'
import { paint, type Screen } from '../terminal/screen.ts'

const [first, wrapped] = ['  │ ', '  ┆ ']
const tabStop = 8

/**
 * Text from a model or a file, in rows behind a gutter, so that no line of it can pass for Heddle's own. Rows are made on
 * demand: the first page of a text of many megabytes costs no more than that of a short one.
 */
export class ForeignText {
  readonly #screen: Screen
  readonly #text: string
  #at = 0
  /** First character of the current line: wrapped rows keep its diff colour. */
  #sign = ''

  constructor(screen: Screen, text: string) {
    this.#screen = screen
    this.#text = escapeInvisible(text).replace(/\n+$/, '')
  }

  /** Whether all rows were returned. */
  get isSeen(): boolean {
    return this.#at > this.#text.length
  }

  /** Lines not returned yet, including the rest of a wrapped one. */
  get linesLeft(): number {
    if (this.isSeen) return 0
    let count = 1
    for (let at = this.#text.indexOf('\n', this.#at); at !== -1; at = this.#text.indexOf('\n', at + 1)) count++
    return count
  }

  /** The next rows. */
  rows(max: number): string[] {
    const rows: string[] = []
    while (rows.length < max && !this.isSeen) rows.push(this.#row())
    return rows
  }

  #row(): string {
    const text = this.#text
    const begin = this.#at
    const isNew = begin === 0 || text[begin - 1] === '\n'
    if (isNew) this.#sign = text[begin] ?? ''
    const room = this.#screen.columns - first.length
    let [shown, used] = ['', 0]
    let at = begin
    while (at < text.length && text[at] !== '\n') {
      const letter = String.fromCodePoint(text.codePointAt(at) ?? 0)
      const columns = letter === '\t' ? tabStop - (used % tabStop) : columnsOf(letter)
      if (used > 0 && used + columns > room) break
      shown += letter === '\t' ? ' '.repeat(Math.min(columns, room)) : letter
      used += columns
      at += letter.length
    }
    // The line break, or the end of the text, is consumed with the last row.
    this.#at = at === text.length || text[at] === '\n' ? at + 1 : at
    const gutter = paint(this.#screen, 'dim', isNew ? first : wrapped)
    return `${gutter}${this.#coloured(shown)}`.trimEnd()
  }

  /** Colours a row as in a diff. */
  #coloured(row: string): string {
    if (this.#sign === '+') return paint(this.#screen, 'green', row)
    return this.#sign === '-' ? paint(this.#screen, 'red', row) : row
  }
}

/**
 * Upper bound of a character's width: a row that is too long would wrap without its gutter. Non-ASCII characters may take
 * two columns, whatever this machine's tables say.
 */
function columnsOf(letter: string): number {
  return letter >= ' ' && letter <= '~' ? 1 : 2
}
