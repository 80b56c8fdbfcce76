import { spawn } from 'node:child_process'
import { isAbsolute, join } from 'node:path'
import { loadConfig } from '../config/config.ts'
import type { Here } from './cli.ts'
import type { Output } from './io.ts'
import { cut, printable } from './screen.ts'

const longest = 200
// Whoever is called is called by then; a program that hangs is not left behind.
const patience = 10_000

/** Calls a person who looks elsewhere. Must not throw: nobody's work depends on being heard. */
export type Notify = (text: string) => void

interface Ways {
  /** The terminal that the person looks at, if it is one. */
  stream: Output
  /** The program that they configured. */
  command: string | undefined
  /** Hears once that the program does not work. */
  tell(text: string): void
}

/** Where the program is looked for. */
type Place = Pick<Here, 'home' | 'env' | 'clock' | 'userHome'>

/** Rings the bell, sends the terminal a notice, and starts the configured program. */
export function notifier(here: Place, { stream, command, tell }: Ways): Notify {
  let isTold = false
  return (text) => {
    const message = cut(printable(`heddle: ${text}`), longest)
    if (stream.isTTY && here.env['TERM'] !== 'dumb') stream.write(`\u0007${noticeOf(message, here.env)}`)
    if (command === undefined) return
    void start(here, command, message).then((failure) => {
      if (failure === undefined || isTold) return
      isTold = true
      tell(`notify.command does not work: ${failure}`)
    })
  }
}

/** Calls whoever asked on the terminal that their questions stand on. The configuration is read when it is needed. */
export function callerOf(here: Here): (text: string) => Promise<void> {
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

/** OSC 9. The console of a bare machine would print it, and some people want no escape sequences. */
function noticeOf(message: string, env: NodeJS.ProcessEnv): string {
  return env['TERM'] === 'linux' || env['NO_COLOR'] ? '' : `\u001b]9;${message}\u0007`
}

/**
 * The program's whole path, or why there is none. A name is not looked for in folders that agents work in, nor in those that
 * the PATH names without their whole path: an agent could have put a program there.
 */
async function findProgram(
  { home, env, clock, userHome }: Place,
  command: string,
): Promise<{ program: string } | { failure: string }> {
  const remedy = 'give its whole path: heddle config set notify.command /…'
  const path = command.startsWith('~/') ? join(userHome, command.slice(2)) : command
  if (isAbsolute(path)) return { program: path }
  if (path.includes('/')) return { failure: `${printable(path)} is another program in each folder; ${remedy}` }
  const [{ isInWorkFolder }, { programOnPath }] = await Promise.all([
    import('../app-agents.ts'),
    import('../home/program-on-path.ts'),
  ])
  const found = programOnPath(path, env['PATH'] ?? '', isInWorkFolder(home, clock))
  if ('program' in found) return found
  const why =
    found.passedOver === undefined
      ? `there is no ${printable(path)} on the PATH`
      : `${printable(found.passedOver)} is in a folder that agents work in`
  return { failure: `${why}; ${remedy}` }
}

/** Answers why it failed, if it did. */
async function start(here: Place, command: string, message: string): Promise<string | undefined> {
  const found = await findProgram(here, command)
  return 'failure' in found ? found.failure : startProgram(here, found.program, message)
}

async function startProgram(
  { clock }: Pick<Here, 'clock'>,
  program: string,
  message: string,
): Promise<string | undefined> {
  // Without a shell: a message is one argument, whatever is in it. In a group of its own: Ctrl-C is not meant for it.
  const child = spawn(program, [message], { stdio: 'ignore', detached: true })
  const over = new AbortController()
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code) => resolve(code === 0 ? undefined : `it ended with ${code ?? 'a signal'}`))
  })
  const late = clock.sleep(patience, over.signal).then(() => {
    if (!over.signal.aborted) child.kill('SIGKILL')
    return `it took longer than ${patience / 1000} s`
  })
  return Promise.race([ended, late]).finally(() => over.abort())
}
