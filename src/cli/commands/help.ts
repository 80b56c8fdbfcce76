import { type Command, Help, type HelpConfiguration } from 'commander'
import { UsageError } from '../../domain/errors.ts'
import { type Register, rareGroup } from '../command.ts'
import { unknownCommand } from '../unknown-command.ts'

const everything: HelpConfiguration = { helpWidth: 80 }

/** The first page shows the common commands; `help --all` lists the rest. */
export const helpStyle: HelpConfiguration = {
  ...everything,
  visibleCommands(command) {
    const shown = Help.prototype.visibleCommands.call(this, command)
    return command.parent ? shown : shown.filter((each) => each.helpGroup() !== rareGroup)
  },
}

export const registerHelp: Register = (program, run) => {
  program
    .command('help [command...]', { hidden: true })
    .option('-a, --all', 'every command')
    .action(
      run(async (_here, names, options) => {
        const found = commandAt(program, names)
        if (names.length > 0 && options['all'] === true)
          throw new UsageError('--all lists every command and takes no name', 'leave one of them out')
        if (options['all'] === true) found.configureHelp(everything)
        found.outputHelp()
        return undefined
      }),
    )
}

/** The command that these words name, such as `memory add`. */
function commandAt(program: Command, names: readonly string[]): Command {
  return names.reduce((group, name, at) => {
    const found = group.commands.find((each) => each.name() === name || each.aliases().includes(name))
    if (!found)
      throw unknownCommand(
        name,
        group,
        names
          .slice(0, at)
          .map((above) => `${above} `)
          .join(''),
      )
    return found
  }, program)
}
