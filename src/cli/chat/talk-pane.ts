import type { CommandContext } from '../command.ts'
import { type Keyboard, readLines } from '../terminal/line-editor.ts'
import { type Pane, plainPane, terminalPane } from '../terminal/pane.ts'

/** Pane of a chat: drawn on a terminal, plain lines elsewhere. Input is typed, or read from a pipe. */
export function talkPane({ screen, io }: CommandContext, keys: Omit<Keyboard, 'input' | 'suspend'>): Pane {
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
