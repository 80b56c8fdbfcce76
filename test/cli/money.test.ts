import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Spending } from '../../src/domain/spending.ts'
import { type ProviderAnswer, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

const price = { input: 15, output: 75 }
const text = 'one line of the answer, and another one that comes after it, so that there is something to cut'
/** Enough of a streamed reply for some of its text to be in it, and not its usage. */
const middle = 1500

let heddle: TestHeddle
let provider: TestProvider | undefined
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(async () => {
  await provider?.close()
  provider = undefined
  heddle.remove()
})

/** A provider that answers so, and a home that asks it; a key is refused unless it is `right`. */
async function answering(answer: (attempt: number) => ProviderAnswer, { key = 'right' } = {}): Promise<TestProvider> {
  provider = await startProvider({ answer: ({ attempt }) => answer(attempt), key: 'right' })
  await heddle.run('init')
  const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: m, apiKey: ${key}, price: { input: 15, output: 75 } }`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: ${model}\nmemory: { narratives: false }\n`)
  return provider
}

const usage = async () => (await heddle.json<{ total: Spending }>('usage')).total

/** What the provider told of every reply that it finished. */
function told({ log }: TestProvider) {
  const answered = log.flatMap((line) => (line.kind === 'answered' && line.usage ? [line.usage] : []))
  const sum = (of: 'inputTokens' | 'outputTokens') => answered.reduce((total, counts) => total + counts[of], 0)
  const [inputTokens, outputTokens] = [sum('inputTokens'), sum('outputTokens')]
  const costUsd = (inputTokens * price.input + outputTokens * price.output) / 1_000_000
  return { inputTokens, outputTokens, costUsd: expect.closeTo(costUsd, 9) }
}

const nothing = {
  estimatedInputTokens: 0,
  estimatedOutputTokens: 0,
  estimatedUsd: 0,
  lostInputTokens: 0,
  lostOutputTokens: 0,
  lostUsd: 0,
  reservedUsd: 0,
}

/** Begins to answer, says some of it and then nothing more. */
const stuck: ProviderAnswer = { text, faults: { silentAt: middle, pieceBytes: 300 } }

/** Asks, and resolves when the answer has begun. */
async function askAndHear(from: TestProvider) {
  const asking = heddle.start('ask', 'hello')
  await from.until(({ kind }) => kind === 'received')
  return asking
}

test.each([
  ['is answered', 1, () => ({ text })],
  [
    'is answered after a 500',
    2,
    (attempt: number) => (attempt === 0 ? { faults: { status: { code: 500 } } } : { text }),
  ],
  ['is answered with nothing', 1, () => ({ text: '', usage: { outputTokens: 1 } })],
])('a question that %s costs what the provider told, to the token', async (_, calls, answer) => {
  const from = await answering(answer)
  await heddle.run('ask', 'hello')
  expect(told(from).outputTokens).toBeGreaterThan(0)
  expect(await usage()).toMatchObject({ ...told(from), ...nothing, calls })
  expect((await heddle.run('usage')).out).not.toContain('~')
})

