import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import { asNobody } from '../setup/as-nobody.ts'
import { inTurn, isLong } from '../setup/long.ts'
import { describeAsRoot, testAsRoot } from '../setup/root.ts'
import { untilSo } from '../setup/until.ts'
import {
  type CommandFolder,
  commandFolder,
  descendantsOf,
  isRoot,
  nobody,
  processesWith,
  untilNone,
} from './command-folder.ts'

let folder: CommandFolder
afterEach(() => folder.remove())

// A number that only one test's processes have among their arguments.
let marks = 0
const newMark = () => `${process.pid}${String(++marks).padStart(3, '0')}.25`

describe('whatever a command leaves behind ends with it', () => {
  const leftovers: [what: string, command: (mark: string) => string][] = [
    ['a child in the background', (mark: string) => `sleep ${mark} & echo left`],
    ['one that ignores signals', (mark: string) => `(trap '' TERM INT HUP; sleep ${mark}) & echo left`],
    ['a session of its own', (mark: string) => `setsid sleep ${mark} > /dev/null 2>&1 < /dev/null & echo left`],
    [
      'a daemon that has forked twice',
      (mark: string) => `(setsid bash -c 'exec > /dev/null 2>&1; sleep ${mark} & disown' &); echo left`,
    ],
    ['all of its own group', () => 'trap "kill 0" EXIT; trap : TERM; echo left'],
    ['a coprocess', (mark: string) => `coproc sleep ${mark}; echo left`],
  ]
  test.each(inTurn(leftovers, 2))('%s', async (_, command) => {
    folder = await commandFolder()
    const mark = newMark()
    expect(await folder.run(command(mark))).toBe('left\n[exit 0]')
    expect(await untilNone(mark)).toEqual([])
  })
})

describe('a command that does not end is killed with all it started', () => {
  const endless: [what: string, command: (mark: string) => string][] = [
    ['that sleeps', (mark: string) => `echo begun; sleep ${mark}`],
    [
      'that ignores signals',
      (mark: string) => `trap '' TERM INT HUP ALRM; echo begun; while :; do sleep ${mark}; done`,
    ],
    ['that has closed its output', (mark: string) => `echo begun; exec > /dev/null 2>&1; sleep ${mark}`],
    ['that waits for a daemon', (mark: string) => `echo begun; setsid --wait sleep ${mark}`],
    ['that has stopped itself', (mark: string) => `echo begun; sleep ${mark} & kill -STOP $$`],
  ]
  test.each(inTurn(endless, 1))('%s', async (_, command) => {
    folder = await commandFolder()
    const mark = newMark()
    expect(await folder.run(command(mark), { timeout_seconds: 1 })).toBe('begun\n[killed: timed out after 1 s]')
    expect(await untilNone(mark)).toEqual([])
  })

  test('when the call is given up, which tells what the command had changed until then', async () => {
    folder = await commandFolder()
    const [mark, stop] = [newMark(), new AbortController()]
    const call = folder.call({ command: `touch begun; sleep ${mark}` }, stop.signal)
    await untilSo(() => readdirSync(folder.path).includes('begun'))
    stop.abort(new Error('given up'))
    expect(await call).toMatchObject({ output: '[killed: stopped]', touched: { created: ['begun'] } })
    expect(await untilNone(mark)).toEqual([])
  })

  test('and is not even begun when it was given up before', async () => {
    folder = await commandFolder()
    await expect(folder.call({ command: 'touch begun' }, AbortSignal.abort(new Error('before')))).rejects.toThrow(
      'before',
    )
    expect(readdirSync(folder.path)).toEqual(['deep'])
  })

  test('at whichever moment of its start it is given up', async () => {
    folder = await commandFolder()
    const mark = newMark()
    // At another of its first turns each time, and with another number of processes.
    for (const at of inTurn([...Array(40).keys()], 3)) {
      const stop = new AbortController()
      const call = folder.call({ command: `sleep ${mark}` }, stop.signal)
      let turns = 0
      if (at < 20) await untilSo(() => turns++ === at)
      else await untilSo(() => descendantsOf(process.pid) >= (at % 5) + 1)
      stop.abort(new Error('given up'))
      const end = await call.then(
        ({ output }) => output,
        (error: Error) => error.message,
      )
      expect(['given up', '[killed: stopped]']).toContain(end)
      expect(await untilNone(mark)).toEqual([])
    }
    expect(await untilNone(mark)).toEqual([])
    expect(await untilNone(folder.path)).toEqual([])
  })

  test('when the runtime is killed', async () => {
    folder = await commandFolder()
    const mark = newMark()
    const program = runProgram(folder.path, `sleep ${mark}`)
    await untilSo(() => processesWith(`sleep\0${mark}`).length > 0)
    program.kill('SIGKILL')
    await once(program, 'exit')
    expect(await untilNone(mark)).toEqual([])
  })
})

test('at whichever moment of a start the runtime is killed, nothing is left', async () => {
  folder = await commandFolder()
  const mark = newMark()
  for (const round of isLong ? Array(30).keys() : inTurn([...Array(6).keys()], 2)) {
    const program = runProgram(folder.path, 'true', `sleep ${mark}`)
    // The next command begins right after the answer to the first; it is a process more at each step of its start.
    await once(program.stdout, 'data')
    await untilSo(() => descendantsOf(program.pid ?? 0) >= round % 6)
    program.kill('SIGKILL')
    await once(program, 'exit')
  }
  expect(await untilNone(mark)).toEqual([])
  expect(await untilNone(folder.path)).toEqual([])
})

