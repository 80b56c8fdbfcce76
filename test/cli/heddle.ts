import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const bin = join(import.meta.dirname, '../../bin/heddle')

export interface Spoken {
  code: number | null
  signal: NodeJS.Signals | null
  out: string
  err: string
}

/** The real program in a home and a folder of its own. */
export interface TestHeddle {
  home: string
  folder: string
  run(...args: string[]): Promise<Spoken>
  runWith(options: { env?: NodeJS.ProcessEnv; input?: string; cwd?: string }, ...args: string[]): Promise<Spoken>
  /** Runs with --json and gives the one document that stdout must be. */
  json<T = Record<string, unknown>>(...args: string[]): Promise<T>
  /** Starts a command that stays. */
  start(...args: string[]): Started
  remove(): void
}

/** A command that runs until it is told to stop. */
export interface Started {
  pid: number | undefined
  /** Resolves when this text has come on stderr. */
  says(text: string): Promise<void>
  stop(signal: NodeJS.Signals): void
  ended: Promise<Spoken>
}

export function newHeddle(): TestHeddle {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-cli-')))
  const [home, folder] = [join(root, 'home'), join(root, 'folder')]
  mkdirSync(folder)
  const begin = (options: { env?: NodeJS.ProcessEnv; cwd?: string }, args: string[]) => {
    const child = spawn(process.execPath, [bin, ...args], {
      cwd: options.cwd ?? folder,
      env: { PATH: process.env['PATH'], HOME: root, HEDDLE_HOME: home, ...options.env },
    })
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
  const runWith: TestHeddle['runWith'] = (options, ...args) => {
    const { child, ended } = begin(options, args)
    child.stdin.end(options.input ?? '')
    return ended
  }
  return {
    home,
    folder,
    run: (...args) => runWith({}, ...args),
    runWith,
    json: async (...args) => JSON.parse((await runWith({}, ...args, '--json')).out),
    start(...args) {
      const { child, said, ended } = begin({}, args)
      return {
        pid: child.pid,
        says: (text) =>
          new Promise((resolve) => {
            const look = () => said.err.includes(text) && resolve()
            child.stderr.on('data', look)
            look()
          }),
        stop: (signal) => child.kill(signal),
        ended,
      }
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}
