import type { Command } from 'commander'
import { UsageError } from '../domain/errors.ts'
import { nearest } from '../domain/text/nearest.ts'
import { printable } from './terminal/screen.ts'

/** Error for an unknown command, or an unknown one of the group `above`, with the closest known one. */
export function unknownCommand(word: string, group: Command, above = ''): UsageError {
  const close = nearest(
    word,
    group.commands.flatMap((command) => [command.name(), ...command.aliases()]),
  )
  return new UsageError(
    `there is no command "${above}${printable(word)}"`,
    close ? `did you mean: heddle ${above}${close}` : `see what there is: heddle ${above}--help`,
    'unknown_command',
  )
}

/** Error for excess arguments: an unknown subcommand, or words that the command does not take. */
export function excessArguments(program: Command, argv: readonly string[]): UsageError {
  let command = program
  let path = program.name()
  let words: readonly string[] = argv.filter((word) => !word.startsWith('-'))
  for (;;) {
    const at = words.findIndex((word) => commandNamed(command, word))
    const next = at === 0 || command === program ? commandNamed(command, words[at] ?? '') : undefined
    if (!next) break
    command = next
    path = `${path} ${next.name()}`
    words = words.slice(at + 1)
  }
  const code = 'excess_arguments'
  const [word = ''] = words
  if (command.commands.length > 0) {
    const close = nearest(
      word,
      command.commands.map((each) => each.name()),
    )
    const remedy = close ? `did you mean: ${path} ${close}` : `see what there is: ${path} --help`
    return new UsageError(`there is no command "${path} ${printable(word)}"`, remedy, code)
  }
  const excess = words.slice(command.registeredArguments.length).map((each) => `"${printable(each)}"`)
  return new UsageError(`${path} does not take ${excess.join(', ')}`, `see: ${path} --help`, code)
}

function commandNamed({ commands }: Command, word: string): Command | undefined {
  return commands.find((command) => command.name() === word || command.aliases().includes(word))
}
