import { spawn } from 'node:child_process'
import { isAbsolute, join } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import { programOnPath } from '../home/program-on-path.ts'
import { isInWorkFolder } from './agents.ts'

/** A notify program that runs longer is killed. */
const programTimeout = 10_000

/** Context in which the program is searched. */
export interface NotifyContext {
  home: string
  env: NodeJS.ProcessEnv
  clock: Clock
  userHome: string
}

/** Starts the owner's `notify.command` with a message as its one argument. Returns why it failed; undefined if it did not. */
export async function startNotifyProgram(
  context: NotifyContext,
  command: string,
  message: string,
): Promise<string | undefined> {
  const found = findProgram(context, command)
  return 'failure' in found ? found.failure : startProgram(context.clock, found.program, message)
}

/**
 * Absolute path of the program, or why there is none. Folders that agents work in and relative PATH entries are not
 * searched: an agent could have put a program there.
 */
function findProgram(
  { home, env, clock, userHome }: NotifyContext,
  command: string,
): { program: string } | { failure: string } {
  const remedy = 'use its absolute path: heddle config set notify.command /…'
  const path = command.startsWith('~/') ? join(userHome, command.slice(2)) : command
  if (isAbsolute(path)) return { program: path }
  if (path.includes('/')) return { failure: `${path} can be a different program in each folder; ${remedy}` }
  const found = programOnPath(path, env['PATH'] ?? '', isInWorkFolder(home, clock))
  if ('program' in found) return found
  const why =
    found.passedOver === undefined
      ? `there is no ${path} on the PATH`
      : `${found.passedOver} is in a folder that agents work in`
  return { failure: `${why}; ${remedy}` }
}

async function startProgram(clock: Clock, program: string, message: string): Promise<string | undefined> {
  // No shell: the message is one argument, whatever it contains. Own process group: Ctrl-C must not reach it.
  const child = spawn(program, [message], { stdio: 'ignore', detached: true })
  const over = new AbortController()
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code) => resolve(code === 0 ? undefined : `it exited with ${code ?? 'a signal'}`))
  })
  const late = clock.sleep(programTimeout, over.signal).then(() => {
    if (!over.signal.aborted) child.kill('SIGKILL')
    return `it took longer than ${programTimeout / 1000} s`
  })
  return Promise.race([ended, late]).finally(() => over.abort())
}
