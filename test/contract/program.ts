import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename, isAbsolute, join } from 'node:path'
import { createInterface } from 'node:readline'
import { inject, onTestFinished } from 'vitest'
import { buildOnce } from '../setup/build-once.ts'
import { bundle, bundleWhole } from '../setup/bundle.ts'
import { node } from '../setup/node.ts'

/** Another process of ours: it speaks JSON, a line for each thing it says. */
export interface Program {
  /** The next thing it says; rejects when it ends instead. */
  hear(): Promise<unknown>
  /** Everything it still has to say. */
  hearAll(): Promise<unknown[]>
  tell(line: string): void
  kill(signal: NodeJS.Signals): void
  /** How it ended: an exit code or the name of a signal. */
  readonly end: Promise<number | NodeJS.Signals>
}

export interface StartOptions {
  env?: Record<string, string>
  /** A command that runs the program, such as strace with its flags. */
  under?: string[]
}

/** Starts a program of this folder, or a bundled one, on the Node of the tests. It ends at the latest with the test. */
export function start(program: string, input: unknown, { env = {}, under = [] }: StartOptions = {}): Program {
  const words = [...under, ...node, fileOf(program), JSON.stringify(input)]
  const child = spawn(words[0] ?? '', words.slice(1), { env: { ...process.env, ...env } })
  onTestFinished(() => {
    child.stdin.destroy()
    child.kill('SIGKILL')
  })
  return { ...conversation(child), kill: (signal) => child.kill(signal) }
}

function fileOf(program: string): string {
  return isAbsolute(program) ? program : join(import.meta.dirname, `${program}.ts`)
}

/** The same program in one file, which starts twice as fast; made once for each test run. */
export async function bundled(program: string): Promise<string> {
  const folder = folderOf(program)
  await buildOnce(folder, (directory) => bundle(fileOf(program), directory))
  return join(folder, `${basename(program)}.js`)
}

/** One that opens a home, and so needs all that the package has. */
export async function bundledWhole(program: string): Promise<string> {
  const folder = folderOf(program)
  await buildOnce(folder, (directory) => bundleWhole(fileOf(program), directory))
  return join(folder, 'programs', `${basename(program)}.js`)
}

function folderOf(program: string): string {
  return join(inject('runFolder'), 'programs', basename(program))
}

function conversation(child: ChildProcessWithoutNullStreams): Omit<Program, 'kill'> {
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  // Writing to a child that was killed is no failure of the test.
  child.stdin.on('error', () => undefined)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const end = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals)
  return {
    end,
    tell: (line) => child.stdin.write(`${line}\n`),
    async hear() {
      const { value, done } = await lines.next()
      if (done) throw new Error(`the child ended (${await end}) without a word:\n${complaints}`)
      return JSON.parse(value)
    },
    async hearAll() {
      const heard: unknown[] = []
      for (let next = await lines.next(); !next.done; next = await lines.next()) heard.push(parsed(next.value))
      return heard.filter((line) => line !== undefined)
    },
  }
}

/** Undefined for a line that a kill cut short. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
