import { Command, CommanderError } from 'commander'
import { version } from '../app.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { registerAppend } from './append.ts'
import { registerAsk } from './ask.ts'
import { registerBackup } from './backup.ts'
import { registerChat } from './chat.ts'
import type { Answer, Register, Run } from './cli.ts'
import { registerDev } from './dev.ts'
import { registerEvents } from './events.ts'
import { helpStyle, registerHelp } from './help.ts'
import { standHere } from './here.ts'
import { registerLog } from './log.ts'
import { registerModels } from './models.ts'
import { registerPersonas } from './personas.ts'
import { registerRuns } from './runs.ts'
import { printable } from './screen.ts'
import { registerSecret } from './secret.ts'
import { registerSessions } from './sessions.ts'
import { registerSetUp } from './set-up.ts'
import { registerShow } from './show.ts'
import { registerStatus } from './status.ts'
import { registerTransfer } from './transfer.ts'
import { registerUndo } from './undo.ts'
import { registerUp } from './up.ts'
import { registerWatch } from './watch.ts'

/** Everything that can be asked on the command line, in the order of the help. */
const commands: Register[] = [
  registerChat,
  registerAsk,
  registerStatus,
  registerHelp,
  registerWatch,
  registerShow,
  registerRuns,
  registerUndo,
  registerSessions,
  registerLog,
  registerUp,
  registerSetUp,
  registerModels,
  registerSecret,
  registerAppend,
  registerPersonas,
  registerBackup,
  registerTransfer,
  registerEvents,
  registerDev,
]

/** Runs one command line and answers its exit code: 0 done, 1 failed, 2 misuse, 130 cancelled. */
export async function main(argv: string[], env: NodeJS.ProcessEnv): Promise<number> {
  // Whoever reads our output may stop early, as `head` does: that is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  const outcome = { code: 0 }
  const json = argv.includes('--json')
  const program = new Command('heddle')
    .description('A durable multi-agent runtime that you host yourself.')
    .version(version, '--version', 'print the version')
    .option('--home <dir>', 'where heddle keeps its state (default: $HEDDLE_HOME or ~/.heddle)')
    .option('--config <file>', 'the configuration file (default: heddle.yaml in the home)')
    .option('--json', 'answer with one JSON document')
    .helpOption('--help', 'show help')
    .configureHelp(helpStyle)
    .helpCommand(false)
    .addHelpText('after', '\nheddle help --all lists the rest; heddle help COMMAND tells more about one.')
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  for (const register of commands) register(program, runIn(program, env, outcome))
  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    outcome.code = report(error, json)
  }
  return outcome.code
}

function runIn(program: Command, env: NodeJS.ProcessEnv, outcome: { code: number }): Run {
  return (action) =>
    async (...parameters) => {
      // Commander passes the arguments, then the options, then the command.
      const args = parameters.slice(0, -2).flatMap((each) => (Array.isArray(each) ? each : [each as string]))
      const options = parameters.at(-2) as Record<string, unknown>
      await using here = await standHere(program.opts(), env)
      const answer = await action(here, args, options)
      if (answer) {
        await here.write(here.json ? `${JSON.stringify(answer.json)}\n` : ending(answer))
        outcome.code = answer.code ?? 0
      }
    }
}

function ending({ text }: Answer): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

/** Says what went wrong and what to do next, to people or to a program. */
function report(error: unknown, json: boolean): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0
  const failure = error instanceof CommanderError ? misuse(error) : error
  if (!(failure instanceof HeddleError)) {
    const message = failure instanceof Error ? failure.message : String(failure)
    if (json) process.stdout.write(failureJson({ code: 'bug', message, remedy: 'please report this with its output' }))
    process.stderr.write(`heddle met a bug: ${failure instanceof Error ? failure.stack : message}\n`)
    return 1
  }
  if (json) process.stdout.write(failureJson(failure))
  else process.stderr.write(printable(`${failure.message}\n  → ${failure.remedy}\n`, { lines: true }))
  if (failure.code === 'cancelled') return 130
  return failure instanceof Misuse ? 2 : 1
}

function failureJson({ code, message, remedy }: Pick<HeddleError, 'code' | 'message' | 'remedy'>): string {
  return `${JSON.stringify({ ok: false, error: { code, message, remedy } })}\n`
}

function misuse(error: CommanderError): Misuse {
  const [first = '', suggestion] = error.message.replace(/^error: /, '').split('\n')
  const nearest = /Did you mean (.+)\?/.exec(suggestion ?? '')?.[1]
  return new Misuse(
    first,
    nearest ? `did you mean ${nearest}? See: heddle --help` : 'see: heddle --help, or heddle COMMAND --help',
    error.code.replace('commander.', '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  )
}
