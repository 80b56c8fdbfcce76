import { EventEmitter } from 'node:events'
import { UsageError } from '../../domain/errors.ts'
import type { CommandContext } from '../command.ts'

/** Runs command lines of heddle inside a chat, in the same process and on the same terminal, one at a time. */
export class ProgramInChat {
  readonly #here: Pick<CommandContext, 'io' | 'runCommand'>
  #signals: EventEmitter | undefined

  constructor(here: Pick<CommandContext, 'io' | 'runCommand'>) {
    this.#here = here
  }

  /** Resolves when the command is over, or was told twice to end: then it does not keep the chat waiting. */
  async run(argv: string[]): Promise<void> {
    const [name = 'chat'] = argv.filter((word) => !word.startsWith('-'))
    if (name === 'chat' && !argv.some((word) => isInformation.includes(word)))
      throw new UsageError('you are in a chat already', '/new starts another session, /switch goes to one')
    const { io, runCommand } = this.#here
    const signals = new EventEmitter()
    const left = Promise.withResolvers<number>()
    this.#signals = signals
    try {
      await Promise.race([runCommand(argv, { ...io, signals, exit: (code = 0) => left.resolve(code) }), left.promise])
    } finally {
      this.#signals = undefined
    }
  }

  /** Passes a signal on to the command; false if none runs. */
  interrupt(signal: NodeJS.Signals = 'SIGINT'): boolean {
    return this.#signals?.emit(signal) ?? false
  }
}

const isInformation = ['-h', '--help', '-v', '--version']
