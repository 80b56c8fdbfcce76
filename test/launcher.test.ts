import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { killGroup } from './setup/kill-group.ts'
import { oldNodes } from './setup/old-nodes.ts'

const root = join(import.meta.dirname, '..')
const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-launcher-')))
const checkout = join(place, 'checkout')

// Says what reaches it and from whom, and ends on the first SIGTERM with all it has seen.
const program = `
export async function main(argv) {
  if (argv[0] === 'say') console.log(JSON.stringify(argv))
  if (argv[0] === 'say') return 7
  if (argv[0] === 'die') process.kill(process.pid, argv[1])
  if (argv[0] === 'die') return new Promise(() => setInterval(() => {}, 1000))
  if (argv[0] === 'wait') console.log('ready')
  if (argv[0] === 'wait') return new Promise(() => setInterval(() => {}, 1000))
  const seen = []
  for (const signal of ['SIGINT', 'SIGHUP'])
    process.on(signal, (from) => console.log(seen.push(from === signal ? signal : signal + ' by ' + from)))
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 1000)
    process.on('SIGTERM', () => {
      console.log([...seen.sort(), 'SIGTERM'].join(', '))
      clearInterval(alive)
      resolve(5)
    })
    console.log('ready')
  })
}
`

beforeAll(() => {
  mkdirSync(join(checkout, 'src/cli'), { recursive: true })
  mkdirSync(join(checkout, 'node_modules'))
  cpSync(join(root, 'bin'), join(checkout, 'bin'), { recursive: true })
  symlinkSync(join(root, 'node_modules/node'), join(checkout, 'node_modules/node'))
  writeFileSync(join(checkout, 'package.json'), '{"type":"module"}')
  writeFileSync(join(checkout, 'src/cli/main.ts'), program)
})

const started: ChildProcessByStdio<null, Readable, null>[] = []

// A test that failed may have left a launcher or its program running.
afterEach(() => {
  for (const { pid } of started.splice(0)) if (pid !== undefined) killGroup(pid)
})

afterAll(() => rmSync(place, { recursive: true, force: true }))

