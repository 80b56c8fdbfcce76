import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2'

/** Receives the tokens of a page in order. Comments and declarations are left out, character references resolved. */
export interface HtmlReader {
  /** The whole text between two tags. */
  text(text: string): void
  start(name: string, attributes: ReadonlyMap<string, string>): void
  end(name: string): void
  /** Reading stops once this is true. */
  readonly isFull: boolean
}

/**
 * Tokenizes a page in one pass and linear time. Uses only the library's tokenizer: its parser searches all open elements
 * for each unmatched end tag. An unterminated comment or tag swallows the rest, as in a browser.
 */
export function readHtml(html: string, reader: HtmlReader): void {
  const tokens = new HtmlTokens(html, reader)
  const tokenizer = new Tokenizer({}, tokens)
  tokens.stop = () => tokenizer.pause()
  tokenizer.write(html)
  tokenizer.end()
}

/** Builds whole texts and tags from the tokenizer's positions. */
class HtmlTokens implements TokenizerCallbacks {
  stop: () => void = () => undefined
  readonly #html: string
  readonly #reader: HtmlReader
  #text = ''
  /** Pending slice of the text: adjacent slices are merged. */
  #piece = { from: 0, to: 0 }
  #name = ''
  #attributes = new Map<string, string>()
  #attribute = ''
  #value = ''

  constructor(html: string, reader: HtmlReader) {
    this.#html = html
    this.#reader = reader
  }

  ontext(from: number, to: number): void {
    if (from !== this.#piece.to) this.#addPiece()
    if (this.#piece.from === this.#piece.to) this.#piece.from = from
    this.#piece.to = to
  }

  ontextentity(code: number): void {
    this.#addPiece()
    this.#text += String.fromCodePoint(code)
  }

  onopentagname(from: number, to: number): void {
    this.#name = this.#html.slice(from, to).toLowerCase()
    this.#attributes = new Map()
  }

  onattribname(from: number, to: number): void {
    this.#attribute = this.#html.slice(from, to).toLowerCase()
    this.#value = ''
  }

  onattribdata(from: number, to: number): void {
    this.#value += this.#html.slice(from, to)
  }

  onattribentity(code: number): void {
    this.#value += String.fromCodePoint(code)
  }

  onattribend(): void {
    if (!this.#attributes.has(this.#attribute)) this.#attributes.set(this.#attribute, this.#value)
  }

  onopentagend(): void {
    this.#tell(() => this.#reader.start(this.#name, this.#attributes))
  }

  onselfclosingtag(): void {
    this.onopentagend()
  }

  onclosetag(from: number, to: number): void {
    this.#tell(() => this.#reader.end(this.#html.slice(from, to).toLowerCase()))
  }

  onend(): void {
    this.#tell(() => undefined)
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}

  #addPiece(): void {
    this.#text += this.#html.slice(this.#piece.from, this.#piece.to)
    this.#piece.from = this.#piece.to
  }

  /** Passes on the text before a tag, then the tag. */
  #tell(tag: () => void): void {
    this.#addPiece()
    if (this.#text !== '') this.#reader.text(this.#text)
    this.#text = ''
    if (!this.#reader.isFull) tag()
    if (this.#reader.isFull) this.stop()
  }
}
