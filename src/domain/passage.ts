/** So long that a run is shown all of it: what made it fit is never behind a cut. */
const longest = 500
const longestHeading = 120
/** Of one file; a longer one is found by its beginning. */
const most = 5000
const mostLines = 100_000

/** A few lines of a file, found and cited by themselves. */
export interface Passage {
  /** Of its beginning, counted from 1. */
  line: number
  /** What it stands under, the outermost heading first; null where there is none. */
  heading: string | null
  text: string
}

/** A passage under its heading, on one line. */
export function passageLine({ heading, text }: Pick<Passage, 'heading' | 'text'>): string {
  const plain = text.replace(/\s+/g, ' ')
  return heading === null ? plain : `${heading}: ${plain}`
}

/**
 * A markdown text cut by its headings and paragraphs; what is too long is cut at the end of a line, a sentence or a
 * word. A heading belongs to all that stands under it, and is a passage of its own where nothing does.
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
    if (passages.length >= most) return passages.slice(0, most)
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

/** The headings that the text is under at the moment. */
class Outline {
  #open: Heading[] = []
  /** Nothing stands under the innermost one yet. */
  isBare = false

  get heading(): string | null {
    const trail = this.#open.map(({ text }) => text).join(' › ')
    return trail === '' ? null : beginningOf(trail, longestHeading)
  }

  /** Answers the heading before, where nothing has come to stand under it; without a next one the text has ended. */
  begin(next?: Heading): Passage[] {
    const before = this.#open.at(-1)
    const isLeft = this.isBare && before && (next === undefined || next.level <= before.level)
    const outer = this.#open.slice(0, -1).map(({ text }) => text)
    this.#open = [...this.#open.filter(({ level }) => next && level < next.level), ...(next ? [next] : [])]
    this.isBare = next !== undefined
    if (!isLeft) return []
    const heading = outer.length > 0 ? beginningOf(outer.join(' › '), longestHeading) : null
    return piecesOf([before]).map((piece) => ({ ...piece, heading }))
  }
}

function headingIn({ line, text }: Line): Heading | undefined {
  const [, marks = '', title = ''] = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$/.exec(text.slice(0, longest)) ?? []
  return saysSomething.test(title) ? { line, level: marks.length, text: title } : undefined
}

function* linesOf(text: string): Iterable<Line> {
  const whole = text.replace(/\r\n?/g, '\n')
  for (let line = 1, from = 0; line <= mostLines && from <= whole.length; line++) {
    const at = whole.indexOf('\n', from)
    const end = at === -1 ? whole.length : at
    yield { line, text: whole.slice(from, end).trimEnd() }
    from = end + 1
  }
}

const saysSomething = /[\p{L}\p{N}\p{Extended_Pictographic}]/u

/** Lines as pieces that are short enough; those that are only ornament are left out. */
function piecesOf(lines: readonly Line[]): Line[] {
  const pieces: Line[] = []
  for (const { line, text } of lines.flatMap(cutLine)) {
    const last = pieces.at(-1)
    if (last && last.text.length + 1 + text.length <= longest) last.text += `\n${text}`
    else pieces.push({ line, text })
  }
  return pieces.filter(({ text }) => saysSomething.test(text)).map(({ line, text }) => ({ line, text: text.trim() }))
}

/** One line in parts that are short enough: behind a sentence, else behind a word, else anywhere. */
function cutLine({ line, text }: Line): Line[] {
  const parts: Line[] = []
  let rest = text
  while (rest.length > longest) {
    const room = rest.slice(0, longest)
    const sentence = Math.max(...['. ', '! ', '? ', '。'].map((mark) => room.lastIndexOf(mark))) + 1
    const at =
      [sentence, room.lastIndexOf(' ')].find((place) => place > longest / 2) ?? beginningOf(rest, longest).length
    parts.push({ line, text: rest.slice(0, at) })
    rest = rest.slice(at).trimStart()
  }
  return [...parts, { line, text: rest }]
}

/** Never half of a character. */
function beginningOf(text: string, length: number): string {
  const end = /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length
  return text.slice(0, end)
}
