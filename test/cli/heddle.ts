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
  remove(): void
}

export function newHeddle(): TestHeddle {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-cli-')))
  const [home, folder] = [join(root, 'home'), join(root, 'folder')]
  mkdirSync(folder)
  const runWith: TestHeddle['runWith'] = (options, ...args) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [bin, ...args], {
        cwd: options.cwd ?? folder,
        env: { PATH: process.env['PATH'], HOME: root, HEDDLE_HOME: home, ...options.env },
      })
      let [out, err] = ['', '']
      child.stdout.setEncoding('utf8').on('data', (text) => {
        out += text
      })
      child.stderr.setEncoding('utf8').on('data', (text) => {
        err += text
      })
      child.once('error', reject)
      child.once('close', (code, signal) => resolve({ code, signal, out, err }))
      child.stdin.end(options.input ?? '')
    })
  return {
    home,
    folder,
    run: (...args) => runWith({}, ...args),
    runWith,
    json: async (...args) => JSON.parse((await runWith({}, ...args, '--json')).out),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}
