import { createInterface } from 'node:readline'
import { type Screen, width, wrapped } from './screen.ts'

/** Where something is told while it happens: lines that stay, and below them what may still change. */
export interface Pane {
  print(line: string): void
  /** Shows text that may still change in the place of what was shown before; '' takes it back. */
  show(text: string): void
  /** Takes back what is shown and gives the keyboard back. */
  close(): void
}

/** For what no person looks at: lines, and nothing that may change. */
export function plainPane(write: (text: string) => void): Pane {
  return { print: (line) => write(`${line}\n`), show: () => undefined, close: () => undefined }
}

export interface Keyboard {
  input: NodeJS.ReadStream
  onLine(text: string): void
  /** The end of typing: Ctrl-C, which the terminal no longer turns into a signal, or Ctrl-D. */
  onEnd(): void
}

const prompt = '> '

/** For a person: what may change stays at the bottom, above the line that they type if there is a keyboard. */
export function terminalPane(screen: Screen, output: NodeJS.WritableStream, keyboard?: Keyboard): Pane {
  let shown: string[] = []
  let text = ''
  let kept: string[] = []
  let isOpen = true
  const typing = keyboard && createInterface({ input: keyboard.input, output, terminal: true, prompt })
  if (typing) {
    typing.on('line', (line) => {
      // What was typed stays on the screen, in as many rows as it took: it is taken back with the rest.
      redraw([], shown.length + wrapped(prompt + line, screen.columns).length)
      if (line.trim() !== '') keyboard.onLine(line.trim())
    })
    typing.on('SIGINT', () => keyboard.onEnd())
    typing.on('close', () => isOpen && keyboard.onEnd())
    typing.prompt()
  }

  /** Draws anew from the first row that differs; the cursor always stands below the last one, at the prompt if any. */
  function redraw(lines: string[], above = shown.length): void {
    kept.push(...lines)
    // A line that is being typed and fills more than a row cannot be drawn again without disturbing it.
    if (typing && isOpen && width(prompt + typing.line) >= screen.columns) return
    const rows = text === '' ? [] : wrapped(text, screen.columns).slice(-Math.max(1, screen.rows - 3))
    const isSame = kept.length === 0 && above === shown.length
    let same = 0
    while (isSame && same < rows.length && same < shown.length && rows[same] === shown[same]) same++
    const up = above - same
    const fresh = [...kept, ...rows.slice(same)]
    output.write(`\r${up > 0 ? `\u001b[${up}A` : ''}\u001b[J${fresh.map((row) => `${row}\n`).join('')}`)
    shown = rows
    kept = []
    if (isOpen) typing?.prompt(true)
  }

  return {
    print: (line) => redraw([line]),
    show(next) {
      if (next === text) return
      text = next
      redraw([])
    },
    close() {
      if (!isOpen) return
      isOpen = false
      typing?.close()
      text = ''
      redraw([])
    },
  }
}
