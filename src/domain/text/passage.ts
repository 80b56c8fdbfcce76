/** Short enough to show a passage whole: the matching words are never cut off. */
const maxLength = 500
const maxHeadingLength = 120
/** Max passages of one file; only the beginning of a longer one is indexed. */
const maxPassages = 5000
const maxLines = 100_000

/** A few lines of a file, searched and cited on their own. */
export interface Passage {
  /** First line, counted from 1. */
  line: number
  /** Headings above it, outermost first; null if there are none. */
  heading: string | null
  text: string
}

/** A passage under its heading, on one line. */
export function passageLine({ heading, text }: Pick<Passage, 'heading' | 'text'>): string {
  const plain = text.replace(/\s+/g, ' ')
  return heading === null ? plain : `${heading}: ${plain}`
}

/**
 * Splits a markdown text by headings and paragraphs; long ones are cut at the end of a line, a sentence or a word. A
 * heading belongs to all passages below it, and is a passage of its own if there are none.
 */
export function passagesIn(text: string): Passage[] {
  const outline = new Outline()
  const passages: Passage[] = []
  let paragraph: Line[] = []
  const endParagraph = () => {
    if (paragraph.length === 0) return
    const { heading } = outline
    const pieces = piecesOf(paragraph)
    if (pieces.length > 0) outline.isBare = false
    passages.push(...pieces.map((piece) => ({ ...piece, heading })))
    paragraph = []
  }
  let fence: string | undefined
  for (const line of linesOf(text)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line.text)?.[1]
    const heading = fence === undefined ? headingIn(line) : undefined
    if (heading) {
      endParagraph()
      passages.push(...outline.begin(heading))
    } else if (line.text === '' && fence === undefined) endParagraph()
    else paragraph.push(line)
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence)) fence = undefined
    if (passages.length >= maxPassages) return passages.slice(0, maxPassages)
  }
  endParagraph()
  return [...passages, ...outline.begin()]
}

interface Line {
  line: number
  text: string
}

interface Heading extends Line {
  level: number
}

/** The headings above the current line. */
class Outline {
  #open: Heading[] = []
  /** The innermost heading has no text yet. */
  isBare = false

  get heading(): string | null {
    const trail = this.#open.map(({ text }) => text).join(' › ')
    return trail === '' ? null : beginningOf(trail, maxHeadingLength)
  }

  /** Starts the next heading, or ends the text. Returns the previous heading if no text followed it. */
  begin(next?: Heading): Passage[] {
    const before = this.#open.at(-1)
    const isLeft = this.isBare && before && (next === undefined || next.level <= before.level)
    const outer = this.#open.slice(0, -1).map(({ text }) => text)
    this.#open = [...this.#open.filter(({ level }) => next && level < next.level), ...(next ? [next] : [])]
    this.isBare = next !== undefined
    if (!isLeft) return []
    const heading = outer.length > 0 ? beginningOf(outer.join(' › '), maxHeadingLength) : null
    return piecesOf([before]).map((piece) => ({ ...piece, heading }))
  }
}

function headingIn({ line, text }: Line): Heading | undefined {
  const [, marks = '', title = ''] = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$/.exec(text.slice(0, maxLength)) ?? []
  return printableText.test(title) ? { line, level: marks.length, text: title } : undefined
}

function* linesOf(text: string): Iterable<Line> {
  const whole = text.replace(/\r\n?/g, '\n')
  for (let line = 1, from = 0; line <= maxLines && from <= whole.length; line++) {
    const at = whole.indexOf('\n', from)
    const end = at === -1 ? whole.length : at
    yield { line, text: whole.slice(from, end).trimEnd() }
    from = end + 1
  }
}

const printableText = /[\p{L}\p{N}\p{Extended_Pictographic}]/u

/** Joins lines to pieces within the max length; leaves out purely decorative ones. */
function piecesOf(lines: readonly Line[]): Line[] {
  const pieces: Line[] = []
  for (const { line, text } of lines.flatMap(cutLine)) {
    const last = pieces.at(-1)
    if (last && last.text.length + 1 + text.length <= maxLength) last.text += `\n${text}`
    else pieces.push({ line, text })
  }
  return pieces.filter(({ text }) => printableText.test(text)).map(({ line, text }) => ({ line, text: text.trim() }))
}

/** Cuts a line into parts within the max length: after a sentence, else after a word, else anywhere. */
function cutLine({ line, text }: Line): Line[] {
  const parts: Line[] = []
  let rest = text
  while (rest.length > maxLength) {
    const room = rest.slice(0, maxLength)
    const sentence = Math.max(...['. ', '! ', '? ', '。'].map((mark) => room.lastIndexOf(mark))) + 1
    const at =
      [sentence, room.lastIndexOf(' ')].find((place) => place > maxLength / 2) ?? beginningOf(rest, maxLength).length
    parts.push({ line, text: rest.slice(0, at) })
    rest = rest.slice(at).trimStart()
  }
  return [...parts, { line, text: rest }]
}

/** Never cuts a surrogate pair in half. */
function beginningOf(text: string, length: number): string {
  const end = /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length
  return text.slice(0, end)
}
