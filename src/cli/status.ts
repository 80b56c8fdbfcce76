import type { Command } from 'commander'
import { version } from '../app.ts'
import { Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import { nearest } from '../domain/nearest.ts'
import type { Register } from './cli.ts'
import { ago, paint, printable } from './screen.ts'

export const registerStatus: Register = (program, run) => {
  // Bare `heddle`: never a help text, but where you are and what you can do next.
  program.allowExcessArguments().action(
    run(async (here) => {
      const [unknown] = program.args
      if (unknown !== undefined) throw unknownCommand(unknown, program)
      const app = await here.app()
      const sessions = await app.sessions({ folder: here.folder })
      const open = sessions.filter(({ archived }) => !archived)
      const main = open.find(({ label }) => label === 'main') ?? open[0]
      const row = (name: string, value: string) => `${paint(here.screen, 'dim', name.padEnd(9))}${value}`
      const text = [
        `${paint(here.screen, 'bold', 'heddle')} ${version}`,
        row('folder', printable(here.folder)),
        row('home', printable(here.home)),
        main?.headTurnId
          ? row(
              'session',
              `${printable(main.label)}, ${main.depth} turns, head turn:${tail(main.headTurnId)}, ${ago(main.updatedAt, here.clock.now())}    heddle log ${printable(main.label)}`,
            )
          : row('session', 'none yet    heddle append --user "…" --assistant "…"'),
        ...(open.length > 1 ? [row('', `${open.length - 1} more    heddle sessions`)] : []),
        row('help', 'heddle --help'),
      ].join('\n')
      return {
        json: { version, home: here.home, folder: here.folder, session: main ?? null, sessions: open.length },
        text,
      }
    }),
  )
}

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
