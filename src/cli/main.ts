import { Command, CommanderError } from 'commander'
import { HeddleError, UsageError } from '../domain/errors.ts'
import { version } from '../version.ts'
import type { ActionRunner, CommandResult } from './command.ts'
import { helpStyle } from './commands/help.ts'
import { assertRemote, commandsFor } from './commands.ts'
import type { CommandIo } from './io.ts'
import { guardOptions, refuseOptionsOfParents } from './option-guard.ts'
import { processIo } from './process-io.ts'
import { refusalCode } from './refusal-code.ts'
import { sourceStack } from './source-stack.ts'
import { printable, wrapText } from './terminal/screen.ts'
import { excessArguments } from './unknown-command.ts'

/** Runs one command line and returns its exit code: 0 done, 1 failed, 2 usage error, 130 cancelled. */
export async function main(argv: string[], env: NodeJS.ProcessEnv, io: CommandIo = processIo): Promise<number> {
  const outcome = { code: 0 }
  const terminal = { isLost: false, isNeeded: true }
  const stopListening = [io.stdout, io.stderr].map((stream) => {
    const onError = (error: NodeJS.ErrnoException) => {
      // A closed terminal also sends SIGHUP, which ends the command in good order.
      if (stream.isTTY && error.code === 'EIO') {
        terminal.isLost = true
        if (!terminal.isNeeded) io.exit(outcome.code)
      }
      // The reader of a pipe may stop early, as `head` does: that is no failure.
      else if (stream === io.stdout && error.code === 'EPIPE') io.exit(0)
      // A command that listens to errors itself handles them.
      else if (stream.listenerCount('error') === 1) throw error
    }
    stream.on('error', onError)
    // What is still being written may fail after the end; only a command inside a chat has a listener behind it.
    return () => void (stream.listenerCount('error') > 1 && stream.off('error', onError))
  })
  const json = optionsOf(argv).includes('--json')
  // Commander writes a help text in several pieces.
  const shown: string[] = []
  const program = newProgram((text) => void shown.push(text))
  for (const register of await commandsFor(argv)) register(program, runIn(program, env, io, outcome))
  for (const group of program.commands) group.helpCommand(false)
  // Set last: commands would inherit it. Unknown commands are reported by the action of bare `heddle`.
  program.allowExcessArguments()
  guardOptions(program, argv)
  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    const isShown = error instanceof CommanderError && error.exitCode === 0
    const failure = error instanceof CommanderError ? usageErrorFrom(error, program, argv) : error
    outcome.code = isShown ? 0 : report(io, failure, json)
  }
  const text = shown.join('')
  if (text !== '') io.stdout.write(json ? `${JSON.stringify({ text })}\n` : text)
  // What cannot be written to a closed terminal would keep the process alive.
  terminal.isNeeded = false
  if (terminal.isLost) io.exit(outcome.code)
  for (const stop of stopListening) stop()
  return outcome.code
}

/** The arguments before `--`: nothing after it is an option. */
function optionsOf(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end === -1 ? argv : argv.slice(0, end)
}

/** The program without its commands: description and global options. */
export function newProgram(writeOut: (text: string) => void): Command {
  return new Command('heddle')
    .description('A durable multi-agent runtime that you host yourself.')
    .version(version, '-v, --version', 'print the version')
    .option('--home <dir>', 'where heddle keeps its state (default: $HEDDLE_HOME or ~/.heddle)')
    .option('--config <file>', 'the configuration file (default: heddle.yaml in the home)')
    .option('--host <url>', 'ask the heddle of another machine, with a token (default: $HEDDLE_HOST)')
    .option('--token <token>', 'act as the user of this token (default: $HEDDLE_TOKEN, else you, the owner)')
    .option('--json', 'answer with one JSON document')
    .helpOption('-h, --help', 'show help')
    .configureHelp(helpStyle)
    .helpCommand(false)
    .addHelpText('after', '\nheddle help --all lists every command; heddle help COMMAND explains one.')
    .exitOverride()
    .configureOutput({ writeErr: () => undefined, writeOut })
}

function runIn(program: Command, env: NodeJS.ProcessEnv, io: CommandIo, outcome: { code: number }): ActionRunner {
  return (action) =>
    async (...parameters) => {
      // Commander passes the arguments, then the options, then the command.
      const args = parameters.slice(0, -2).flatMap((each) => (Array.isArray(each) ? each : [each as string]))
      const options = parameters.at(-2) as Record<string, unknown>
      const command = parameters.at(-1) as Command
      refuseOptionsOfParents(command)
      if ((program.opts()['host'] ?? env['HEDDLE_HOST'] ?? '') !== '') assertRemote(command)
      const { openContext } = await import('./context.ts')
      await using here = await openContext(program.opts(), env, io, main)
      const answer = await action(here, args, options)
      if (answer) {
        await here.write(here.json ? `${JSON.stringify(answer.json)}\n` : ending(answer))
        outcome.code = answer.code ?? 0
        await answer.after?.()
      }
    }
}

function ending({ text }: CommandResult): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

/** Prints an error with its remedy, as text or JSON, and returns the exit code. */
function report(io: CommandIo, failure: unknown, json: boolean): number {
  if (!(failure instanceof HeddleError)) {
    const message = failure instanceof Error ? failure.message : String(failure)
    if (json) io.stdout.write(failureJson({ code: 'bug', message, remedy: 'please report this with its output' }))
    io.stderr.write(`this is a bug in heddle: ${failure instanceof Error ? sourceStack(failure) : message}\n`)
    return 1
  }
  if (json) io.stdout.write(failureJson(failure))
  else io.stderr.write(failurePage(io, failure))
  return refusalCode(failure)
}

/** The error as text, wrapped between words on a terminal. */
function failurePage(io: CommandIo, { message, remedy }: HeddleError): string {
  const text = printable(`${message}\n  → ${remedy}`, { lines: true })
  const { isTTY, columns } = io.stderr
  return `${isTTY ? wrapText(text, columns || 80, { words: true, hang: '    ' }).join('\n') : text}\n`
}

function failureJson({ code, message, remedy }: Pick<HeddleError, 'code' | 'message' | 'remedy'>): string {
  return `${JSON.stringify({ ok: false, error: { code, message, remedy } })}\n`
}

function usageErrorFrom(error: CommanderError, program: Command, argv: readonly string[]): UsageError {
  // Commander reports this for a command that only has subcommands.
  if (error.code === 'commander.help')
    return new UsageError('a command is missing', 'list them with --help', 'missing_command')
  if (error.code === 'commander.excessArguments') return excessArguments(program, argv)
  const [first = '', suggestion] = error.message.replace(/^error: /, '').split('\n')
  const nearest = /Did you mean (.+)\?/.exec(suggestion ?? '')?.[1]
  return new UsageError(
    first,
    nearest ? `did you mean ${nearest}? See: heddle --help` : 'see: heddle --help, or heddle COMMAND --help',
    error.code.replace('commander.', '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  )
}
