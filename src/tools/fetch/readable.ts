import { type HtmlReader, readHtml } from './html-tokens.ts'
import { TextWriter } from './text-writer.ts'

// Far more than is shown; keeps a page of many short links from growing to gigabytes when each URL is written out.
const maxWritten = 2_000_000
const maxLinkLength = 1000
const maxTitleLength = 300

/**
 * Converts HTML to plain markdown: title, headings, paragraphs, lists, tables by rows, code and links. Invisible elements
 * are left out. Accepts any text; `isCut` if it was too long.
 */
export function readableText(html: string, url: string): { text: string; isCut: boolean } {
  const page = new ParsedPage(url)
  readHtml(html, page)
  const title = page.title === '' ? [] : [`Title: ${page.title}`]
  return { text: [...title, page.writer.text()].filter(Boolean).join('\n\n'), isCut: page.isFull }
}

const voids = new Set(
  'area base br col embed hr img input link meta param source track wbr basefont bgsound frame keygen'.split(' '),
)
const dropped = new Set(
  'script style noscript template svg iframe noembed noframes object canvas audio video datalist'.split(' '),
)
const paragraphs = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol dl pre table blockquote figure article section main header footer nav aside form'.split(
    ' ',
  ),
)
const lines = new Set(
  'div li dt dd tr caption figcaption address details summary fieldset legend option center body html xmp'.split(' '),
)
/** Elements that end implicitly where one of these begins. */
const endedBy = new Map<string, Set<string>>(
  Object.entries({
    p: new Set([...paragraphs, 'div', 'address', 'hr', 'li', 'dt', 'dd']),
    li: new Set(['li']),
    dt: new Set(['dt', 'dd']),
    dd: new Set(['dt', 'dd']),
    td: new Set(['td', 'th', 'tr', 'tbody', 'tfoot']),
    th: new Set(['td', 'th', 'tr', 'tbody', 'tfoot']),
    tr: new Set(['tr', 'tbody', 'tfoot']),
    option: new Set(['option', 'optgroup']),
  }),
)

interface Open {
  name: string
  /** Undoes the effect of the start tag on the writer. */
  end?: () => void
  isHidden: boolean
}

/** State of the conversion. */
class ParsedPage implements HtmlReader {
  readonly writer = new TextWriter(maxWritten)
  title = ''
  #base: string
  #hasBase = false
  readonly #open: Open[] = []
  readonly #openCounts = new Map<string, number>()
  /** Number of open elements that hide their content, keep it verbatim, or keep it on one line. */
  #hidden = 0
  #verbatim = 0
  #inline = 0
  /** The open table cells, innermost last, and the number of cells in each open row. */
  readonly #cells: { hasText: boolean; isBroken: boolean }[] = []
  readonly #rows: number[] = []
  #titles: string[] | undefined
  /** The open link; its text may not have begun yet. */
  #link: { url: string; isBegun: boolean } | undefined
  readonly #lists: { next: number | undefined }[] = []

  constructor(url: string) {
    this.#base = url
  }

  get isFull(): boolean {
    return this.writer.isFull
  }

