import { spawn } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Here } from './cli.ts'
import { cut, printable } from './screen.ts'

const longest = 200

/** Calls a person who looks elsewhere: the bell, a notice of their terminal, and the command they configured. */
export function notify({ screen, env }: Pick<Here, 'screen' | 'env'>, command: string | undefined, text: string): void {
  const message = cut(printable(text), longest)
  // The console of a bare machine would print what it does not understand.
  const notice = env['TERM'] === 'linux' ? '' : `\u001b]9;${message}\u0007`
  if (screen.isTerminal) process.stdout.write(`\u0007${notice}`)
  if (command === undefined) return
  const program = command.startsWith('~/') ? join(homedir(), command.slice(2)) : command
  // Without a shell: a message is one argument, whatever is in it. A command that fails must not disturb the talk.
  spawn(program, [message], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref()
}
