import { loadConfig } from '../../config/config.ts'
import type { CommandContext } from '../command.ts'
import type { Output } from '../io.ts'
import { printable, truncateToWidth } from '../terminal/screen.ts'

const maxLength = 200

/** Notifies a user who looks elsewhere. Must not throw: no work depends on it. */
export type Notify = (text: string) => void

interface NotifyOptions {
  /** The user's terminal, if it is one. */
  stream: Output
  /** The configured program. */
  command: string | undefined
  /** Reports once that the program does not work. */
  tell(text: string): void
}

/** Context in which the program is searched. */
type ProgramContext = Pick<CommandContext, 'home' | 'env' | 'clock' | 'userHome'>

/** Rings the bell, sends the terminal a notice, and starts the configured program. */
export function notifier(here: ProgramContext, { stream, command, tell }: NotifyOptions): Notify {
  let isTold = false
  return (text) => {
    const message = truncateToWidth(printable(`heddle: ${text}`), maxLength)
    if (stream.isTTY && here.env['TERM'] !== 'dumb') stream.write(`\u0007${noticeOf(message, here.env)}`)
    if (command === undefined) return
    void start(here, command, message).then((failure) => {
      if (failure === undefined || isTold) return
      isTold = true
      tell(`notify.command does not work: ${failure}`)
    })
  }
}

/** Notifier for the terminal on which questions are shown. Reads the configuration on first use. */
export function userNotifier(here: CommandContext): (text: string) => Promise<void> {
  const find = async () => {
    const config = await loadConfig(here.configFile, here.env, { userHome: here.userHome }).catch(() => undefined)
    return notifier(here, { stream: here.io.stderr, command: config?.notify.command, tell: here.tell })
  }
  let notify: Promise<Notify> | undefined
  return async (text) => {
    notify ??= find()
    const call = await notify
    call(text)
  }
}

/** OSC 9 sequence. Empty on a Linux console, which would print it, and with NO_COLOR. */
function noticeOf(message: string, env: NodeJS.ProcessEnv): string {
  return env['TERM'] === 'linux' || env['NO_COLOR'] ? '' : `\u001b]9;${message}\u0007`
}

/** Returns why it failed; undefined if it did not. */
async function start(here: ProgramContext, command: string, message: string): Promise<string | undefined> {
  const { startNotifyProgram } = await import('../../app/notify-program.ts')
  const failure = await startNotifyProgram(here, command, message)
  return failure === undefined ? undefined : printable(failure)
}