  text(text: string): void {
    if (this.#titles) this.#titles.push(text)
    if (this.#titles || this.#hidden > 0) return
    this.#fillCell(text)
    if (this.#link && !this.#link.isBegun && /[^\s\u00a0]/.test(text)) {
      if (/^[\s\u00a0]/.test(text)) this.writer.space()
      this.writer.mark('[')
      this.#link.isBegun = true
      this.writer.words(text.trimStart())
    } else if (this.#verbatim > 0 && this.#inline === 0) this.writer.verbatim(text)
    else this.writer.words(text)
  }

  /** A paragraph in a cell breaks the row only if more text follows in that cell. */
  #fillCell(text: string): void {
    const cell = this.#cells.at(-1)
    if (!cell || !/[^\s\u00a0]/.test(text)) return
    if (cell.isBroken) this.writer.break(true)
    cell.isBroken = false
    cell.hasText = true
  }

  start(name: string, attributes: ReadonlyMap<string, string>): void {
    this.#endImplied(name)
    const isHidden = dropped.has(name) || hides(attributes)
    if (voids.has(name)) {
      if (this.#hidden === 0 && !isHidden) this.#single(name, attributes)
      return
    }
    const entry: Open = { name, isHidden }
    this.#open.push(entry)
    this.#openCounts.set(name, (this.#openCounts.get(name) ?? 0) + 1)
    if (isHidden) this.#hidden++
    if (this.#hidden > 0) return
    this.#break(name)
    const end = this.#enter(name, attributes)
    if (end) entry.end = end
  }

  end(name: string): void {
    if (name === 'br') this.#single(name, new Map())
    if (!this.#openCounts.get(name)) return
    while (this.#leave() !== name);
  }

  #endImplied(next: string): void {
    for (let last = this.#open.at(-1); last && endedBy.get(last.name)?.has(next); last = this.#open.at(-1))
      this.#leave()
  }

  /** Closes the innermost element. */
  #leave(): string | undefined {
    const last = this.#open.pop()
    if (!last) return undefined
    this.#openCounts.set(last.name, (this.#openCounts.get(last.name) ?? 1) - 1)
    if (this.#hidden === 0) {
      last.end?.()
      this.#break(last.name)
    }
    if (last.isHidden) this.#hidden--
    return last.name
  }

  #break(name: string): void {
    const isParagraph = paragraphs.has(name)
    const cell = this.#cells.at(-1)
    if (name === 'tr') this.writer.endRow()
    else if (!isParagraph && !lines.has(name)) return
    else if (this.#inline > 0 || (cell && !isParagraph)) this.writer.space()
    else if (cell) cell.isBroken = cell.hasText
    else this.writer.break(isParagraph && this.#lists.length === 0)
  }

  #single(name: string, attributes: ReadonlyMap<string, string>): void {
    if (name === 'base' && !this.#hasBase) {
      this.#base = this.#absolute(attributes.get('href') ?? '') ?? this.#base
      this.#hasBase = true
    }
    if (this.#hidden > 0) return
    if (name === 'br') this.#break('div')
    if (name === 'hr') {
      this.writer.break(true)
      this.writer.mark('---')
      this.writer.break(true)
    }
    const alt = name === 'img' ? (attributes.get('alt') ?? '').trim() : ''
    if (alt !== '') this.text(`[image: ${alt}]`)
  }

  /** Applies an element's effect on the writer; returns the function that undoes it. */
  #enter(name: string, attributes: ReadonlyMap<string, string>): (() => void) | undefined {
    const { writer } = this
    switch (name) {
      case 'title':
        this.#titles = []
        return () => {
          this.title ||= (this.#titles ?? []).join('').replace(/\s+/g, ' ').trim().slice(0, maxTitleLength)
          this.#titles = undefined
        }
      case 'h1':
      case 'h2':
      case 'h3':
      case 'h4':
      case 'h5':
      case 'h6':
        if (this.#inline > 0) return undefined
        writer.begin(`${'#'.repeat(Number(name[1]))} `)
        return this.#onOneLine(() => writer.begin(''))
      case 'a':
        return this.#enterLink(attributes.get('href') ?? '')
      case 'ul':
      case 'ol':
        this.#lists.push({ next: name === 'ol' ? 1 : undefined })
        if (this.#lists.length > 1) writer.indent('  ')
        return () => {
          if (this.#lists.length > 1) writer.outdent()
          this.#lists.pop()
        }
      case 'li':
        return this.#enterItem()
      case 'td':
      case 'th':
        return this.#enterCell()
      case 'tr':
        this.#rows.push(0)
        return () => {
          this.#rows.pop()
        }
      case 'blockquote':
        if (this.#inline > 0) return undefined
        writer.quote(1)
        return () => writer.quote(-1)
      case 'pre':
        return this.#enterCode()
      case 'code':
      case 'kbd':
      case 'samp':
        if (this.#verbatim + this.#inline > 0) return undefined
        writer.mark('`')
        return () => writer.close('`')
      default:
        return undefined
    }
  }

  #enterCell(): () => void {
    const number = this.#rows.pop() ?? 0
    this.#rows.push(number + 1)
    if (number > 0) this.writer.words(' | ')
    this.#cells.push({ hasText: false, isBroken: false })
    return () => {
      this.#cells.pop()
    }
  }

  #enterItem(): (() => void) | undefined {
    const list = this.#lists.at(-1)
    if (this.#inline + this.#cells.length > 0) return undefined
    this.writer.begin(list?.next === undefined ? '- ' : `${list.next++}. `)
    return () => this.writer.begin('')
  }

  #enterCode(): (() => void) | undefined {
    if (this.#inline > 0) return undefined
    const { writer } = this
    writer.mark('```')
    writer.break()
    this.#verbatim++
    return () => {
      this.#verbatim--
      writer.break()
      writer.mark('```')
    }
  }

  #enterLink(href: string): (() => void) | undefined {
    const url = this.#link || this.#verbatim > 0 || /^(#|$)/.test(href) ? undefined : this.#absolute(href)
    if (url === undefined || url.length > maxLinkLength) return undefined
    const link = { url: url.replace(/[()]/g, (sign) => (sign === '(' ? '%28' : '%29')), isBegun: false }
    this.#link = link
    return this.#onOneLine(() => {
      this.#link = undefined
      if (link.isBegun) this.writer.close(`](${link.url})`)
    })
  }

  #onOneLine(end: () => void): () => void {
    this.#inline++
    return () => {
      this.#inline--
      end()
    }
  }

  #absolute(href: string): string | undefined {
    if (href.length > maxLinkLength) return undefined
    const url = URL.parse(href, this.#base)
    return url && /^https?:$/.test(url.protocol) ? url.href : undefined
  }
}

const unseen = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|font-size)\s*:\s*0(?![.\d]*[1-9]))/i

/** Whether an element's attributes hide it. Style sheets are not read. */
function hides(attributes: ReadonlyMap<string, string>): boolean {
  const style = attributes.get('style')
  return attributes.has('hidden') || (style !== undefined && unseen.test(style.slice(0, 2000)))
}