describe('a command takes no more than it may', () => {
  test('of output: a gigabyte ends it, in little memory of ours', async () => {
    folder = await commandFolder()
    const before = process.memoryUsage().rss
    const text = await folder.run("head -c 1G /dev/zero | tr '\\0' x", { timeout_seconds: 60 })
    expect(text).toMatch(/^x{24000}\n… \[cut: \d+ bytes\] …\nx{24000}\n\[killed: wrote more than 256 MB\]$/)
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 2 ** 20)
  })

  const eaters: [what: string, command: string, end: string][] = [
    [
      'one process',
      'node -e "const a = []; for (;;) a.push(Buffer.alloc(1e7, 1))"',
      'killed: more than 512 MB of memory|RangeError: .*alloc',
    ],
    [
      'several',
      'for i in 1 2 3 4; do node -e "const a = Buffer.alloc(2e8, 1); setTimeout(() => a, 60000)" & done; wait',
      'killed: more than 512 MB of memory',
    ],
    ['one process, at once', 'node -e "Buffer.alloc(2e9, 1)"', 'RangeError: .*alloc'],
    ['a file in memory', 'head -c 1G /dev/zero > /tmp/large', 'No space left on device'],
    ['shared memory', 'head -c 1G /dev/zero > /dev/shm/large', 'No space left on device'],
  ]
  test.each(inTurn(eaters, 1))('of memory: %s', async (_, command, end) => {
    folder = await commandFolder({ memoryMB: 512 })
    expect(await folder.run(command)).toMatch(new RegExp(end))
  })

  const owners = isRoot ? [undefined, nobody] : [undefined]
  test.each(inTurn(owners, 1))('of processes: one that forks and forks (owner %s)', async (owner) => {
    folder = await commandFolder({ processes: 40 }, owner === undefined ? {} : { owner })
    const mark = newMark()
    const text = await folder.run(`for i in {1..2000}; do sleep ${mark} & sleep 0.001; done; echo all of them`, {
      timeout_seconds: 3,
    })
    expect(text).toMatch(/Resource temporarily unavailable|\[killed: more than 40 processes\]/)
    expect(text).not.toContain('all of them')
    expect(await untilNone(mark)).toEqual([])
  })

  testAsRoot('of processes: a bomb', async () => {
    folder = await commandFolder({ processes: 40 }, { owner: nobody })
    const text = await folder.run('bomb() { bomb | bomb & }; bomb; sleep 1; echo still here', { timeout_seconds: 3 })
    expect(text).toMatch(/\[(exit \d+|killed: [^\]]+)\]$/)
    expect(await untilNone(folder.path)).toEqual([])
  })
})

describe('many commands at once', () => {
  const count = isLong ? 50 : 12
  test(`${count} finish, and leave neither a process nor a descriptor`, async () => {
    folder = await commandFolder()
    await folder.run('true')
    // What other tests of the worker have open may close meanwhile.
    const before = openDescriptors()
    const left = () => openDescriptors().filter((each) => !before.includes(each))
    const mark = newMark()
    const texts = await Promise.all(
      Array.from({ length: count }, (_, at) =>
        folder.run(`sleep ${mark} & echo ${at}; node -p ${at}`, { timeout_seconds: 60 }),
      ),
    )
    expect(texts).toEqual(texts.map((_, at) => `${at}\n${at}\n[exit 0]`))
    expect(await untilNone(mark)).toEqual([])
    expect(await untilNone(folder.path)).toEqual([])
    // The last look at a sandbox may still be under way.
    await untilSo(() => left().length === 0)
  })
})

describeAsRoot('for an ordinary user', () => {
  test('a command runs, within its walls and its bounds', async () => {
    folder = await commandFolder({}, { owner: nobody })
    const commands = [
      'id -u; touch made; node -p 1+1',
      `cat ${join(folder.outside, 'none')} /etc/shadow; unshare -Ur true`,
      'for i in {1..4}; do node -e "const a = Buffer.alloc(2e8, 1); setTimeout(() => a, 60000)" & done; wait',
      'for i in {1..60}; do sleep 1 & done; wait',
    ]
    const program = runProgram(folder.path, ...commands)
    const lines: string[] = []
    for await (const line of createInterface(program.stdout)) lines.push(JSON.parse(line))
    expect(lines).toEqual([
      `${nobody}\n2\n[exit 0]`,
      expect.stringMatching(/No such file[\s\S]*No such file[\s\S]*unshare failed[\s\S]*\[exit 1\]$/),
      '[killed: more than 512 MB of memory]',
      expect.stringMatching(/Resource temporarily unavailable/),
    ])
  })
})

/** Descriptors of this process with what each is open on, but for the one that this look itself opens. */
function openDescriptors(): string[] {
  const open = readdirSync('/proc/self/fd', { withFileTypes: true })
  return open.flatMap(({ name }) => {
    const target = readlinkOf(join('/proc/self/fd', name))
    return target === undefined ? [] : `${name} ${target}`
  })
}

function readlinkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** A runtime of its own, as nobody where that is who owns the folder. */
function runProgram(...args: string[]): ChildProcessByStdio<null, Readable, null> {
  const program = join(import.meta.dirname, 'exec-program.ts')
  const isTheirs = statSync(args[0] ?? '/').uid === nobody
  const words: [string, string[]] = isTheirs ? asNobody(program, ...args) : [process.execPath, [program, ...args]]
  return spawn(...words, { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' })
}
