import { Help, type HelpConfiguration } from 'commander'
import { type Register, rareGroup } from './cli.ts'
import { unknownCommand } from './unknown-command.ts'

const everything: HelpConfiguration = { helpWidth: 80 }

/** The first page shows what people need every week; the rest waits behind `help --all`. */
export const helpStyle: HelpConfiguration = {
  ...everything,
  visibleCommands(command) {
    const shown = Help.prototype.visibleCommands.call(this, command)
    return command.parent ? shown : shown.filter((each) => each.helpGroup() !== rareGroup)
  },
}

export const registerHelp: Register = (program, run) => {
  program
    .command('help [command]', { hidden: true })
    .option('-a, --all', 'every command')
    .action(
      run(async (_here, [name], options) => {
        const isNamed = (each: typeof program) => each.name() === name || each.aliases().includes(name ?? '')
        const found = name === undefined ? program : program.commands.find(isNamed)
        if (!found) throw unknownCommand(name ?? '', program)
        if (options['all'] === true) found.configureHelp(everything)
        found.outputHelp()
        return undefined
      }),
    )
}
