import { createServer } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { failureLines } from '../../src/cli/chat/talk-lines.ts'
import { spendingRow } from '../../src/cli/pages/format-spending.ts'
import { width } from '../../src/cli/terminal/screen.ts'
import { retryReason } from '../../src/domain/text/failure-words.ts'
import { version } from '../../src/version.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(async () => {
  heddle = newHeddle()
  await heddle.run('init')
})
afterEach(() => heddle.remove())

describe('what does not exist is answered with the command that lists such things', () => {
  test.each([
    [
      ['show', 'foo'],
      'there is no session, turn or run "foo" here',
      'heddle sessions, heddle log --all, heddle ps --all',
    ],
    [['show', 'run:zz'], 'there is no run "zz" here', 'heddle ps --all'],
    [['retry', '99'], 'there is no run "99" here', 'heddle ps --all'],
    [['undo', 'run:zz'], 'there is no run "zz" here', 'heddle ps --all'],
    [['cancel', 'run:zz'], 'there is no run "zz" here', 'heddle ps --all'],
    [['approve', '77', '--hash', '123456789012'], 'there is no approval "77" here', 'heddle approvals'],
    [['deny', '77'], 'there is no approval "77" here', 'heddle approvals'],
    [['show', 'turn:zz'], 'there is no turn "zz" here', 'heddle log --all'],
    [['show', 'session:zz'], 'there is no session "zz" here', 'heddle sessions --all'],
  ])('%j', async (args, message, list) => {
    const { code, err } = await heddle.run(...args)
    expect({ code, err }).toEqual({ code: 1, err: `${message}\n  → list them with: ${list}\n` })
  })
})

describe('words that a command does not take are named', () => {
  test.each([
    [['models', 'remove', 'x'], 'there is no command "heddle models remove"', 'heddle models --help'],
    [['models', 'nosuch'], 'there is no command "heddle models nosuch"', 'heddle models --help'],
    [['models', 'ad'], 'there is no command "heddle models ad"', 'did you mean: heddle models add'],
    [['config', 'list'], 'there is no command "heddle config list"', 'heddle config --help'],
    [['ps', 'foo'], 'heddle ps does not take "foo"', 'heddle ps --help'],
    [['models', 'use', 'a', 'b'], 'heddle models use does not take "b"', 'heddle models use --help'],
  ])('%j', async (args, message, remedy) => {
    const { code, err } = await heddle.run(...args)
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(`^${message}\n  → .*${remedy}\n$`) })
    const [json] = [await heddle.run(...args, '--json')]
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, error: { code: expect.any(String) } })
  })
})

test.each([
  [
    ['help', 'memory', 'add'],
    ['memory', 'add', '--help'],
  ],
  [
    ['help', 'grants', 'revoke'],
    ['grants', 'revoke', '--help'],
  ],
])('%j shows what %j shows', async (help, option) => {
  const [words, flag] = [await heddle.run(...help), await heddle.run(...option)]
  expect(words).toEqual(flag)
  expect(words.out).toContain('Usage: heddle')
})

test('an unknown subcommand after help is answered with the closest one', async () => {
  const { code, err } = await heddle.run('help', 'memory', 'ad')
  expect({ code, err }).toEqual({
    code: 2,
    err: 'there is no command "memory ad"\n  → did you mean: heddle memory add\n',
  })
})

test('an empty list says what is missing, and not the command that was just given', async () => {
  const { out: runs } = await heddle.run('ps', '--all')
  const { out: events } = await heddle.run('event')
  expect(runs).toBe('no runs yet    heddle ask "…"\n')
  expect(events).toBe('no events yet    heddle ask "…"\n')
})

test.each([['-h'], ['ask', '-h'], ['models', 'add', '-h']])('%s shows help, as --help does', async (...args) => {
  const short = await heddle.run(...args)
  const long = await heddle.run(...args.map((word) => (word === '-h' ? '--help' : word)))
  expect(short.code).toBe(0)
  expect(short.out).toContain('Usage: heddle')
  expect(short.out).toBe(long.out)
})

test('-v prints the version, as --version does', async () => {
  expect(await heddle.run('-v')).toMatchObject({ code: 0, out: `${version}\n` })
  expect(await heddle.run('ps', '-v')).toMatchObject({ code: 0, out: `${version}\n` })
})

test('a server that is down is named with the reason', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  await new Promise((done) => server.close(done))
  const { code, err } = await heddle.run('models', 'add', `http://127.0.0.1:${port}/v1`, '-y')
  expect(code).toBe(1)
  expect(err).toContain(`no model list at http://127.0.0.1:${port}/v1 (connection refused)`)
  expect(err).toContain('→ check that the server runs')
})

test('a server that answers something else than a list of models is told from one that is down', async () => {
  const server = createServer((_, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  const { err } = await heddle.run('models', 'add', `http://127.0.0.1:${port}/v1`, '-y')
  server.close()
  expect(err).toContain(`no model list at http://127.0.0.1:${port}/v1 (status 404)`)
  expect(err).toContain('the address, which usually ends with /v1')
})

test('a failure in the chat breaks between words', () => {
  const screen = { columns: 40, rows: 24, isTerminal: true, colours: false } as never
  const message = 'there is no agent "cdoer"; there are: code-review, coder, project-planner, researcher'
  const lines = failureLines(screen, { message, remedy: 'did you mean coder?' }).split('\n')
  expect(lines.every((line) => width(line) <= 40)).toBe(true)
  expect(lines.slice(0, -1).join(' ').replace(/\s+/g, ' ')).toBe(message)
})

test('usage shows thousands apart, one call as one, and short names of sessions of agents', () => {
  const spent = {
    ...{ inputTokens: 12345, outputTokens: 6, estimatedInputTokens: 0, estimatedOutputTokens: 0, calls: 1 },
    ...{ costUsd: 1, estimatedUsd: 0 },
  } as never
  expect(spendingRow({ key: 'agent:researcher:subagent:1m7j0a4gcx5z01234567', ...(spent as object) } as never)).toEqual(
    ['@researcher 234567', '12,345 in', '6 out', '1 call', '$1.0000'],
  )
})

test.each([
  ['provider_busy', 'the provider is busy'],
  ['provider_failed', 'the provider failed'],
  ['stream_cut', 'the connection was lost'],
  ['budget_in_use', 'the budget is in use by other runs'],
  ['something_new', 'something new'],
])('%s is said in words', (code, words) => {
  expect(retryReason(code)).toBe(words)
})
