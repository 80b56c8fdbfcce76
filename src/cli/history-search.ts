/** What a key means while a line is looked for. */
type Outcome = 'searching' | { take: string; keys: string } | 'dropped'

const older = '\u0012'
const deletes = ['\u007f', '\b']
const drops = ['\u0007', '\u0003']

/** Looks for a line that was typed before, the newest first, while its letters are typed: Ctrl-R, as in a shell. */
export class HistorySearch {
  readonly #past: readonly string[]
  #query = ''
  /** Which line is shown; -1 before the first was found. */
  #at = -1
  #isLost = false

  constructor(past: readonly string[]) {
    this.#past = past
  }

  get prompt(): string {
    return `(${this.#isLost ? 'failed ' : ''}reverse-i-search)\`${this.#query}': `
  }

  get line(): string {
    return this.#past[this.#at] ?? ''
  }

  /** Where what was typed stands in the line. */
  get cursor(): number {
    return Math.max(0, this.line.toLowerCase().indexOf(this.#query.toLowerCase()))
  }

  /** Takes keys as they come. A key that means nothing here ends the search with the line and is handed on. */
  take(keys: string): Outcome {
    for (const [place, key] of [...keys].entries()) {
      if (key === older) this.#look(this.#at + 1)
      else if (deletes.includes(key)) this.#type(this.#query.slice(0, -1))
      else if (drops.includes(key) || keys === '\u001b') return 'dropped'
      else if (key < ' ') return { take: this.line, keys: [...keys].slice(place).join('') }
      else this.#type(this.#query + key)
    }
    return 'searching'
  }

  #type(query: string): void {
    // What is longer can only be found from here on; what is shorter begins anew.
    const from = query.length > this.#query.length ? Math.max(0, this.#at) : 0
    this.#query = query
    this.#look(from)
  }

  #look(from: number): void {
    const wanted = this.#query.toLowerCase()
    const found =
      wanted === '' ? -1 : this.#past.findIndex((line, at) => at >= from && line.toLowerCase().includes(wanted))
    this.#isLost = found === -1 && wanted !== ''
    if (found !== -1) this.#at = found
    else if (wanted === '') this.#at = -1
  }
}
