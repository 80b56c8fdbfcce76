import type { Command, Option } from 'commander'
import { UsageError } from '../domain/errors.ts'

/** Rejects what commander accepts silently: an option given twice, and a flag as the value of another option. */
export function guardOptions(command: Command, argv: readonly string[]): void {
  for (const option of command.options.filter(({ required }) => required)) guard(command, option, argv)
  for (const each of command.commands) guardOptions(each, argv)
}

function guard(command: Command, option: Option, argv: readonly string[]): void {
  const flag = option.long ?? option.flags
  let given: string | undefined
  command.on(`option:${option.name()}`, (value: string) => {
    if (given !== undefined && given !== value && !isRepeatable(option))
      throw new UsageError(`${flag} is given twice`, 'leave one of them out')
    given = value
    const isMeant = argv.includes(`${flag}=${value}`)
    if (!isMeant && (value === '--' || isFlagOf(command, value)))
      throw new UsageError(`${flag} has no value: ${value} follows it`, `if that is the value, write: ${flag}=${value}`)
  })
}

function isRepeatable({ variadic, parseArg }: Option): boolean {
  return variadic || parseArg !== undefined
}

function isFlagOf(command: Command, word: string): boolean {
  return command.options.some(({ short, long }) => word === short || word === long)
}

/** Rejects options of parent commands: commander accepts them anywhere, and the subcommand would ignore them. */
export function refuseOptionsOfParents(command: Command): void {
  for (let above = command.parent; above?.parent; above = above.parent) {
    for (const option of above.options) {
      const isGiven = above.getOptionValueSource(option.attributeName()) === 'cli'
      if (isGiven && !command.options.some(({ long }) => long === option.long))
        throw new UsageError(
          `${option.long} does not go with "${command.name()}"`,
          `leave it out; ${above.name()} ${command.name()} --help shows what does`,
        )
    }
  }
}
