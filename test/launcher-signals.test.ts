import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RequestAnswer } from '../src/api/views/question.ts'
import type { RunView } from '../src/api/views/run.ts'
import { answerPlainly, startProvider, type TestProvider } from '../src/testing.ts'
import { newHeddle, type TestHeddle } from './cli/heddle.ts'
import { builtCheckout } from './setup/built-heddle.ts'
import { holdDatabase } from './setup/hold-database.ts'
import { killGroup } from './setup/kill-group.ts'
import { inTurn } from './setup/long.ts'
import { node } from './setup/node.ts'
import { oldNodes } from './setup/old-nodes.ts'
import { untilSo } from './setup/until.ts'

// Each test starts a daemon and waits for its end.
vi.setConfig({ testTimeout: 240_000 })

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-signals-')))
const bin = await builtCheckout(place)
// Where the machine has a Node that is really old, the launcher runs on it.
const oldNode = oldNodes(place).at(-1)?.command ?? []
const ctrlC = '\u0003'

let heddle: TestHeddle
let provider: TestProvider
let releaseAnswers: () => void
let releaseDatabase: () => void = () => undefined
const started: ChildProcess[] = []

beforeEach(async () => {
  heddle = newHeddle()
  const { promise: held, resolve } = Promise.withResolvers<void>()
  releaseAnswers = resolve
  provider = await startProvider({ answer: (request) => held.then(() => answerPlainly(request)) })
  await heddle.run('init')
  const model = `provider: openai-compatible, baseURL: "${provider.url}", model: tiny`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: { ${model} }\n`)
})
afterEach(async () => {
  releaseDatabase()
  releaseAnswers()
  for (const { pid } of started.splice(0)) if (pid !== undefined) killGroup(pid)
  await provider.close()
  heddle.remove()
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** A command between its start and its end. */
interface Command {
  /** The process that was started; the launcher, where there is one. */
  pid: number
  child: ChildProcess
  says(text: string): Promise<void>
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** A daemon with a run under way. */
interface Daemon extends Command {
  /** The process that does the work. */
  program: number
  /** It, and whoever started it for us. */
  processes: number[]
  runId: string
}

/** In a process group of its own, as a terminal gives one to a command and a supervisor to a service. */
function start([program = '', ...args]: string[]): Command {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, NODE_COMPILE_CACHE, HOME: join(heddle.home, '..'), HEDDLE_HOME: heddle.home }
  const child = spawn(program, args, { cwd: heddle.folder, env, stdio: 'pipe', detached: true })
  started.push(child)
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  // A key may be pressed while the command ends.
  child.stdin.on('error', () => undefined)
  let isOver = false
  const ended: Command['ended'] = new Promise((resolve) =>
    child.once('close', (code, signal) => {
      isOver = true
      resolve({ code, signal })
    }),
  )
  const says = async (text: string) => {
    await untilSo(() => isOver || said.includes(text))
    expect(said).toContain(text)
  }
  return { pid: child.pid ?? 0, child, says, ended }
}

async function busyDaemon(command: string[]): Promise<Daemon> {
  const daemon = start(command)
  await daemon.says('running:')
  const { runId } = await heddle.json<RequestAnswer>('ask', '--no-wait', 'which port?')
  await provider.until(({ kind }) => kind === 'received')
  const { daemon: program } = await heddle.json<{ daemon: number }>('status')
  const processes = [program, parentOf(program)].filter((pid) => pid !== process.pid)
  return { ...daemon, program, processes, runId: String(runId) }
}

const upOn = (node: string[]) => busyDaemon([...node, bin, 'up'])

/** On a terminal of its own; keys are typed on its stdin. */
function onTerminal(node: string[]): Promise<Daemon> {
  return busyDaemon(onTerminalCommand(`exec ${quoted([...node, bin, 'up'])}`))
}

const onTerminalCommand = (command: string) => ['script', '-qfec', command, '/dev/null']
const quoted = (words: string[]) => words.map((word) => `'${word}'`).join(' ')

/** The daemon gave its run back, said so, and left nothing behind. */
async function expectDrained(daemon: Daemon): Promise<void> {
  releaseDatabase()
  expect(await daemon.ended).toEqual({ code: 0, signal: null })
  expect(daemon.processes.filter(isAlive)).toEqual([])
  expect(await heddle.json<RunView>('show', `run:${daemon.runId}`)).toMatchObject({ state: 'queued', crashes: 0 })
}

/** Gets SIGTERM all the time, from its first to its last moment of stopping. */
async function expectDrainedUnderSignals(node: string[]): Promise<void> {
  const daemon = await upOn(node)
  await untilSo(() => {
    signalGroup(daemon.pid, 'SIGTERM')
    return !isAlive(daemon.pid)
  })
  await expectDrained(daemon)
}

/** The first shell ends with its terminal, so that the system tells the others; the second survives and notes the code. */
async function expectDrainedWithoutTerminal(node: string[]): Promise<void> {
  const codeFile = join(heddle.home, '..', 'exit-code')
  const script = join(heddle.home, '..', 'note-code.sh')
  writeFileSync(script, `trap '' HUP; ${quoted([...node, bin, 'up'])}; echo $? >${codeFile}`)
  const daemon = await busyDaemon(onTerminalCommand(`sh ${script}; true`))
  process.kill(daemon.pid, 'SIGKILL')
  await untilSo(() => existsSync(codeFile) && readFileSync(codeFile, 'utf8') !== '')
  expect(readFileSync(codeFile, 'utf8')).toBe('0\n')
  expect(isAlive(daemon.program)).toBe(false)
  expect(await heddle.json<RunView>('show', `run:${daemon.runId}`)).toMatchObject({ state: 'queued', crashes: 0 })
}

describe('a daemon behind the launcher', () => {
  type Way = [string, (daemon: Daemon, signal: NodeJS.Signals) => void]
  const ways: Way[] = [
    ['to the launcher', ({ pid }, signal) => process.kill(pid, signal)],
    ['to the program', ({ program }, signal) => process.kill(program, signal)],
    ['to the group', ({ pid }, signal) => process.kill(-pid, signal)],
  ]

  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  describe.each(signals)('%s', (signal) => {
    // Each signal by another way, and all of them by each in turn.
    const first = signals.indexOf(signal)
    const waysOfIt = [...ways.slice(first), ...ways.slice(0, first)]
    test.each(inTurn(waysOfIt, 1))('%s is one stop in good order', async (_, send) => {
      const daemon = await upOn(oldNode)
      expect(daemon.program).not.toBe(daemon.pid)
      releaseDatabase = holdDatabase(heddle.home)
      send(daemon, signal)
      await daemon.says('stopping')
      await expectDrained(daemon)
    })
  })

  test.each(inTurn(signals, 1))(
    '%s to the group is one stop, however late the launcher passes it on',
    async (signal) => {
      const daemon = await upOn(oldNode)
      releaseDatabase = holdDatabase(heddle.home)
      process.kill(daemon.pid, 'SIGSTOP')
      process.kill(-daemon.pid, signal)
      await daemon.says('stopping')
      process.kill(daemon.pid, 'SIGCONT')
      await untilSo(() => !hasPending(daemon.pid))
      await expectDrained(daemon)
    },
  )

  test('SIGTERM to the group until the last process is gone is one stop', () => expectDrainedUnderSignals(oldNode))

  test('SIGTERM while the program is being started ends it in good order', async () => {
    const daemon = start([...oldNode, bin, 'up'])
    await untilSo(() => childOf(daemon.pid) !== undefined)
    process.kill(-daemon.pid, 'SIGTERM')
    expect(await daemon.ended).toEqual({ code: 0, signal: null })
  })

  test('a terminal that is closed is one stop in good order', () => expectDrainedWithoutTerminal(oldNode))

  test.each(inTurn(ways, 1))('SIGTERM %s, again while it stops, does not end it sooner', async (_, send) => {
    const daemon = await upOn(oldNode)
    releaseDatabase = holdDatabase(heddle.home)
    send(daemon, 'SIGTERM')
    await daemon.says('stopping')
    send(daemon, 'SIGTERM')
    await untilSo(() => !hasPending(daemon.pid) && !hasPending(daemon.program))
    await expectDrained(daemon)
  })

  test('SIGKILL to the launcher is one stop too, also after a SIGTERM', async () => {
    const daemon = await upOn(oldNode)
    releaseDatabase = holdDatabase(heddle.home)
    process.kill(daemon.pid, 'SIGTERM')
    await daemon.says('stopping')
    process.kill(daemon.pid, 'SIGKILL')
    await untilSo(() => !isAlive(daemon.pid))
    releaseDatabase()
    await untilSo(() => !isAlive(daemon.program))
    expect(await heddle.json<RunView>('show', `run:${daemon.runId}`)).toMatchObject({ state: 'queued', crashes: 0 })
  })

  const presses = [
    ['once', ctrlC],
    ['twice in a row', `${ctrlC}${ctrlC}`],
  ]
  test.each(inTurn(presses, 1))('Ctrl-C on a terminal, %s, is one stop in good order', async (_, keys) => {
    const daemon = await onTerminal(oldNode)
    releaseDatabase = holdDatabase(heddle.home)
    daemon.child.stdin?.write(keys)
    await daemon.says('stopping')
    await expectDrained(daemon)
  })

  test('Ctrl-C again after a moment does not wait', async () => {
    const daemon = await onTerminal(oldNode)
    releaseDatabase = holdDatabase(heddle.home)
    daemon.child.stdin?.write(ctrlC)
    await daemon.says('stopping')
    await untilSo(() => {
      daemon.child.stdin?.write(ctrlC)
      return !isAlive(daemon.program)
    })
    expect(await daemon.ended).toEqual({ code: 130, signal: null })
    expect(daemon.processes.filter(isAlive)).toEqual([])
  })

  test.each(inTurn(['SIGTERM', 'SIGHUP'] as const, 1))(
    'a question is cancelled by %s to the group, and says so',
    async (signal) => {
      const ask = start([...oldNode, bin, 'ask', '--agent', '@general', '--json', 'which port?'])
      await provider.until(({ kind }) => kind === 'received')
      releaseDatabase = holdDatabase(heddle.home)
      process.kill(-ask.pid, signal)
      await untilSo(() => !hasPending(ask.pid))
      releaseDatabase()
      await ask.says('"status":"cancelled"')
      expect(await ask.ended).toEqual({ code: 130, signal: null })
      expect(await heddle.json('ps')).toMatchObject({ runs: [] })
    },
  )
})

describe('a daemon without a launcher', () => {
  test('SIGTERM again while it stops does not end it sooner', async () => {
    const daemon = await upOn(node)
    expect(daemon.program).toBe(daemon.pid)
    releaseDatabase = holdDatabase(heddle.home)
    process.kill(daemon.pid, 'SIGTERM')
    await daemon.says('stopping')
    process.kill(daemon.pid, 'SIGTERM')
    await untilSo(() => !hasPending(daemon.pid))
    await expectDrained(daemon)
  })

  test('SIGTERM until the process is gone is one stop', () => expectDrainedUnderSignals(node))

  test('a terminal that is closed is one stop in good order', () => expectDrainedWithoutTerminal(node))

  test.each(inTurn(['SIGTERM', 'SIGHUP', 'SIGINT'], 1))(
    '%s while the program is loaded ends it in good order',
    async (signal) => {
      const preload = join(place, `${signal}.cjs`)
      const hook = `load(url, context, next) {
      if (url.endsWith('/cli/main.ts')) process.kill(process.pid, '${signal}')
      return next(url, context)
    }`
      writeFileSync(preload, `require('node:module').registerHooks({ ${hook} })`)
      const daemon = start([...node, '--require', preload, bin, '--home', heddle.home, 'up'])
      expect(await daemon.ended).toEqual({ code: 0, signal: null })
    },
  )

  // It sends what it gets to the process, and once more to the group.
  test('SIGINT by way of timeout is one stop in good order', async () => {
    const daemon = await upOn(['timeout', '600', ...node])
    releaseDatabase = holdDatabase(heddle.home)
    process.kill(daemon.pid, 'SIGINT')
    await daemon.says('stopping')
    await expectDrained(daemon)
  })
})

describe('the terminal of a command is closed:', () => {
  const close = (command: Command) => process.kill(command.pid, 'SIGKILL')

  test('a question that this process works on is cancelled', async () => {
    const ask = start(onTerminalCommand(`exec ${quoted([...node, bin, 'ask', '--agent', '@general', 'which port?'])}`))
    await provider.until(({ kind }) => kind === 'received')
    const program = childOf(ask.pid) ?? 0
    close(ask)
    await untilSo(() => !isAlive(program))
    expect(await heddle.json('ps')).toMatchObject({ runs: [] })
    const { runs } = await heddle.json<{ runs: RunView[] }>('ps', '--all')
    expect(runs).toMatchObject([{ state: 'cancelled' }])
  })

  test('a question that the daemon works on goes on', async () => {
    const daemon = start([...node, bin, 'up'])
    await daemon.says('running:')
    const ask = start(onTerminalCommand(`exec ${quoted([...node, bin, 'ask', '--agent', '@general', 'which port?'])}`))
    await provider.until(({ kind }) => kind === 'received')
    const program = childOf(ask.pid) ?? 0
    close(ask)
    await untilSo(() => !isAlive(program))
    const { runs } = await heddle.json<{ runs: RunView[] }>('ps')
    expect(runs).toMatchObject([{ state: 'running' }])
  })

  test('a chat gives its run back', async () => {
    const chat = start(onTerminalCommand(`exec ${quoted([...node, bin, 'chat'])}`))
    await chat.says('main>')
    chat.child.stdin?.write('which port?\r')
    await provider.until(({ kind }) => kind === 'received')
    const program = childOf(chat.pid) ?? 0
    close(chat)
    await untilSo(() => !isAlive(program))
    const { runs } = await heddle.json<{ runs: RunView[] }>('ps')
    expect(runs).toMatchObject([{ state: 'queued' }])
    expect(await heddle.json<RunView>('show', `run:${runs[0]?.id}`)).toMatchObject({ crashes: 0 })
  })
})

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // It is gone.
  }
}

function childOf(pid: number): number | undefined {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  return first ? Number(first) : undefined
}

function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)$/m.exec(statusOf(pid))?.[1])
}

/** One that nobody has asked for its exit code is not alive. */
function isAlive(pid: number): boolean {
  return /^State:\t[^XZ]/m.test(statusOf(pid))
}

/** Whether a signal has reached the process and not its program yet. */
function hasPending(pid: number): boolean {
  return /^ShdPnd:\t0*[1-9a-f]/m.test(statusOf(pid))
}

/** What the system tells of a process; nothing of one that is gone. */
function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
