import { spawn } from 'node:child_process'
import { isAbsolute, join } from 'node:path'
import { loadConfig } from '../../config/config.ts'
import type { CommandContext } from '../command.ts'
import type { Output } from '../io.ts'
import { cut, printable } from '../terminal/screen.ts'

const maxLength = 200
/** A notify command that runs longer is killed. */
const commandTimeout = 10_000

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
type SearchContext = Pick<CommandContext, 'home' | 'env' | 'clock' | 'userHome'>

/** Rings the bell, sends the terminal a notice, and starts the configured program. */
export function notifier(here: SearchContext, { stream, command, tell }: NotifyOptions): Notify {
  let isTold = false
  return (text) => {
    const message = cut(printable(`heddle: ${text}`), maxLength)
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

/**
 * Absolute path of the program, or why there is none. Folders that agents work in and relative PATH entries are not
 * searched: an agent could have put a program there.
 */
async function findProgram(
  { home, env, clock, userHome }: SearchContext,
  command: string,
): Promise<{ program: string } | { failure: string }> {
  const remedy = 'use its absolute path: heddle config set notify.command /…'
  const path = command.startsWith('~/') ? join(userHome, command.slice(2)) : command
  if (isAbsolute(path)) return { program: path }
  if (path.includes('/')) return { failure: `${printable(path)} can be a different program in each folder; ${remedy}` }
  const [{ isInWorkFolder }, { programOnPath }] = await Promise.all([
    import('../../app/agents.ts'),
    import('../../home/program-on-path.ts'),
  ])
  const found = programOnPath(path, env['PATH'] ?? '', isInWorkFolder(home, clock))
  if ('program' in found) return found
  const why =
    found.passedOver === undefined
      ? `there is no ${printable(path)} on the PATH`
      : `${printable(found.passedOver)} is in a folder that agents work in`
  return { failure: `${why}; ${remedy}` }
}

/** Returns why it failed; undefined if it did not. */
async function start(here: SearchContext, command: string, message: string): Promise<string | undefined> {
  const found = await findProgram(here, command)
  return 'failure' in found ? found.failure : startProgram(here, found.program, message)
}

async function startProgram(
  { clock }: Pick<CommandContext, 'clock'>,
  program: string,
  message: string,
): Promise<string | undefined> {
  // No shell: the message is one argument, whatever it contains. Own process group: Ctrl-C must not reach it.
  const child = spawn(program, [message], { stdio: 'ignore', detached: true })
  const over = new AbortController()
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code) => resolve(code === 0 ? undefined : `it exited with ${code ?? 'a signal'}`))
  })
  const late = clock.sleep(commandTimeout, over.signal).then(() => {
    if (!over.signal.aborted) child.kill('SIGKILL')
    return `it took longer than ${commandTimeout / 1000} s`
  })
  return Promise.race([ended, late]).finally(() => over.abort())
}