describe.each(oldNodes(place))('a checkout on $name', ({ command: [node = '', ...options] }) => {
  const start = (...args: string[]) => {
    const launcher = spawn(node, [...options, join(checkout, 'bin/heddle'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      // A group of its own is what a terminal gives to a command.
      detached: true,
    })
    started.push(launcher)
    return launcher
  }

  test('runs itself on its own Node 24', () => {
    const seen = join(mkdtempSync(join(place, 'seen-')), 'nodes')
    const probe = join(place, 'probe.cjs')
    writeFileSync(probe, "require('fs').appendFileSync(process.env.SEEN, process.execPath + '\\n')")
    const env = { ...process.env, HEDDLE_HOME: join(place, 'home'), SEEN: seen, NODE_OPTIONS: `--require ${probe}` }
    const { stdout, stderr } = spawnSync(node, [...options, join(root, 'bin/heddle'), '--version'], {
      env,
      encoding: 'utf8',
      timeout: 100_000,
    })
    expect({ stdout, stderr }).toEqual({ stdout: '0.1.0\n', stderr: '' })
    const [, ownNode] = readFileSync(seen, 'utf8').split('\n')
    expect(ownNode).toBe(realpathSync(join(root, 'node_modules/node/bin/node')))
  })

  test('passes on the arguments and the exit code', async () => {
    const launcher = start('say', 'two words', '--flag')
    const exit = once(launcher, 'exit')
    expect(await linesOf(launcher).next()).toMatchObject({ value: '["say","two words","--flag"]' })
    expect(await exit).toEqual([7, null])
  })

  test.each(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'])('dies of %s when its program did', async (signal) => {
    expect(await once(start('die', signal), 'exit')).toEqual([null, signal])
  })

  test('tells its program of Ctrl-C, marked as told, and hands it SIGHUP and SIGTERM', async () => {
    const launcher = start()
    const exit = once(launcher, 'exit')
    const lines = linesOf(launcher)
    await lines.next()
    process.kill(-(launcher.pid ?? 0), 'SIGINT')
    expect([await lines.next(), await lines.next()]).toMatchObject([{ value: '1' }, { value: '2' }])
    launcher.kill('SIGHUP')
    expect(await lines.next()).toMatchObject({ value: '3' })
    launcher.kill('SIGTERM')
    expect(await lines.next()).toMatchObject({ value: 'SIGHUP, SIGINT, SIGINT by launcher, SIGTERM' })
    expect(await exit).toEqual([5, null])
  })

  test('ends a program that does not listen to SIGINT by it', async () => {
    const launcher = start('wait')
    const exit = once(launcher, 'exit')
    await linesOf(launcher).next()
    launcher.kill('SIGINT')
    expect(await exit).toEqual([null, 'SIGINT'])
  })

  test('does not leave its program behind when it is killed outright', async () => {
    const launcher = start()
    const lines = linesOf(launcher)
    await lines.next()
    launcher.kill('SIGKILL')
    expect(await lines.next()).toMatchObject({ value: 'SIGTERM' })
    expect(await lines.next()).toMatchObject({ done: true })
  })

  test('asks in one line for npm install when that was not done', () => {
    const bare = mkdtempSync(join(place, 'bare-'))
    mkdirSync(join(bare, 'src'))
    cpSync(join(checkout, 'bin'), join(bare, 'bin'), { recursive: true })
    cpSync(join(checkout, 'package.json'), join(bare, 'package.json'))
    const attempt = () => {
      const { status, stderr } = spawnSync(node, [...options, join(bare, 'bin/heddle')], {
        encoding: 'utf8',
        timeout: 100_000,
      })
      return { status, stderr }
    }
    expect(attempt()).toEqual({ status: 2, stderr: `heddle is not installed yet: run npm install in ${bare}\n` })
    mkdirSync(join(bare, 'node_modules'))
    expect(attempt()).toEqual({
      status: 2,
      stderr: expect.stringMatching(/^heddle needs Node 24, this is v\S+: run npm install in \S+ to get it\n$/),
    })
  })
})

describe('compiled code is kept', () => {
  const node = join(root, 'node_modules/node/bin/node')
  const own = (name: string) => mkdtempSync(join(place, name))
  const run = (env: NodeJS.ProcessEnv, ...args: string[]) =>
    spawnSync(node, [join(checkout, 'bin/heddle'), ...args], { env, encoding: 'utf8', timeout: 100_000 })
  const cached = (directory: string) => existsSync(directory) && readdirSync(directory).length > 0

  test('in the home, and never in the directory for temporary files', () => {
    const [home, userHome, temporary] = [own('home-'), own('user-'), own('tmp-')]
    expect(run({ HEDDLE_HOME: home, HOME: userHome, TMPDIR: temporary }, 'say').status).toBe(7)
    expect(cached(join(home, 'cache'))).toBe(true)
    mkdirSync(join(userHome, '.heddle'), { mode: 0o700 })
    expect(run({ HOME: userHome, TMPDIR: temporary }, 'say').status).toBe(7)
    expect(cached(join(userHome, '.heddle', 'cache'))).toBe(true)
    expect(readdirSync(temporary)).toEqual([])
  })

  test('nowhere while there is no home, or where others can write to it; and asking for the version makes none', () => {
    const [userHome, shared] = [own('user-'), own('shared-')]
    chmodSync(shared, 0o777)
    for (const args of [['--version'], ['say']]) run({ HOME: userHome, TMPDIR: userHome }, ...args)
    expect(readdirSync(userHome)).toEqual([])
    run({ HOME: userHome, HEDDLE_HOME: shared, TMPDIR: userHome }, 'say')
    expect(readdirSync(shared)).toEqual([])
  })
})

function linesOf(child: ChildProcessByStdio<null, Readable, null>): AsyncIterator<string> {
  return createInterface({ input: child.stdout })[Symbol.asyncIterator]()
}
