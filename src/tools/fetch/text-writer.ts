const maxDepth = 8

/** Writes lines of plain markdown; collapses spaces and repeated breaks. */
export class TextWriter {
  readonly #maxLength: number
  readonly #lines: string[] = []
  #length = 0
  /** The current line, and the space before its next word. */
  #line: string[] = []
  #space = ''
  /** Quote depth of a pending empty line; undefined if none is pending. */
  #blank: number | undefined
  #marker = ''
  #indents: string[] = []
  #quotes = 0

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  /** Whether the max length is exceeded. */
  get isFull(): boolean {
    return this.#length > this.#maxLength
  }

  /** Words, with any whitespace between them collapsed. */
  words(text: string): void {
    const words = text.split(/[\s\u00a0]+/)
    words.forEach((word, at) => {
      if (at > 0) this.space()
      if (word !== '') this.#write(word)
    })
  }

  /** Unchanged, line by line. */
  verbatim(text: string): void {
    text.split('\n').forEach((line, at) => {
      if (at > 0) this.#endLine(true)
      if (line !== '') this.#write(line)
    })
  }

  /** A prefix of the next word, such as the `[` of a link. */
  mark(text: string): void {
    this.#write(text)
  }

  /** A suffix of the previous word, such as the end of a link: a pending space moves behind it. */
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

  /** Ends a table row; an empty one is dropped. */
  endRow(): void {
    if (/^[\s|]*$/.test(this.#line.join(''))) this.#line = []
    this.break()
  }

  /** Starts a line with a marker, such as `- `. */
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
    const start = quoted(this.#quotes) + this.#indents.slice(0, maxDepth).join('') + this.#marker
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
  return '> '.repeat(Math.min(depth, maxDepth))
}
