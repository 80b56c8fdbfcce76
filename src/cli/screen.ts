/** Where a command's words go, and how much room they have. */
export interface Screen {
  readonly columns: number
  readonly rows: number
  /** A person looks at it, and what was drawn can be drawn again. */
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

/** Cuts to a number of columns, with a sign that something is missing. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text
  let kept = ''
  for (const { segment } of graphemes.segment(text)) {
    if (width(kept + segment) > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

/**
 * Text in rows of at most so many columns, each of which keeps its own colours: as a terminal would break it, or between
 * words. `hang` begins every row but the first of a line.
 */
export function wrapped(text: string, columns: number, { words = false, hang = '' } = {}): string[] {
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
    return rows.map(drawn)
  })
}

/** What takes a place of its own, and the colours it has there. */
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
    return Array.from(graphemes.segment(part), ({ segment }) => ({ text: segment, columns: taken(segment), open }))
  })
}

function drawn(row: Cell[]): string {
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

/** How many columns a terminal gives this text. */
export function width(text: string): number {
  return cellsOf(text).reduce((sum, { columns }) => sum + columns, 0)
}

function taken(grapheme: string): number {
  return wide.test(grapheme) ? 2 : 1
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours take no room
const ownColours = /\u001b\[(\d+)m/
const graphemes = new Intl.Segmenter()
const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u

/** What a column that gives way has where there is room, and keeps where there is none. */
const [usual, narrowest] = [8, 4]

/** Rows in columns that fit the screen: the column named `grows` gives way. */
export function table(screen: Screen, rows: string[][], grows: number): string {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(0, ...rows.map((row) => width(row[column] ?? ''))),
  )
  const others = widths.reduce((sum, each, column) => sum + (column === grows ? 0 : each + 2), 0)
  widths[grows] = Math.max(narrowest, Math.min(Math.max(usual, widths[grows] ?? 0), screen.columns - others))
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const shown = cut(cell, widths[column] ?? 0)
          return column === columns - 1 ? shown : shown + ' '.repeat(Math.max(0, (widths[column] ?? 0) - width(shown)))
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A moment as people say it when it is near, and as a date when it is not. */
export function ago(iso: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1000))
  if (seconds < 60) return `${seconds}s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ago`
  if (seconds < 86_400 * 30) return `${Math.floor(seconds / 86_400)}d ago`
  return iso.slice(0, 10)
}
