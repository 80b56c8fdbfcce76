import { createInterface } from 'node:readline'
import { PassThrough, Writable } from 'node:stream'
import { HistorySearch } from './history-search.ts'
import type { LineHistory } from './line-history.ts'
import { meant, PasteFilter } from './paste.ts'

/** Ctrl-R. */
const lookBack = '\u0012'

/** Where a person types. */
export interface Keyboard {
  input: NodeJS.ReadableStream & { setRawMode?(mode: boolean): unknown }
  /** What stands before the line. */
  prompt(): string
  history?: LineHistory
  /** How a line may go on, and which end of it that stands for: Tab. */
  completions?(line: string): [string[], string]
  /** Whether Enter alone is something to say now. */
  takesEmpty?(): boolean
  onLine(text: string): void
  /** Ctrl-C, which the terminal no longer turns into a signal, with what was typed so far. */
  onInterrupt(typed: string): void
  /** Ctrl-Z: stops the job; `onResume` is called when it goes on. */
  suspend?(onResume: () => void): void
  /** Ctrl-D, or nobody is there any more. */
  onEnd(): void
}

/** The line that is being typed. Someone else draws it. */
export interface Typing {
  readonly line: string
  readonly cursor: number
  /** Stands before the line instead of the keyboard's own, while one that was typed before is looked for. */
  readonly prompt: string | undefined
  clear(): void
  /** Leaves the keyboard to another program, until the returned function is called. */
  leave(): () => void
  close(): void
}

/** What a key changed: the line, what others may have drawn over, or all that is on the screen. */
export type Change = 'line' | 'screen' | 'clear'

/** Reads keys as a shell does: editing, history, and pastes that stay one message. */
export function typeOn(keyboard: Keyboard, onChange: (change: Change) => void): Typing {
  const { input, history, completions } = keyboard
  const filter = new PasteFilter()
  const keys = new PassThrough({ encoding: 'utf8' })
  let past: readonly string[] = history?.lines() ?? []
  let search: HistorySearch | undefined
  const pass = (text: string | Buffer) => take(filter.pass(String(text)))
  const reader = createInterface({
    input: keys,
    // The line is drawn together with what moves above it, by one hand.
    output: new Writable({ write: (_text, _encoding, done) => done() }),
    terminal: true,
    prompt: '',
    historySize: history?.most ?? 100,
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
    const at = search ? -1 : text.indexOf(lookBack)
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
    keyboard.onLine(meant(line).trim())
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
  // After the reader's own listener: by now the line is what the keys made of it.
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
      input.off('data', pass).off('end', end).off('error', end)
      input.pause()
      reader.close()
      input.setRawMode?.(false)
    },
  }
}

/** Reads whole lines from what is no terminal, or from one that edits them itself. */
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
