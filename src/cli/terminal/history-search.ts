/** Result of keys during a search. */
type SearchResult = 'searching' | { take: string; keys: string } | 'dropped'

const older = '\u0012'
const deletes = ['\u007f', '\b']
const drops = ['\u0007', '\u0003']

/** Incremental search in the history, newest first: Ctrl-R, as in a shell. */
export class HistorySearch {
  readonly #past: readonly string[]
  #query = ''
  /** Index of the shown line; -1 before the first match. */
  #at = -1
  #hasFailed = false

  constructor(past: readonly string[]) {
    this.#past = past
  }

  get prompt(): string {
    return `(${this.#hasFailed ? 'failed ' : ''}reverse-i-search)\`${this.#query}': `
  }

  get line(): string {
    return this.#past[this.#at] ?? ''
  }

  /** Index of the match in the line. */
  get cursor(): number {
    return Math.max(0, this.line.toLowerCase().indexOf(this.#query.toLowerCase()))
  }

  /** Handles keys. Any other control key ends the search with the shown line and is returned. */
  take(keys: string): SearchResult {
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
    // A longer query can only match from here on; a shorter one starts over.
    const from = query.length > this.#query.length ? Math.max(0, this.#at) : 0
    this.#query = query
    this.#look(from)
  }

  #look(from: number): void {
    const wanted = this.#query.toLowerCase()
    const found =
      wanted === '' ? -1 : this.#past.findIndex((line, at) => at >= from && line.toLowerCase().includes(wanted))
    this.#hasFailed = found === -1 && wanted !== ''
    if (found !== -1) this.#at = found
    else if (wanted === '') this.#at = -1
  }
}
