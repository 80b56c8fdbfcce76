import { Command, CommanderError } from 'commander'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { version } from '../version.ts'
import type { Answer, Run } from './cli.ts'
import { commandsFor } from './commands.ts'
import { helpStyle } from './help.ts'
import type { CommandIo } from './io.ts'
import { processIo } from './process-io.ts'
import { printable, wrapped } from './screen.ts'

/** Runs one command line and answers its exit code: 0 done, 1 failed, 2 misuse, 130 cancelled. */
export async function main(argv: string[], env: NodeJS.ProcessEnv, io: CommandIo = processIo): Promise<number> {
  // Whoever reads our output may stop early, as `head` does: that is no failure.
  io.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    io.exit(0)
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
    .configureOutput({ writeErr: () => undefined, writeOut: (text) => void io.stdout.write(text) })
  for (const register of await commandsFor(argv)) register(program, runIn(program, env, io, outcome))
  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    outcome.code = report(io, error, json)
  }
  return outcome.code
}

function runIn(program: Command, env: NodeJS.ProcessEnv, io: CommandIo, outcome: { code: number }): Run {
  return (action) =>
    async (...parameters) => {
      // Commander passes the arguments, then the options, then the command.
      const args = parameters.slice(0, -2).flatMap((each) => (Array.isArray(each) ? each : [each as string]))
      const options = parameters.at(-2) as Record<string, unknown>
      const { standHere } = await import('./here.ts')
      await using here = await standHere(program.opts(), env, io)
      const answer = await action(here, args, options)
      if (answer) {
        await here.write(here.json ? `${JSON.stringify(answer.json)}\n` : ending(answer))
        outcome.code = answer.code ?? 0
        await answer.after?.()
      }
    }
}

function ending({ text }: Answer): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

/** Says what went wrong and what to do next, to people or to a program. */
function report(io: CommandIo, error: unknown, json: boolean): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0
  const failure = error instanceof CommanderError ? misuse(error) : error
  if (!(failure instanceof HeddleError)) {
    const message = failure instanceof Error ? failure.message : String(failure)
    if (json) io.stdout.write(failureJson({ code: 'bug', message, remedy: 'please report this with its output' }))
    io.stderr.write(`heddle met a bug: ${failure instanceof Error ? failure.stack : message}\n`)
    return 1
  }
  if (json) io.stdout.write(failureJson(failure))
  else io.stderr.write(failurePage(io, failure))
  if (failure.code === 'cancelled') return 130
  return failure instanceof Misuse ? 2 : 1
}

/** Broken between words for people; as it is for everything else. */
function failurePage(io: CommandIo, { message, remedy }: HeddleError): string {
  const text = printable(`${message}\n  → ${remedy}`, { lines: true })
  const { isTTY, columns } = io.stderr
  return `${isTTY ? wrapped(text, columns || 80, { words: true, hang: '    ' }).join('\n') : text}\n`
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
