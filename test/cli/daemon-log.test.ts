import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { cachedCode } from '../setup/built-heddle.ts'
import { node } from '../setup/node.ts'
import { untilSo } from '../setup/until.ts'
import { bin, newHeddle, type TestHeddle } from './heddle.ts'

vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
let daemon: ChildProcess | undefined
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(async () => {
  if (daemon && daemon.exitCode === null && daemon.signalCode === null) {
    const ended = once(daemon, 'exit')
    daemon.kill('SIGKILL')
    await ended
  }
  heddle.remove()
})

/** `heddle up --json` with this stderr, once it answers on its socket. */
async function startDaemon(stderr: 'pipe' | number): Promise<ChildProcess> {
  const root = join(heddle.home, '..')
  const env = { ...cachedCode, PATH: process.env['PATH'], HOME: root, HEDDLE_HOME: heddle.home }
  const started = spawn(node[0], [...node.slice(1), bin, 'up', '--json'], {
    cwd: heddle.folder,
    env,
    stdio: ['ignore', 'ignore', stderr],
  })
  daemon = started
  await untilSo(() => existsSync(join(heddle.home, 'run', 'heddle.sock')))
  return started
}

/** SIGTERM, and the exit code it led to. */
async function terminated(process: ChildProcess): Promise<unknown> {
  const ended = once(process, 'exit')
  process.kill('SIGTERM')
  return (await ended)[0]
}

test('a daemon whose log has lost its reader ends on SIGTERM', async () => {
  const { reader, writer } = pipe()
  const daemon = await startDaemon(writer)
  closeSync(writer)
  let said = ''
  await untilSo(() => {
    said += readable(reader)
    return said.includes('running:')
  })
  closeSync(reader)
  expect(await terminated(daemon)).toBe(0)
})

test('a daemon whose log has lost its reader works on', async () => {
  const daemon = await startDaemon('pipe')
  daemon.stderr?.destroy()
  expect((await heddle.run('ask', '--no-wait', 'hello')).code).toBe(0)
  expect(await terminated(daemon)).toBe(0)
})

test('a daemon whose log is never read works on, and ends on SIGTERM', async () => {
  const { reader, writer } = pipe()
  try {
    fill(reader)
    const daemon = await startDaemon(writer)
    expect((await heddle.run('ask', '--no-wait', 'hello')).code).toBe(0)
    expect(await terminated(daemon)).toBe(0)
  } finally {
    closeSync(writer)
    closeSync(reader)
  }
})

test('a daemon that ends has written its whole log to a reader that is slow', async () => {
  const daemon = await startDaemon('pipe')
  let said = ''
  const ended = once(daemon, 'exit')
  daemon.kill('SIGTERM')
  for await (const piece of daemon.stderr ?? []) said += piece
  await ended
  const messages = said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).msg as string)
  expect(messages.at(-1)).toBe('stopped')
})

/** The two ends of a pipe; the reading one can also be used to fill it. */
function pipe(): { reader: number; writer: number } {
  const fifo = join(heddle.folder, 'log')
  execFileSync('mkfifo', [fifo])
  const reader = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  return { reader, writer: openSync(fifo, 'w') }
}

/** What a pipe holds at this moment. */
function readable(descriptor: number): string {
  const buffer = Buffer.alloc(65_536)
  try {
    return buffer.toString('utf8', 0, readSync(descriptor, buffer))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    return ''
  }
}

/** Writes until the pipe takes no more. */
function fill(descriptor: number): void {
  for (const size of [4096, 1])
    try {
      for (;;) writeSync(descriptor, Buffer.alloc(size, 'x'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
}

test('the log file of a daemon that open started stays small: full, it goes on in an empty one beside the old lines', async () => {
  await heddle.run('init')
  const file = join(heddle.home, 'run', 'up.log')
  const old = `${'x'.repeat(99)}\n`.repeat(52_400)
  writeFileSync(file, old)
  const log = openSync(file, 'a')
  await startDaemon(log)
  closeSync(log)
  for (let n = 0; n < 20; n++) await heddle.run('ask', `remember ${'y'.repeat(200)}`)
  await untilSo(() => existsSync(`${file}.1`) && statSync(file).size < 1024 * 1024)
  expect(readFileSync(`${file}.1`, 'utf8').startsWith(old)).toBe(true)
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n'))
    expect(JSON.parse(line)).toMatchObject({ pid: daemon?.pid })
})
