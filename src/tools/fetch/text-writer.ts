const deepest = 8

/** Writes a page as lines of plain markdown: spaces are joined, breaks are kept apart from what they separate. */
export class TextWriter {
  readonly #most: number
  readonly #lines: string[] = []
  #length = 0
  /** The line that is being written, and what comes before its next word. */
  #line: string[] = []
  #space = ''
  /** Whether an empty line comes first, and how deep in quotes it lies. */
  #blank: number | undefined
  #marker = ''
  #indents: string[] = []
  #quotes = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Whether enough was written that nobody reads on. */
  get isFull(): boolean {
    return this.#length > this.#most
  }

  /** Words, between which any space is one space. */
  words(text: string): void {
    const words = text.split(/[\s\u00a0]+/)
    words.forEach((word, at) => {
      if (at > 0) this.space()
      if (word !== '') this.#write(word)
    })
  }

  /** As it stands there, line by line. */
  verbatim(text: string): void {
    text.split('\n').forEach((line, at) => {
      if (at > 0) this.#endLine(true)
      if (line !== '') this.#write(line)
    })
  }

  /** What belongs to the next word, such as the `[` of a link. */
  mark(text: string): void {
    this.#write(text)
  }

  /** What belongs to the word before, such as the end of a link: the space before it comes after it. */
  close(text: string): void {
    const space = this.#space
    this.#space = ''
    this.#write(text)
    this.#space = space
  }

  space(): void {
    if (this.#line.length > 0) this.#space = ' '
  }

  /** Ends the line; with `paragraph`, an empty one follows. */
  break(paragraph = false): void {
    this.#endLine(false)
    if (paragraph) this.#blank = Math.min(this.#blank ?? this.#quotes, this.#quotes)
  }

  /** Ends a row of cells; one in which nothing stands is forgotten. */
  endRow(): void {
    if (/^[\s|]*$/.test(this.#line.join(''))) this.#line = []
    this.break()
  }

  /** What the next line begins with, such as `- `. */
  begin(marker: string): void {
    this.break()
    this.#marker = marker
  }

  indent(by: string): void {
    this.#indents.push(by)
  }

  outdent(): void {
    this.#indents.pop()
  }

  quote(by: 1 | -1): void {
    this.break(true)
    this.#quotes += by
    this.break(true)
  }

  text(): string {
    this.#endLine(false)
    return this.#lines.join('\n').trim()
  }

  #write(text: string): void {
    if (this.#line.length === 0) this.#startLine()
    const piece = this.#space + text
    this.#space = ''
    this.#line.push(piece)
    this.#length += piece.length
  }

  #startLine(): void {
    if (this.#blank !== undefined && this.#lines.length > 0) {
      const blank = quoted(this.#blank).trimEnd()
      this.#keep(blank)
      this.#length += blank.length
    }
    this.#blank = undefined
    const start = quoted(this.#quotes) + this.#indents.slice(0, deepest).join('') + this.#marker
    this.#marker = ''
    this.#line.push(start)
    this.#length += start.length
  }

  #endLine(even: boolean): void {
    this.#space = ''
    if (this.#line.length === 0 && !even) return
    this.#keep(this.#line.join(''))
    this.#line = []
  }

  #keep(line: string): void {
    this.#lines.push(line)
    this.#length++
  }
}

function quoted(depth: number): string {
  return '> '.repeat(Math.min(depth, deepest))
}
