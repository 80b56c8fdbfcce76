import { askForPastes, noMorePastes } from './paste.ts'
import { type Screen, width, wrapped } from './screen.ts'
import { type Change, type Keyboard, type Typing, typeOn } from './typing.ts'

/** Where something is told while it happens: lines that stay, and below them what may still change. */
export interface Pane {
  /** Prints what stays; what may change becomes `next` in the same stroke, or stays as it is. */
  print(text: string, next?: string): void
  /** Shows text that may still change in the place of what was shown before; '' takes it back. */
  show(text: string): void
  /** The next line may be typed: asks for it where nothing else shows that. */
  ask(): void
  /** A line was typed: what was asked for stands there by itself. */
  answered(): void
  /** Gives the terminal to another program and draws everything anew afterwards; what is printed meanwhile waits. */
  lend<T>(use: () => Promise<T>): Promise<T>
  /** Takes back what is being typed. */
  clearTyped(): void
  /** Takes back what is shown and gives the keyboard back. */
  close(): void
}

/** For what cannot be drawn again: lines, and nothing that may change. A person who types there is asked with a prompt. */
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

/** For a person: what may change stays at the bottom, above the line that they type if there is a keyboard. */
export function terminalPane(screen: Screen, output: NodeJS.WritableStream, keyboard?: Keyboard): Pane {
  let shown: Bottom = { rows: [''], row: 0, column: 0, columns: screen.columns }
  let text = ''
  let isOpen = true
  /** What is to be printed once the terminal is ours again. */
  let held: string[] | undefined
  const typing = keyboard && typeOn(keyboard, react)
  if (typing) output.write(askForPastes)

  function react(change: Change): void {
    if (change === 'clear') {
      output.write('\u001b[H\u001b[2J')
      shown = { ...shown, row: 0, column: 0 }
    }
    draw(undefined, change !== 'line')
  }

  const resized = () => draw(undefined, true)
  output.on('resize', resized)

  /** Puts lines that stay above the bottom, and draws of the bottom what differs, or all of it. */
  function draw(kept?: string, anew = false): void {
    if (held) return void (kept !== undefined && held.push(kept))
    const bottom = bottomOf(screen, text, isOpen ? keyboard : undefined, typing)
    const isMoved = kept !== undefined || anew || bottom.columns !== shown.columns
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

  if (typing) draw()
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
      const takeBack = typing?.leave()
      const clear = `\r${up(rowsAbove(shown, screen.columns))}\u001b[J`
      output.write(typing ? clear + noMorePastes : clear)
      held = []
      try {
        return await use()
      } finally {
        takeBack?.()
        if (typing) output.write(askForPastes)
        shown = { rows: [''], row: 0, column: 0, columns: screen.columns }
        const kept = held.length > 0 ? held.join('\n') : undefined
        held = undefined
        draw(kept, true)
      }
    },
    clearTyped: () => typing?.clear(),
    close() {
      if (!isOpen) return
      isOpen = false
      text = ''
      draw(undefined, true)
      if (typing) output.write(noMorePastes)
      output.off('resize', resized)
      typing?.close()
    },
  }
}

/** The rows that may change, and where among them the cursor stands. */
interface Bottom {
  rows: string[]
  row: number
  column: number
  /** How wide the screen was. */
  columns: number
}

function bottomOf(screen: Screen, text: string, keyboard: Keyboard | undefined, typing: Typing | undefined): Bottom {
  const { columns } = screen
  const typed =
    keyboard && typing
      ? typedRows(screen, typing.prompt ?? keyboard.prompt(), typing)
      : { rows: [''], row: 0, column: 0 }
  const room = Math.max(1, screen.rows - typed.rows.length - 2)
  const moving = text === '' ? [] : wrapped(text, columns).slice(-room)
  return { rows: [...moving, ...typed.rows], row: moving.length + typed.row, column: typed.column, columns }
}

/** The line that is being typed; of one that is higher than half the screen, what is around the cursor. */
function typedRows(
  { columns, rows: height }: Screen,
  prompt: string,
  { line, cursor }: Typing,
): Omit<Bottom, 'columns'> {
  // A cursor behind a full row stands at the beginning of the next.
  const before = wrapped(`${prompt + line.slice(0, cursor)} `, columns)
  const rows = wrapped(prompt + line, columns)
  while (rows.length < before.length) rows.push('')
  const row = before.length - 1
  const column = width(before.at(-1) ?? '') - 1
  const most = Math.max(1, Math.floor(height / 2))
  const from = Math.max(0, Math.min(row - most + 1, rows.length - most))
  return { rows: rows.slice(from, from + most), row: row - from, column }
}

/** How many rows lie between the first row of the bottom and the cursor, in a window that may be narrower by now. */
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
