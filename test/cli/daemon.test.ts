import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { RunLine, RunView } from '../../src/api/views/run.ts'
import { answerPlainly, type ProviderRule, startProvider, type TestProvider } from '../../src/testing.ts'
import { untilSo } from '../setup/until.ts'
import { newHeddle, type Started, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
let provider: TestProvider
const running: Started[] = []

/** Holds every answer until the test lets it go. */
let release: () => void
let held: Promise<void>
const whenReleased: ProviderRule = async (request) => {
  await held
  return answerPlainly(request)
}

async function begin(answer: ProviderRule, more: { key?: string } = {}, settings = ''): Promise<void> {
  provider = await startProvider({ answer, ...more })
  await heddle.run('init')
  writeFileSync(
    join(heddle.home, 'heddle.yaml'),
    `models:\n  main: { provider: openai-compatible, baseURL: "${provider.url}", model: tiny ${settings} }\n`,
  )
}

beforeEach(() => {
  heddle = newHeddle()
  ;({ promise: held, resolve: release } = Promise.withResolvers<void>())
})
afterEach(async () => {
  release()
  for (const started of running.splice(0)) {
    started.stop('SIGKILL')
    await started.ended
  }
  await provider?.close()
  heddle.remove()
})

async function up(options: { env?: NodeJS.ProcessEnv } = {}): Promise<Started> {
  const started = heddle.startWith(options, 'up')
  running.push(started)
  await started.says('running:')
  return started
}

const socket = () => join(heddle.home, 'run', 'heddle.sock')
const received = () => provider.until(({ kind }) => kind === 'received')
const turns = async () => (await heddle.json<{ turns: { preview: string; status: string }[] }>('log')).turns

test('a question is answered by the daemon as it is without one', async () => {
  await begin(answerPlainly)
  const alone = await heddle.json<RequestAnswer>('ask', 'which port?', '-s', 'alone')
  const daemon = await up()
  const through = await heddle.json<RequestAnswer>('ask', 'which port?', '-s', 'through')
  const same = ({ turnId: _, turns, runId: __, session: ___, ...rest }: RequestAnswer) => ({
    ...rest,
    turns: turns.length,
  })
  expect(same(through)).toEqual(same(alone))
  expect(await heddle.json('doctor')).toMatchObject({
    checks: expect.arrayContaining([
      { name: 'daemon', status: 'ok', detail: expect.stringContaining(`process ${daemon.pid}, on ${socket()}`) },
    ]),
  })
  expect(await heddle.json('status')).toMatchObject({
    folder: heddle.folder,
    session: 'main',
    model: 'tiny',
    needsYou: [],
    running: 0,
    spentTodayUsd: 0,
    sinceLast: [{ session: 'alone' }, { session: 'through', status: 'completed', preview: 'which port?' }],
    daemon: daemon.pid,
  })
})

test('the socket is private, and gone when the daemon was told to stop', async () => {
  await begin(answerPlainly)
  const daemon = await up()
  expect(statSync(socket()).mode & 0o777).toBe(0o600)
  daemon.stop('SIGTERM')
  expect(await daemon.ended).toMatchObject({ code: 0, signal: null })
  expect(existsSync(socket())).toBe(false)
})

test('a daemon that is killed in the middle of a question loses nothing: who asked goes on, and is answered once', async () => {
  await begin(whenReleased)
  const daemon = await up()
  const ask = heddle.start('ask', 'still there?')
  await received()
  daemon.stop('SIGKILL')
  await ask.says('lost connection to the daemon; nothing is lost')
  release()
  expect(await ask.ended).toMatchObject({ code: 0, out: expect.stringMatching(/^answer to: still there\?\n/) })
  expect(await turns()).toMatchObject([{ preview: 'still there?', status: 'completed' }])
})

test('a daemon that was killed finds its socket and its work again, and the answer comes once', async () => {
  await begin(whenReleased)
  const first = await up()
  const { runId } = await heddle.json<RequestAnswer>('ask', 'later', '--no-wait')
  await received()
  first.stop('SIGKILL')
  await first.ended
  expect(existsSync(socket())).toBe(true)
  const second = await up()
  release()
  expect(await heddle.json<RunView>('watch', `run:${runId}`)).toMatchObject({ id: runId, state: 'completed', epoch: 2 })
  expect(await turns()).toMatchObject([{ preview: 'later', status: 'completed' }])
  second.stop('SIGTERM')
  const { err } = await second.ended
  expect(JSON.parse(err.split('\n')[0] ?? '')).toMatchObject({ level: 'info', resumed: [runId], pid: second.pid })
})

test('Ctrl-C cancels the run that the daemon has', async () => {
  await begin(whenReleased)
  await up()
  const ask = heddle.start('ask', 'never mind', '--json')
  await received()
  ask.stop('SIGINT')
  const { code, out } = await ask.ended
  expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 130, status: 'cancelled', error: { code: 'cancelled' } })
  expect(await heddle.json('ps')).toMatchObject({ runs: [] })
})

