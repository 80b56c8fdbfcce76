import { createInterface } from 'node:readline'
import { PassThrough, Writable } from 'node:stream'
import { HistorySearch } from './history-search.ts'
import type { LineHistory } from './line-history.ts'
import { PasteFilter, restoreBreaks } from './paste.ts'

/** Ctrl-R. */
const searchKey = '\u0012'

/** Keyboard input and its handlers. */
export interface Keyboard {
  input: NodeJS.ReadableStream & { setRawMode?(mode: boolean): unknown }
  /** Prompt before the line. */
  prompt(): string
  history?: LineHistory
  /** Tab completions, and the end of the line that they replace. */
  completions?(line: string): [string[], string]
  /** Whether an empty line is an answer now. */
  takesEmpty?(): boolean
  onLine(text: string): void
  /** Ctrl-C, which the terminal no longer turns into a signal, with what was typed so far. */
  onInterrupt(typed: string): void
  /** Ctrl-Z: stops the job; `onResume` is called when it goes on. */
  suspend?(onResume: () => void): void
  /** Ctrl-D, or the input was closed. */
  onEnd(): void
}

/** The line that is being typed. The pane draws it. */
export interface LineEditor {
  readonly line: string
  readonly cursor: number
  /** Replaces the keyboard's prompt during a history search. */
  readonly prompt: string | undefined
  clear(): void
  /** Releases the keyboard to another program until the returned function is called. */
  leave(): () => void
  close(): void
}

/** Part to redraw after a key: the line, the screen after a resume, or everything after Ctrl-L. */
export type Change = 'line' | 'screen' | 'clear'

/** Line editor like a shell's: editing, history, and pastes that stay one message. */
export function openLineEditor(keyboard: Keyboard, onChange: (change: Change) => void): LineEditor {
  const { input, history, completions } = keyboard
  const filter = new PasteFilter()
  const keys = new PassThrough({ encoding: 'utf8' })
  let past: readonly string[] = history?.lines() ?? []
  let search: HistorySearch | undefined
  const pass = (text: string | Buffer) => take(filter.pass(String(text)))
  const reader = createInterface({
    input: keys,
    // Output is dropped: the pane draws the line together with the rows above it.
    output: new Writable({ write: (_text, _encoding, done) => done() }),
    terminal: true,
    prompt: '',
    historySize: history?.max ?? 100,
    removeHistoryDuplicates: true,
    history: [...past],
    ...(completions && { completer: completions }),
  })
  let isOpen = true
  reader.on('history', (lines) => {
    if (lines[0]?.startsWith(' ')) lines.shift()
    past = [...lines]
  })
  const clear = () => {
    reader.write(null, { ctrl: true, name: 'e' })
    reader.write(null, { ctrl: true, name: 'u' })
  }
  function take(text: string): void {
    const at = search ? -1 : text.indexOf(searchKey)
    if (!search && at === -1) return void keys.write(text)
    if (!search) {
      if (at > 0) keys.write(text.slice(0, at))
      search = new HistorySearch(past)
    }
    const outcome = search.take(text.slice(at + 1))
    if (outcome !== 'searching') search = undefined
    if (typeof outcome === 'object') {
      if (outcome.take !== '') {
        clear()
        reader.write(outcome.take)
      }
      keys.write(outcome.keys)
    }
    onChange('line')
  }
  reader.on('line', (line) => {
    if (line.trim() !== '') history?.keep(line)
    else if (!keyboard.takesEmpty?.()) return
    keyboard.onLine(restoreBreaks(line).trim())
  })
  reader.on('SIGINT', () => keyboard.onInterrupt(reader.line))
  reader.on('SIGTSTP', () => {
    input.setRawMode?.(false)
    keyboard.suspend?.(() => {
      input.setRawMode?.(true)
      onChange('screen')
    })
  })
  reader.on('close', () => isOpen && keyboard.onEnd())
  keys.on('keypress', (_text, key) => key?.ctrl && key.name === 'l' && onChange('clear'))
  // Registered after the reader's own listener, so that the line is up to date.
  keys.on('data', () => isOpen && onChange('line'))
  input.setRawMode?.(true)
  input.setEncoding('utf8')
  const end = () => reader.close()
  input.on('data', pass).on('end', end).on('error', end)
  input.resume()
  return {
    get line() {
      return search?.line ?? reader.line
    },
    get cursor() {
      return search?.cursor ?? reader.cursor
    },
    get prompt() {
      return search?.prompt
    },
    clear() {
      clear()
      onChange('line')
    },
    leave() {
      input.off('data', pass).pause()
      input.setRawMode?.(false)
      return () => {
        input.setRawMode?.(true)
        input.on('data', pass).resume()
      }
    },
    close() {
      if (!isOpen) return
      isOpen = false
      input.off('data', pass).off('end', end)
      // A closed terminal refuses the mode below with an error; `end` stays to take it.
      input.pause()
      reader.close()
      input.setRawMode?.(false)
    },
  }
}

/** Reads whole lines from a pipe, or from a terminal that edits them itself. */
export function readLines({
  input,
  takesEmpty,
  onLine,
  onEnd,
}: Pick<Keyboard, 'input' | 'takesEmpty' | 'onLine' | 'onEnd'>): { close(): void } {
  const reader = createInterface({ input, terminal: false })
  let isOpen = true
  reader.on('line', (line) => (line.trim() !== '' || takesEmpty?.()) && onLine(line.trim()))
  reader.on('close', () => isOpen && onEnd())
  return {
    close() {
      isOpen = false
      reader.close()
      input.pause()
    },
  }
}
