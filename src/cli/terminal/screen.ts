import stringWidth from 'string-width'

/** Output of a command: its size and abilities. */
export interface Screen {
  readonly columns: number
  readonly rows: number
  /** A terminal that can be redrawn. */
  isTerminal: boolean
  /** False when piped or with NO_COLOR. */
  color: boolean
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

const codes: Record<Style, [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
}

export function paint(screen: Screen, style: Style, text: string): string {
  const [on, off] = codes[style]
  return screen.color && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text
}

/**
 * Text of unknown origin made safe to print: control characters, escape sequences and characters that change the
 * reading direction are shown instead of obeyed. Line breaks stay where lines are welcome.
 */
export function printable(text: string, { lines = false } = {}): string {
  return text.replace(hidden, (character) =>
    lines && (character === '\n' || character === '\t') ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

// C0, C1, bidirectional controls, and invisible characters that could hide a difference.
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is its purpose
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu

/** Cuts to a number of columns, with an ellipsis. */
export function truncateToWidth(text: string, columns: number): string {
  if (width(text) <= columns) return text
  const kept: Cell[] = []
  let used = 0
  for (const cell of cellsOf(text)) {
    used += cell.columns
    if (used > columns - 1) break
    kept.push(cell)
  }
  return `${renderCells(kept)}…`
}

/**
 * Wraps text into rows, as a terminal would or between words. Each row carries its own colours. `hang` starts every row of a
 * line but the first.
 */
export function wrapText(text: string, columns: number, { words = false, hang = '' } = {}): string[] {
  return text.split('\n').flatMap((line) => {
    const rows: Cell[][] = [[]]
    let used = 0
    for (const cell of cellsOf(line)) {
      let row = rows.at(-1) as Cell[]
      if (used + cell.columns > columns) {
        const from = words ? row.findLastIndex(({ text }) => text === ' ') + 1 : 0
        const rest = from > hang.length && from < row.length ? row.splice(from) : []
        if (words && cell.text === ' ' && rest.length === 0) continue
        if (words && row.at(-1)?.text === ' ') row.pop()
        row = [...hang].map((text) => ({ text, columns: 1, open: [] }))
        row.push(...rest)
        rows.push(row)
        used = row.reduce((sum, { columns }) => sum + columns, 0)
      }
      row.push(cell)
      used += cell.columns
    }
    return rows.map(renderCells)
  })
}

/** A grapheme, its width, and its colours. */
interface Cell {
  text: string
  columns: number
  open: readonly number[]
}

function cellsOf(line: string): Cell[] {
  let open: readonly number[] = []
  return line.split(ownColours).flatMap((part, at): Cell[] => {
    if (at % 2 === 1) {
      const code = Number(part)
      open = offOf(code) === undefined ? open.filter((each) => offOf(each) !== code) : [...open, code]
      return []
    }
    if (isPlain(part)) return Array.from(part, (text) => ({ text, columns: 1, open }))
    return Array.from(graphemesOf(part), ({ segment }) => ({
      text: segment,
      columns: graphemeWidth(segment),
      open,
    }))
  })
}

function renderCells(row: Cell[]): string {
  let open: readonly number[] = []
  let text = ''
  const turn = (next: readonly number[]) => {
    if (next === open) return
    text += [...open.map(offOf), ...next].map((code) => `\u001b[${code}m`).join('')
    open = next
  }
  for (const cell of row) {
    turn(cell.open)
    text += cell.text
  }
  if (open.length > 0) turn([])
  return text
}

function offOf(on: number): number | undefined {
  return Object.values(codes).find(([code]) => code === on)?.[1]
}

/** Width of a text in terminal columns. */
export function width(text: string): number {
  return isPlain(text) ? text.length : cellsOf(text).reduce((sum, { columns }) => sum + columns, 0)
}

/** Made when it is needed: to make one reads the tables of all languages. */
let segmenter: Intl.Segmenter | undefined

function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

/** Width of a grapheme. Control characters count as one: untrusted text has none left when it is printed. */
function graphemeWidth(grapheme: string): number {
  if (grapheme.length > 1) return stringWidth(grapheme)
  const known = grapheme < '\u0080' || isPlain(grapheme) ? 1 : (letterWidths.get(grapheme) ?? stringWidth(grapheme))
  letterWidths.set(grapheme, known)
  return known
}

/** Fast path: letters of Europe, punctuation, arrows and lines of boxes have one column per character. */
function isPlain(text: string): boolean {
  return /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2500-\u257f]*$/.test(text)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours take no room
const ownColours = /\u001b\[(\d+)m/
/** Cache of widths of single UTF-16 units; bounded by 65,536 entries. */
const letterWidths = new Map<string, number>()

/** Default and min width of the column that shrinks. */
const [defaultWidth, minWidth] = [8, 4]

/** Rows in aligned columns that fit the screen: column `grows` shrinks. */
export function table(screen: Screen, rows: string[][], grows: number): string {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(0, ...rows.map((row) => width(row[column] ?? ''))),
  )
  const others = widths.reduce((sum, each, column) => sum + (column === grows ? 0 : each + 2), 0)
  widths[grows] = Math.max(minWidth, Math.min(Math.max(defaultWidth, widths[grows] ?? 0), screen.columns - others))
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const shown = truncateToWidth(cell, widths[column] ?? 0)
          return column === columns - 1 ? shown : shown + ' '.repeat(Math.max(0, (widths[column] ?? 0) - width(shown)))
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Relative time, and a date after a month. */
export function formatAge(iso: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1000))
  if (seconds < 60) return `${seconds}s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ago`
  if (seconds < 86_400 * 30) return `${Math.floor(seconds / 86_400)}d ago`
  return iso.slice(0, 10)
}
