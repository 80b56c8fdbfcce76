import { type Pane, plainPane, terminalPane } from './pane.ts'
import type { Screen } from './screen.ts'
import { type Keyboard, readLines } from './typing.ts'

/** Where a talk is shown and typed: drawn on a terminal, plain lines elsewhere; typed by a person or read from a pipe. */
export function talkPane(screen: Screen, keyboard: Keyboard & { isTyped: boolean }): Pane {
  const { isTyped } = keyboard
  if (screen.isTerminal && isTyped) return terminalPane(screen, process.stdout, keyboard)
  const isAsked = process.stdout.isTTY === true && isTyped
  const pane = screen.isTerminal
    ? terminalPane(screen, process.stdout)
    : plainPane((text) => void process.stdout.write(text), isAsked ? keyboard.prompt : undefined)
  const lines = readLines(keyboard)
  return {
    ...pane,
    async lend(use) {
      keyboard.input.pause()
      try {
        return await pane.lend(use)
      } finally {
        keyboard.input.resume()
      }
    },
    close() {
      pane.close()
      lines.close()
    },
  }
}
