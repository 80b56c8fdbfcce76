import type { Command } from 'commander'
import { Misuse } from '../domain/errors.ts'
import { nearest } from '../domain/nearest.ts'
import { printable } from './screen.ts'

/** Names the command that was probably meant. */
export function unknownCommand(word: string, program: Command): Misuse {
  const close = nearest(
    word,
    program.commands.flatMap((command) => [command.name(), ...command.aliases()]),
  )
  return new Misuse(
    `there is no command "${printable(word)}"`,
    close ? `did you mean: heddle ${close}` : 'see what there is: heddle --help',
    'unknown_command',
  )
}
