import { type Change, type Keyboard, type LineEditor, openLineEditor } from './line-editor.ts'
import { disablePaste, enablePaste } from './paste.ts'
import { type Screen, width, wrapText } from './screen.ts'

/** Live output: lines that stay, and below them text that may still change. */
export interface Pane {
  /** Prints lines that stay, and sets the changing text to `next` in the same write. */
  print(text: string, next?: string): void
  /** Replaces the changing text; '' removes it. */
  show(text: string): void
  /** Shows the prompt where the pane does not draw it itself. */
  ask(): void
  /** A line was typed: the prompt is used up. */
  answered(): void
  /** Hands the terminal to another program and redraws afterwards; lines printed meanwhile wait. */
  lend<T>(use: () => Promise<T>): Promise<T>
  /** Clears the typed line. */
  clearTyped(): void
  /** Removes the changing text and releases the keyboard. */
  close(): void
}

/** Pane for pipes and dumb terminals: lines only, without changing text; with a prompt where a user types. */
export function plainPane(write: (text: string) => void, prompt?: () => string): Pane {
  let isAsking = false
  const endPrompt = () => {
    if (isAsking) write('\n')
    isAsking = false
  }
  return {
    print(text) {
      endPrompt()
      write(`${text}\n`)
    },
    show: () => undefined,
    ask() {
      if (!prompt || isAsking) return
      write(prompt())
      isAsking = true
    },
    answered: () => {
      isAsking = false
    },
    lend: (use) => use(),
    clearTyped: () => undefined,
    close: endPrompt,
  }
}

/** Pane for a terminal: the changing text stays at the bottom, above the typed line if there is a keyboard. */
export function terminalPane(screen: Screen, output: NodeJS.WritableStream, keyboard?: Keyboard): Pane {
  let shown: Bottom = { rows: [''], row: 0, column: 0, columns: screen.columns }
  let text = ''
  let isOpen = true
  /** Lines to print once the terminal is returned. */
  let held: string[] | undefined
  const editor = keyboard && openLineEditor(keyboard, react)
  if (editor) output.write(enablePaste)

  function react(change: Change): void {
    if (change === 'clear') {
      output.write('\u001b[H\u001b[2J')
      shown = { ...shown, row: 0, column: 0 }
    }
    draw(undefined, change !== 'line')
  }

  const resized = () => draw(undefined, true)
  output.on('resize', resized)

  /** Prints lines above the bottom, and redraws the part of the bottom that differs, or all of it. */
  function draw(kept?: string, isForced = false): void {
    if (held) return void (kept !== undefined && held.push(kept))
    const bottom = bottomOf(screen, text, isOpen ? keyboard : undefined, editor)
    const isMoved = kept !== undefined || isForced || bottom.columns !== shown.columns
    let same = 0
    while (!isMoved && same < shown.row && same < bottom.rows.length - 1 && bottom.rows[same] === shown.rows[same])
      same++
    const lines = isMoved ? [...(kept === undefined ? [] : [kept]), ...bottom.rows] : bottom.rows.slice(same)
    const below = bottom.rows.length - 1 - bottom.row
    output.write(
      [
        `\r${up(rowsAbove(shown, bottom.columns) - same)}\u001b[J`,
        lines.join('\n'),
        lines.at(-1) === '' && below === 0 ? '' : `\r${up(below)}${right(bottom.column)}`,
      ].join(''),
    )
    shown = bottom
  }

  if (editor) draw()
  return {
    print(line, next = text) {
      text = next
      draw(line)
    },
    show(next) {
      if (next === text) return
      text = next
      draw()
    },
    ask: () => undefined,
    answered: () => undefined,
    async lend(use) {
      const takeBack = editor?.leave()
      const clear = `\r${up(rowsAbove(shown, screen.columns))}\u001b[J`
      output.write(editor ? clear + disablePaste : clear)
      held = []
      try {
        return await use()
      } finally {
        takeBack?.()
        if (editor) output.write(enablePaste)
        shown = { rows: [''], row: 0, column: 0, columns: screen.columns }
        const kept = held.length > 0 ? held.join('\n') : undefined
        held = undefined
        draw(kept, true)
      }
    },
    clearTyped: () => editor?.clear(),
    close() {
      if (!isOpen) return
      isOpen = false
      text = ''
      draw(undefined, true)
      if (editor) output.write(disablePaste)
      output.off('resize', resized)
      editor?.close()
    },
  }
}

/** The rows that may change, and the cursor position in them. */
interface Bottom {
  rows: string[]
  row: number
  column: number
  /** How wide the screen was. */
  columns: number
}

function bottomOf(
  screen: Screen,
  text: string,
  keyboard: Keyboard | undefined,
  editor: LineEditor | undefined,
): Bottom {
  const { columns } = screen
  const typed =
    keyboard && editor
      ? typedRows(screen, editor.prompt ?? keyboard.prompt(), editor)
      : { rows: [''], row: 0, column: 0 }
  const room = Math.max(1, screen.rows - typed.rows.length - 2)
  const moving = text === '' ? [] : wrapText(text, columns).slice(-room)
  return { rows: [...moving, ...typed.rows], row: moving.length + typed.row, column: typed.column, columns }
}

/** Rows of the typed line; of one that is higher than half the screen, those around the cursor. */
function typedRows(
  { columns, rows: height }: Screen,
  prompt: string,
  { line, cursor }: LineEditor,
): Omit<Bottom, 'columns'> {
  // After a full row the cursor is at the start of the next.
  const before = wrapText(`${prompt + line.slice(0, cursor)} `, columns)
  const rows = wrapText(prompt + line, columns)
  while (rows.length < before.length) rows.push('')
  const row = before.length - 1
  const column = width(before.at(-1) ?? '') - 1
  const maxRows = Math.max(1, Math.floor(height / 2))
  const from = Math.max(0, Math.min(row - maxRows + 1, rows.length - maxRows))
  return { rows: rows.slice(from, from + maxRows), row: row - from, column }
}

/** Rows between the top of the bottom and the cursor, in a window that may be narrower by now. */
function rowsAbove({ rows, row, column }: Bottom, columns: number): number {
  const taken = rows.slice(0, row).reduce((sum, each) => sum + Math.max(1, Math.ceil(width(each) / columns)), 0)
  return taken + Math.floor(column / columns)
}

function right(columns: number): string {
  return columns > 0 ? `\u001b[${columns}C` : ''
}

function up(rows: number): string {
  return rows > 0 ? `\u001b[${rows}A` : ''
}
