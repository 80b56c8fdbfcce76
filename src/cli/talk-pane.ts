import type { Here } from './cli.ts'
import { type Pane, plainPane, terminalPane } from './pane.ts'
import { type Keyboard, readLines } from './typing.ts'

/** Where a talk is shown and typed: drawn on a terminal, plain lines elsewhere; typed by a person or read from a pipe. */
export function talkPane({ screen, io }: Here, keys: Omit<Keyboard, 'input' | 'suspend'>): Pane {
  const { stdin: input, stdout, suspend } = io
  const keyboard: Keyboard = { ...keys, input, suspend }
  const isTyped = input.isTTY === true
  if (screen.isTerminal && isTyped) return terminalPane(screen, stdout, keyboard)
  const isAsked = stdout.isTTY === true && isTyped
  const pane = screen.isTerminal
    ? terminalPane(screen, stdout)
    : plainPane((text) => void stdout.write(text), isAsked ? keyboard.prompt : undefined)
  const lines = readLines(keyboard)
  return {
    ...pane,
    async lend(use) {
      input.pause()
      try {
        return await pane.lend(use)
      } finally {
        input.resume()
      }
    },
    close() {
      pane.close()
      lines.close()
    },
  }
}
