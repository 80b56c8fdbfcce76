import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/system.ts'
import { builtHeddle, cachedCode } from '../setup/built-heddle.ts'
import { node } from '../setup/node.ts'
import { runInProcess } from './in-process.ts'
import { playTerminal, type Terminal } from './played-terminal.ts'

/** The launcher of the program that processes are started from. */
export const bin = await builtHeddle()

export interface Spoken {
  code: number | null
  signal: NodeJS.Signals | null
  out: string
  err: string
}

interface RunOptions {
  env?: NodeJS.ProcessEnv
  input?: string | Buffer
  cwd?: string
  /** Starts the program, as for what happens between processes or in the launcher; a crash always does. */
  isProcess?: boolean
  /** The time of a command in this process. */
  clock?: Clock
}

export interface TerminalOptions {
  env?: NodeJS.ProcessEnv
  /** Starts a process on a terminal of the system: for signals, exits, echo and crashes; a crash always does. */
  isProcess?: boolean
  /** The time of a command in this process. */
  clock?: Clock
}

/** Heddle in a home and a folder of its own. */
export interface TestHeddle {
  home: string
  folder: string
  /** Runs a command to its end, in this process unless told otherwise: that is thirty times faster. */
  run(...args: string[]): Promise<Spoken>
  runWith(options: RunOptions, ...args: string[]): Promise<Spoken>
  /** Runs with --json and gives the one document that stdout must be. */
  json<T = Record<string, unknown>>(...args: string[]): Promise<T>
  /** Starts a command that stays. */
  start(...args: string[]): Started
  startWith(options: { env?: NodeJS.ProcessEnv; cwd?: string }, ...args: string[]): Started
  /** Starts a command on a terminal that is played in this process, unless told otherwise. */
  terminal(...args: string[]): Terminal
  terminalWith(options: TerminalOptions, ...args: string[]): Terminal
  remove(): void
}

/** A command that runs until it is told to stop. */
export interface Started {
  pid: number | undefined
  /** Resolves when this text has come on stderr, or all that has come is as wanted. */
  says(what: string | ((said: string) => boolean)): Promise<void>
  stop(signal: NodeJS.Signals): void
  ended: Promise<Spoken>
}

/** Most tests are about one agent that does things itself; `agent: null` asks whoever answers by default. */
export function newHeddle({ agent = '@general' as string | null } = {}): TestHeddle {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-cli-')))
  const [home, folder] = [join(root, 'home'), join(root, 'folder')]
  mkdirSync(folder)
  const envOf = (env?: NodeJS.ProcessEnv) => ({
    ...cachedCode,
    PATH: process.env['PATH'],
    HOME: root,
    HEDDLE_HOME: home,
    ...env,
  })
  /** Those that have not ended: a test that fails half-way leaves what it started. */
  const running = new Set<ChildProcess>()
  const begin = (options: { env?: NodeJS.ProcessEnv; cwd?: string }, [program = '', ...args]: string[]) => {
    const child = spawn(program, args, {
      cwd: options.cwd ?? folder,
      env: envOf(options.env),
    })
    running.add(child)
    child.once('close', () => running.delete(child))
    const said = { out: '', err: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said.err += text
    })
    const ended = new Promise<Spoken>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => resolve({ code, signal, ...said }))
    })
    return { child, said, ended }
  }
  const runWith: TestHeddle['runWith'] = ({ input = '', ...options }, ...args) => {
    // A crash would end the tests.
    const { isProcess = options.env?.['HEDDLE_CRASH_AT'] !== undefined } = options
    const { cwd = folder, clock = systemClock } = options
    if (!isProcess) return runInProcess(to(agent, args), { env: envOf(options.env), cwd, input, clock })
    const { child, ended } = begin(options, [...node, bin, ...to(agent, args)])
    child.stdin.end(input)
    return ended
  }
  const startWith: TestHeddle['startWith'] = (options, ...args) => {
    const { child, said, ended } = begin(options, [...node, bin, ...to(agent, args)])
    return {
      pid: child.pid,
      says: (what) => until(child.stderr, () => (typeof what === 'string' ? said.err.includes(what) : what(said.err))),
      stop: (signal) => child.kill(signal),
      ended,
    }
  }
  const terminalWith: TestHeddle['terminalWith'] = (options, ...args) => {
    const { isProcess = options.env?.['HEDDLE_CRASH_AT'] !== undefined } = options
    const { clock = systemClock } = options
    if (!isProcess) return playTerminal(to(agent, args), { env: envOf(options.env), cwd: folder, clock })
    const command = [...node, bin, ...to(agent, args)].map((word) => `'${word}'`).join(' ')
    const { child, said, ended } = begin(options, ['script', '-qfec', command, '/dev/null'])
    let seen = 0
    return {
      shows: (text) =>
        until(child.stdout, () => {
          const at = said.out.indexOf(text, seen)
          if (at !== -1) seen = at + text.length
          return at !== -1
        }),
      type: (keys) => void child.stdin.write(keys),
      ended,
    }
  }
  return {
    home,
    folder,
    run: (...args) => runWith({}, ...args),
    runWith,
    json: async (...args) => JSON.parse((await runWith({}, ...args, '--json')).out),
    start: (...args) => startWith({}, ...args),
    startWith,
    terminal: (...args) => terminalWith({}, ...args),
    terminalWith,
    remove() {
      for (const child of running) child.kill('SIGKILL')
      rmSync(root, { recursive: true, force: true })
    },
  }
}
/** The command with the agent it is for, where it talks to one and names none. */
function to(agent: string | null, args: string[]): string[] {
  const at = args.findIndex((word) => word === 'ask' || word === 'chat')
  if (agent === null || at === -1 || args.includes('--agent') || args[at + 1]?.startsWith('@')) return args
  const named = args[at] === 'ask' ? ['ask', '--agent', agent] : ['chat', agent]
  return [...args.slice(0, at), ...named, ...args.slice(at + 1)]
}

function until(stream: NodeJS.ReadableStream, isThere: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!isThere()) return
      stream.off('data', look)
      resolve()
    }
    stream.on('data', look)
    look()
  })
}