test('what a model of unknown price costs is marked as an estimate everywhere, its tokens are not', async () => {
  const from = await answering(() => ({ text }))
  // This machine by a name that is not known as its own: a model there is taken for one that is paid.
  const address = from.url.replace('127.0.0.1', '0.0.0.0')
  const far = `{ provider: openai, baseURL: "${address}", model: new-one, apiKey: right }`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: ${far}\nmemory: { narratives: false }\n`)
  expect((await heddle.run('models', 'show', 'main')).out).toContain('ASSUMED')
  const { err } = await heddle.run('ask', 'hello')
  expect(err).toMatch(/\d+ in, \d+ out · ~\$0\.\d+/)
  expect(err).not.toContain('~0')
  const { inputTokens, outputTokens } = told(from)
  const total = await usage()
  expect(total).toMatchObject({ inputTokens, outputTokens, costUsd: 0, estimatedInputTokens: 0 })
  expect(total.estimatedUsd).toBeCloseTo((inputTokens * 10 + outputTokens * 50) / 1_000_000, 9)
  const listed = (await heddle.run('usage')).out
  expect(listed).toMatch(/^total +[\d,]+ in +\d+ out +1 call +~\$0\.\d+/m)
  expect(listed).toMatch(/~ about \$0\.\d+ of it is estimated: the price of a model is assumed/)
  expect((await heddle.run('status')).out).toMatch(/~\$0\.\d+ today/)
  expect((await heddle.run('ps', '-a')).out).toMatch(/~\$0\.\d+/)
  expect((await heddle.run('models', 'test', 'main')).out).toMatch(/ · ~\$0\.\d+/)
})

test('a question whose key is refused costs nothing', async () => {
  await answering(() => ({ text }), { key: 'wrong' })
  const { err } = await heddle.run('ask', 'hello')
  expect(err).toContain('0 in, 0 out · $0.00')
  expect(await usage()).toMatchObject({ inputTokens: 0, outputTokens: 0, costUsd: 0, calls: 1, ...nothing })
})

test('a reply that breaks off costs about what was seen of it, marked so; the one after it what was told', async () => {
  const from = await answering((attempt) => (attempt === 0 ? { text, faults: { cutAt: middle } } : { text }))
  await heddle.run('ask', 'hello')
  const total = await usage()
  expect(total).toMatchObject({ ...told(from), calls: 2, lostUsd: 0 })
  expect(total.estimatedInputTokens).toBeGreaterThan(0)
  expect(total.estimatedOutputTokens).toBeGreaterThan(0)
  expect(total.estimatedOutputTokens).toBeLessThan(text.length / 4)
  expect(total.estimatedUsd).toBeGreaterThan(0)
  expect((await heddle.run('usage')).out).toMatch(/~[\d,]+ in +~\d+ out +2 calls +~\$0\.\d+/)
})

test.each([
  ['Ctrl-C', 'SIGINT'],
  ['a stop of the process', 'SIGTERM'],
] as const)('%s in the middle of a reply costs what was sent and seen, not what was set aside', async (_, signal) => {
  const from = await answering(() => stuck)
  const asking = await askAndHear(from)
  asking.stop(signal)
  const { err } = await asking.ended
  if (signal === 'SIGINT') expect(err).toMatch(/~[\d,]+ in, ~?\d+ out · ~\$0\.0\d+/)
  const total = await usage()
  expect(total).toMatchObject({ inputTokens: 0, outputTokens: 0, costUsd: 0, calls: 1, lostUsd: 0, reservedUsd: 0 })
  expect(total.estimatedInputTokens).toBeGreaterThan(0)
  expect(total.estimatedOutputTokens).toBeLessThan(100)
})

test('a reply that its server does not count is estimated like one that is stopped, and both under one model', async () => {
  let asked = 0
  const dated = 'm-2026-11-01'
  const from = await answering(() => (++asked === 1 ? stuck : { text, model: dated, faults: { noUsage: true } }))
  const asking = heddle.start('ask', 'hello', '-s', 'stopped')
  await from.until(({ kind }) => kind === 'received')
  asking.stop('SIGINT')
  await asking.ended
  await heddle.run('ask', 'hello', '-s', 'answered')
  const listed = async (by: string) =>
    (await heddle.json<{ rows: (Spending & { key: string })[] }>('usage', '--by', by)).rows
  const tokens = new Map((await listed('session')).map((each) => [each.key, each.estimatedInputTokens]))
  expect(tokens.get('stopped')).toBeGreaterThan(1000)
  expect((tokens.get('answered') ?? 0) / (tokens.get('stopped') ?? 1)).toBeCloseTo(1, 1)
  expect((await listed('model')).map(({ key, calls }) => ({ key, calls }))).toEqual([{ key: 'm', calls: 2 }])
})

test('a kill in the middle of a reply leaves what the call may have cost at most, named as lost', async () => {
  let asked = 0
  const from = await answering(() => (++asked === 1 ? stuck : { text }))
  const asking = await askAndHear(from)
  asking.stop('SIGKILL')
  await asking.ended
  const { reservedUsd, ...before } = await usage()
  expect(before).toMatchObject({ costUsd: 0, estimatedUsd: 0, lostUsd: 0, calls: 0 })
  expect(reservedUsd).toBeGreaterThan(0)
  expect((await heddle.run('usage')).out).toContain('are reserved for running calls')
  await heddle.run('ask', 'go on')
  const total = await usage()
  expect(total).toMatchObject({ ...told(from), estimatedUsd: 0, lostUsd: reservedUsd, reservedUsd: 0 })
  expect((await heddle.run('usage')).out).toMatch(/at most ~\$0\.\d+ was lost/)
  const { out } = await heddle.run('status')
  expect(out).toMatch(/at most ~\$0\.\d+ lost/)
  const besides = ' \\+ at most ~\\$0\\.\\d+ lost'
  for (const by of ['session', 'model'])
    expect((await heddle.run('usage', '--by', by)).out).toMatch(
      new RegExp(`^(main|m) .*\\$0\\.\\d+${besides}[^]*^total .*${besides}`, 'm'),
    )
  expect((await heddle.run('ps', '-a')).out).toMatch(new RegExp(`\\$0\\.\\d+${besides}`))
})

test('a rehearsal costs nothing, whatever becomes of it', async () => {
  await heddle.run('init')
  rmSync(join(heddle.home, 'heddle.yaml'))
  const env = { HEDDLE_CRASH_AT: 'model.after_reply#1' }
  expect((await heddle.runWith({ env }, 'ask', 'read this folder')).signal).toBe('SIGKILL')
  await heddle.run('ask', 'what is here?')
  expect(await usage()).toMatchObject({ inputTokens: 0, outputTokens: 0, costUsd: 0, ...nothing })
})

const byRun = async () =>
  (await heddle.json<{ rows: (Spending & { key: string })[] }>('usage', '--by', 'run', '--today')).rows

test.each([
  ['models test', ['models', 'test', 'main'], 3],
  ['models add', ['models', 'add', 'openai', '--model', 'm', '--name', 'second', '--key-env', 'KEY'], 3],
  ['doctor', ['doctor'], 1],
  ['doctor', ['doctor', '--deep'], 1],
])('what %s asks is in usage and in what was spent today, under that name', async (kind, command, calls) => {
  const from = await answering(() => ({ text, calls: [{ name: 'note', input: { word: 'heddle' } }] }))
  expect(await byRun()).toEqual([])
  const address = kind === 'models add' ? ['--base-url', from.url] : []
  const { code, err } = await heddle.runWith({ env: { KEY: 'right' } }, ...command, ...address)
  expect({ code, err }).toMatchObject({ code: 0 })
  const { inputTokens, outputTokens } = told(from)
  expect(outputTokens).toBeGreaterThan(0)
  expect(await byRun()).toMatchObject([{ key: kind, inputTokens, outputTokens, calls, ...nothing }])
  for (const by of ['session', 'agent'])
    expect((await heddle.run('usage', '--by', by)).out).toMatch(new RegExp(`^${kind} +[\\d,]+ in`))
})

test('a trial that is broken off costs what was sent and seen of it', async () => {
  const from = await answering(() => stuck)
  await usage()
  const testing = heddle.start('models', 'test', 'main')
  await from.until(({ kind }) => kind === 'received')
  testing.stop('SIGINT')
  await testing.ended
  const [row] = await byRun()
  expect(row).toMatchObject({ key: 'models test', calls: 1, costUsd: 0 })
  expect(row?.estimatedInputTokens).toBeGreaterThan(0)
})

test('a trial is counted beside a daemon, and one without a database makes none', async () => {
  await answering(() => ({ text, calls: [{ name: 'note', input: { word: 'heddle' } }] }))
  await heddle.run('models', 'test', 'main')
  expect(existsSync(join(heddle.home, 'heddle.db'))).toBe(false)
  const daemon = heddle.start('up')
  await daemon.says('running:')
  expect((await heddle.run('models', 'test', 'main')).code).toBe(0)
  expect(await byRun()).toMatchObject([{ key: 'models test', calls: 3 }])
  daemon.stop('SIGTERM')
  await daemon.ended
})

test('in a chat Ctrl-C leaves on the screen what was said, and the next turn knows of it', async () => {
  let asked = 0
  const from = await answering(() => (++asked === 1 ? { ...stuck, text: `first line\n${text}` } : { text }))
  const chat = heddle.terminalWith({ env: { NO_COLOR: '1' } }, 'chat')
  await chat.shows('main>')
  chat.type('hello\r')
  await chat.shows('first line')
  chat.type('\u0003')
  await chat.shows('stopped by Ctrl-C')
  await chat.shows('main>')
  chat.type('go on\r')
  await chat.shows('one line of the answer')
  chat.type('/quit\r')
  const { out } = await chat.ended
  expect(out).not.toContain('does not count')
  const last = from.log.findLast((line) => line.kind === 'received')
  expect(JSON.stringify(last)).toMatch(/first line.*Cancelled: stopped by Ctrl-C/)
})