test.each([
  { how: 'with a daemon, SIGINT', signal: 'SIGINT', isUp: true },
  { how: 'without one, SIGTERM', signal: 'SIGTERM', isUp: false },
] as const)(
  '$how while only a sub-agent works cancels the request and says what was stopped',
  async ({ signal, isUp }) => {
    const delegate = { name: 'spawn_agent', input: { task: 'look', skill: 'researcher' } }
    await begin(async ({ tools }) => {
      if (tools.some(({ name }) => name === 'spawn_agent'))
        return { text: 'I asked @researcher.', calls: [delegate, { name: 'wait', input: {} }] }
      await held
      return { text: 'Found it.' }
    })
    if (isUp) await up()
    for (const json of [['--json'], []]) {
      const session = json.length > 0 ? 'as-json' : 'as-text'
      const ask = heddle.start('ask', '--agent', '@coordinator', '-s', session, 'find it', ...json)
      await untilSo(async () => !!(await heddle.json<{ turns?: object[] }>('log', session)).turns?.length)
      ask.stop(signal)
      const { code, out } = await ask.ended
      const said =
        /I asked @researcher\.(\\n|\n){2}Cancelled: stopped by Ctrl-C; not finished: @researcher \(run:\w{6}\)/
      expect(out).toMatch(said)
      expect(code).toBe(130)
      if (json.length > 0)
        expect(JSON.parse(out)).toMatchObject({ ok: false, status: 'cancelled', error: { code: 'cancelled' } })
    }
    expect(await heddle.json('ps')).toMatchObject({ runs: [] })
  },
)

test('the log is one JSON object per line, tells what happens, and holds no secret wherever it occurs', async () => {
  const key = 'canary-9f3kq-apikey'
  await begin(answerPlainly, { key: 'another' }, `, apiKey: "\${CANARY_KEY}"`)
  const named = join(heddle.folder, key)
  mkdirSync(named)
  const daemon = await up({ env: { CANARY_KEY: key } })
  // The folder is named like the key, the provider quotes the key, and the question holds it.
  const asked = await heddle.runWith({ cwd: named, env: { CANARY_KEY: key } }, 'ask', `is ${key} my key?`, '--json')
  expect(JSON.parse(asked.out)).toMatchObject({ status: 'failed' })
  daemon.stop('SIGTERM')
  const { err } = await daemon.ended
  const lines = err
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ msg }) => msg)).toEqual([
    expect.stringMatching(/^running: /),
    ...['session.created', 'run.started', 'run.ended'],
    expect.stringMatching(/^stopping/),
    'stopped',
  ])
  expect(lines.find(({ msg }) => msg === 'run.ended')).toMatchObject({ level: 'warn', state: 'failed' })
  expect(err).toContain('[redacted]')
  expect(err).not.toContain(key)
})

test('a watcher on a terminal sees a run of another process, steers it by typing, and leaves with its outcome', async () => {
  await begin(async (request) => {
    await held
    const hasCalled = request.messages.some(({ role }) => role === 'tool')
    return hasCalled ? answerPlainly(request) : { calls: [{ id: 'c1', name: 'look_around', input: {} }] }
  })
  await up()
  const { runId } = await heddle.json<RequestAnswer>('ask', 'open a port', '--no-wait')
  await received()
  const watch = heddle.terminal('watch', `run:${runId}`)
  await watch.shows('Ctrl-C leaves')
  watch.type('make it 8443\r')
  await watch.shows('you:\u001b[22m make it 8443')
  release()
  const { code, out } = await watch.ended
  expect(code).toBe(0)
  expect(out).toContain('received your message')
  expect(out).toContain('answer to: make it 8443')
  const { steps } = await heddle.json<RunView>('show', `run:${runId}`)
  expect(steps.map(({ kind, name }) => [kind, name])).toEqual([
    ['reply', undefined],
    ['begun', 'look_around'],
    ['ended', 'look_around'],
    ['steer', undefined],
  ])
  expect(steps.every(({ at }) => at !== null)).toBe(true)
})

test('a line that begins with ! interrupts the run, and its answer is waited for', async () => {
  await begin(async (request) => {
    const asked = request.messages.findLast(({ role }) => role === 'user')?.content
    if (asked === 'dig a hole') await held
    return answerPlainly(request)
  })
  await up()
  const { runId } = await heddle.json<RequestAnswer>('ask', 'dig a hole', '--no-wait')
  await received()
  const watch = heddle.terminal('watch', `run:${runId}`)
  await watch.shows('Ctrl-C leaves')
  watch.type('!fill it\r')
  const { code, out } = await watch.ended
  expect({ code, isAnswered: out.includes('answer to: fill it') }).toEqual({ code: 0, isAnswered: true })
  const { runs } = await heddle.json<{ runs: RunLine[] }>('ps', '--all')
  expect(runs.map(({ state }) => state)).toEqual(['cancelled', 'completed'])
})

test('without a daemon a watcher still hears what happens, from the rows', async () => {
  await begin(whenReleased)
  const ask = heddle.start('ask', 'slowly')
  await received()
  const [run] = (await heddle.json<{ runs: RunLine[] }>('ps')).runs
  const watch = heddle.start('watch', `run:${run?.id}`, '--json')
  await watch.says('running')
  release()
  expect(await ask.ended).toMatchObject({ code: 0 })
  const { code, out, err } = await watch.ended
  expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, kind: 'run', state: 'completed' })
  expect(err).toContain('answer to: slowly')
})

test('on a terminal an answer is shown while it is said, and stands there once in the end', async () => {
  await begin(() => ({ text: 'one line\nand another', faults: { pieceBytes: 100, pause: 5 } }))
  await up()
  const { code, out } = await heddle.terminal('ask', 'say it').ended
  expect(code).toBe(0)
  const [before = '', ...after] = out.split('one line\r\nand another\r\n')
  expect({ wasShown: before.includes('one'), wasTakenBack: before.endsWith('\u001b[J'), after: after.length }).toEqual({
    wasShown: true,
    wasTakenBack: true,
    after: 1,
  })
})
