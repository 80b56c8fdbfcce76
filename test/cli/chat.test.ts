import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RunLine } from '../../src/api/views/run.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import { systemClock } from '../../src/system.ts'
import { answerPlainly, callTools, type ProviderRule, startProvider, type TestProvider } from '../../src/testing.ts'
import { untilSo } from '../setup/until.ts'
import { newHeddle, type Started, type TerminalOptions, type TestHeddle } from './heddle.ts'
import type { Terminal } from './played-terminal.ts'

vi.setConfig({ testTimeout: 240_000 }) // Some tests start several processes, one after the other.

let heddle: TestHeddle
let provider: TestProvider
let daemon: Started | undefined
const terminals: Terminal[] = []

/** Holds every answer to a question with "slowly" in it until the test lets it go. */
let release: () => void
let held: Promise<void>
const atOnceOrSlowly: ProviderRule = async (request) => {
  const asked = request.messages.findLast(({ role }) => role === 'user')?.content ?? ''
  if (asked.includes('slowly')) await held
  return callTools(request)
}

async function begin(answer: ProviderRule = atOnceOrSlowly, more = ''): Promise<void> {
  provider = await startProvider({ answer })
  await heddle.run('init')
  const model = (name: string) =>
    `  ${name}: { provider: openai-compatible, baseURL: "${provider.url}", model: ${name}-1, price: { input: 1, output: 1 } }\n`
  writeFileSync(
    join(heddle.home, 'heddle.yaml'),
    `agent: { default: "@general" }\nmodels:\n${model('main')}${model('other')}${more}`,
  )
}

beforeEach(() => {
  heddle = newHeddle()
  ;({ promise: held, resolve: release } = Promise.withResolvers<void>())
})
afterEach(async () => {
  release()
  // Twice Ctrl-C ends any talk that a failed test left.
  for (const terminal of terminals.splice(0)) {
    terminal.type('\u0003')
    terminal.type('\u0003\u0004')
    await terminal.ended
  }
  daemon?.stop('SIGKILL')
  await daemon?.ended
  daemon = undefined
  await provider?.close()
  heddle.remove()
})

async function talk({ env, isProcess = false, clock = systemClock }: TerminalOptions = {}, ...args: string[]) {
  const terminal = heddle.terminalWith({ env: { NO_COLOR: '1', ...env }, isProcess, clock }, ...args)
  terminals.push(terminal)
  await terminal.shows('main> ')
  return terminal
}

/** Waits for an answer and the end of its turn: what is typed before that finds the turn under way. */
async function answers(terminal: Terminal, question: string): Promise<void> {
  for (const shown of [`answer to: ${question}`, 'heddle show turn:']) await terminal.shows(shown)
}

/** Types a line and waits for what is shown then. */
async function say(terminal: Terminal, line: string, shown = `answer to: ${line}`): Promise<void> {
  terminal.type(`${line}\r`)
  await (shown.startsWith('answer to: ') ? answers(terminal, shown.slice('answer to: '.length)) : terminal.shows(shown))
}

async function leave(terminal: Terminal, keys = '/quit\r') {
  terminals.splice(terminals.indexOf(terminal), 1)
  terminal.type(keys)
  return terminal.ended
}

const received = () => provider.until(({ kind }) => kind === 'received')
const turns = async (...args: string[]) =>
  (await heddle.json<{ turns: { id: string; preview: string; status: string }[] }>('log', ...args)).turns
const lastLine = /turn:\w{6} · main-1 · \d+ in, \d+ out · \$\d+\.\d+ · \d+\.\ds {2}heddle show turn:\w{6}/

test('bare heddle on a terminal talks in this folder’s main session, and goes on there the next time', async () => {
  await begin()
  const first = await talk({ isProcess: true })
  await say(first, 'which port?')
  const { code, out } = await leave(first)
  expect(code).toBe(0)
  expect(out).toContain('session    main, new: it starts with your first message')
  expect(out).toContain('spend      $0.00 today · stops at $5.00 a request, $20.00 a day')
  expect(out).toMatch(lastLine)
  const second = await talk()
  await say(second, 'and then?')
  expect((await leave(second, '\u0004')).out).toContain('“which port?”')
  expect(await turns()).toMatchObject([{ preview: 'which port?' }, { preview: 'and then?' }])
})

test('what is typed while a turn is under way waits, shown as such, and is answered by the next turn', async () => {
  await begin()
  const chat = await talk()
  chat.type('slowly\r')
  await received()
  chat.type('and this\r')
  await chat.shows('queued: and this')
  release()
  await chat.shows('answer to: slowly')
  await chat.shows('main> and this')
  await answers(chat, 'and this')
  await leave(chat)
  expect(await turns()).toMatchObject([{ preview: 'slowly' }, { preview: 'and this' }])
})

test('/steer reaches the run at its next step; ! interrupts it and is answered next', async () => {
  await begin(async (request) => {
    const asked = request.messages.findLast(({ role }) => role === 'user')?.content
    if (asked === 'dig') await held
    const isFirst = !request.messages.some(({ role }) => role === 'tool')
    return isFirst && asked === 'dig'
      ? { calls: [{ id: 'c1', name: 'look', input: { path: 'src' } }] }
      : answerPlainly(request)
  })
  const chat = await talk()
  chat.type('dig\r')
  await received()
  chat.type('/steer only a little\r')
  await chat.shows('steer: only a little')
  release()
  await chat.shows('look src')
  await answers(chat, 'only a little')
  ;({ promise: held, resolve: release } = Promise.withResolvers<void>())
  chat.type('dig\r')
  await provider.until(() => provider.log.filter(({ kind }) => kind === 'received').length === 3)
  await say(chat, '!fill it', 'answer to: fill it')
  await leave(chat)
  expect((await turns()).map(({ preview, status }) => [preview, status])).toEqual([
    ['dig', 'completed'],
    ['dig', 'cancelled'],
    ['fill it', 'completed'],
  ])
})

test('tool calls are told as they happen, with what they are about, and those of others below', async () => {
  await begin()
  const chat = await talk()
  chat.type('call sessions_spawn({"task":"count the ports"}) and look({"path":"src/cart.ts"})\r')
  await chat.shows('all started agents have ended')
  const { out } = await leave(chat)
  expect(out).toMatch(/run:\w{6} {2}look src\/cart\.ts +\d\.\ds {2}not allowed\r\n/)
  expect(out).toMatch(/run:\w{6} {2}sessions_spawn count the ports +\d\.\ds {2}ok\r\n/)
  expect(out).toMatch(/ {2}run:\w{6} {2}@general {2}answered +\d\.\ds {2}ok\r\n/)
})

test('Ctrl-C stops the turn, twice leaves; when nothing runs it takes back what was typed', async () => {
  await begin()
  const chat = await talk({ isProcess: true })
  chat.type('slowly\r')
  await received()
  chat.type('\u0003')
  await chat.shows('stopped by Ctrl-C')
  await chat.shows('heddle retry run:')
  await chat.shows('main> ')
  chat.type('half a line')
  await chat.shows('half a line')
  chat.type('\u0003')
  await say(chat, 'whole')
  expect((await leave(chat, '\u0003\u0003')).code).toBe(130)
  expect(await turns()).toMatchObject([
    { preview: 'slowly', status: 'cancelled' },
    { preview: 'whole', status: 'completed' },
  ])
})

test('who leaves in the middle loses nothing: the next talk goes on with it', async () => {
  await begin()
  const first = await talk({ isProcess: true })
  first.type('slowly\r')
  await received()
  const { out } = await leave(first)
  expect(out).toMatch(/run:\w{6} was queued again; heddle continues it\r\n$/)
  release()
  const second = await talk()
  await answers(second, 'slowly')
  await leave(second)
  expect(await turns()).toMatchObject([{ preview: 'slowly', status: 'completed' }])
})

test('after a crash the first line says what was picked up, and the answer comes once', async () => {
  await begin()
  const killed = heddle.terminalWith({ env: { HEDDLE_CRASH_AT: 'model.after_reply#1' } }, 'chat')
  await killed.shows('main> ')
  killed.type('which port?\r')
  expect((await killed.ended).code).toBe(137)
  const next = await talk()
  await answers(next, 'which port?')
  const { out } = await leave(next)
  const lines = stripVTControlCharacters(out).split(/[\r\n]+/)
  expect(lines.filter((line) => line !== '' && line !== 'main> ')[0]).toBe(
    'recovered after a crash: 1 run resumed, nothing lost    heddle ps -a',
  )
  expect(await turns()).toMatchObject([{ preview: 'which port?', status: 'completed' }])
})

test('a daemon that dies in the middle is told of, and the talk goes on without it', async () => {
  await begin()
  daemon = heddle.start('up')
  await daemon.says('running:')
  const chat = await talk()
  chat.type('slowly\r')
  await received()
  daemon.stop('SIGKILL')
  await chat.shows('lost connection to the daemon; nothing is lost, continuing here')
  await chat.shows('1 run resumed')
  release()
  await answers(chat, 'slowly')
  await leave(chat)
  expect(await turns()).toMatchObject([{ preview: 'slowly', status: 'completed' }])
})

test('with a daemon who leaves lets it go on', async () => {
  await begin()
  daemon = heddle.start('up')
  await daemon.says('running:')
  const chat = await talk()
  chat.type('slowly\r')
  await received()
  expect((await leave(chat)).out).toMatch(/run:\w{6} keeps running {4}heddle watch run:\w{6}\r\n$/)
  expect((await heddle.json<{ runs: RunLine[] }>('ps')).runs).toMatchObject([{ state: 'running' }])
})

test('another model, another level, another session, a fork', async () => {
  await begin()
  const chat = await talk()
  for (const [line, answer] of [
    ['one', 'answer to: one'],
    ['/model ohter', 'did you mean other?'],
    ['/model other', 'other answers'],
    ['/think high', 'thinking: high'],
    ['two', 'other-1 ·'],
    ['/fork', 'session fork-'],
    ['three', 'answer to: three'],
    ['/new fresh', 'session fresh starts with your next message'],
    ['four', 'answer to: four'],
    ['/new main', 'session main already exists'],
    ['/halp', 'did you mean /help?'],
    ['/status', 'session    fresh, 1 turn'],
    ['/help', 'Alt-Enter inserts a line break'],
  ] as const)
    await say(chat, line, answer)
  await leave(chat)
  expect(await turns()).toMatchObject([{ preview: 'one' }, { preview: 'two' }])
  expect(await turns('fresh')).toMatchObject([{ preview: 'four' }])
  const [, second] = await turns()
  const turn = await heddle.json<TurnView>('show', `turn:${second?.id}`)
  expect(turn).toMatchObject({ model: { requested: 'other', actual: 'other-1' }, thinkingConfig: { level: 'high' } })
})

test('a paste of several lines is one message, and history is kept in a private file, but not what begins with a blank', async () => {
  await begin()
  const chat = await talk()
  chat.type('\u001b[200~one\ntwo\n\u001b[201~')
  await chat.shows('one⏎two')
  chat.type('\r')
  await chat.shows('heddle show turn:')
  await say(chat, ' a secret', 'answer to: a secret')
  await leave(chat)
  expect((await turns()).map(({ preview }) => preview)).toEqual(['one two', 'a secret'])
  const file = join(heddle.home, 'run', 'history')
  expect(readFileSync(file, 'utf8')).toBe('one⏎two\n/quit\n')
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a file that is named goes with the message, Tab completes its name, and a wrong one is told of before anything is sent', async () => {
  await begin()
  writeFileSync(join(heddle.folder, 'notes.md'), '# Notes')
  const chat = await talk()
  chat.type('what is @no')
  await chat.shows('@no')
  chat.type('\t')
  await chat.shows('@notes.md ')
  chat.type('\r')
  await chat.shows('with notes.md, text/plain, 7 B')
  await chat.shows('heddle show turn:')
  chat.type('and @./nots.md?\r')
  await chat.shows('main> and @./nots.md?')
  await chat.shows('not sent: there is no file ./nots.md')
  await chat.shows('did you mean ./notes.md?')
  await leave(chat)
  const [turn, ...others] = await turns()
  expect(others).toEqual([])
  const shown = await heddle.json<TurnView>('show', `turn:${turn?.id}`)
  expect(shown.query).toMatchObject([{ content: 'what is @notes.md', parts: [{ path: 'notes.md' }] }])
})

test('Ctrl-R looks for what was typed before, in this talk and in earlier ones', async () => {
  await begin()
  const first = await talk()
  await say(first, 'which port?')
  await leave(first)
  const chat = await talk()
  chat.type('half a thought\u0012por')
  await chat.shows("(reverse-i-search)`por': which port?")
  chat.type('\u0007')
  await chat.shows('main> half a thought')
  chat.type('\u0012por\r')
  await answers(chat, 'which port?')
  await leave(chat)
  expect(await turns()).toMatchObject([{ preview: 'which port?' }, { preview: 'which port?' }])
})

test('/sessions lists what there is, /switch goes on there, also with what is under way', async () => {
  await begin()
  const chat = await talk()
  for (const [line, answer] of [
    ['/sessions', 'no session yet'],
    ['one', 'answer to: one'],
    ['/new second', 'back: /switch main'],
    ['two', 'answer to: two'],
    ['/sessions', '*  second    1'],
    ['/switch mian', 'did you mean /switch main?'],
    ['/switch main', 'session main has 1 turn'],
    ['slowly', 'main> slowly'],
  ] as const)
    await say(chat, line, answer)
  await provider.until(() => provider.log.filter(({ kind }) => kind === 'received').length === 3)
  chat.type('/switch second\r')
  await chat.shows('session second has 1 turn')
  chat.type('/switch main\r')
  await chat.shows('session main has 1 turn')
  release()
  await answers(chat, 'slowly')
  await leave(chat)
  expect((await turns()).map(({ preview }) => preview)).toEqual(['one', 'slowly'])
})

test('nothing that a model or a tool says gives orders to the terminal', async () => {
  const evil = 'a\u001b]52;c;QQ\u0007b\u001b[2Jc'
  await begin((request) =>
    request.messages.some(({ role }) => role === 'tool')
      ? { text: evil, model: evil, thinking: evil }
      : { text: evil, calls: [{ id: 'c1', name: `look${evil}`, input: { path: evil } }] },
  )
  const chat = await talk()
  chat.type('go\r')
  await chat.shows('heddle show turn:')
  const { out } = await leave(chat)
  expect(out).toContain('a\\u{1b}]52;c;QQ\\u{7}b\\u{1b}[2Jc')
  expect(out).not.toContain('\u001b]52')
  expect(out).not.toContain('\u001b[2J')
})

test('piped, each line is a message, answered before the next, and the answers are the markdown that they are', async () => {
  await begin((request) => ({
    text: `# Answer\n\n- \`${request.messages.findLast(({ role }) => role === 'user')?.content}\``,
  }))
  const { code, out, err } = await heddle.runWith({ input: 'one\n/model other\ntwo\n' }, 'chat')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out.replace(/turn:\w{6}/g, 'turn:x').replace(/\d+ in, \d+ out · \S+ · \S+/g, 'n')).toBe(
    [
      ...['main> one', '# Answer', '', '- `one`', 'turn:x · main-1 · n  heddle show turn:x', ''],
      'other answers    /model main',
      ...['main> two', '# Answer', '', '- `two`', 'turn:x · other-1 · n  heddle show turn:x', '', ''],
    ].join('\n'),
  )
})

test('what fails says why, what to do about it, and ends a piped talk with 1', async () => {
  await begin(() => ({ faults: { status: { code: 401 } } }))
  const { code, out } = await heddle.runWith({ input: 'hello\n' }, 'chat')
  expect(code).toBe(1)
  expect(out).toMatch(/failed: model main .* needs a key[^\n]*\n {2}→ store a key: heddle secret set main; then set/)
  expect(out).toMatch(/heddle retry run:\w{6}\n/)
})

test('a long turn calls: the bell, the terminal’s notice, and the configured program with the message as one argument', async () => {
  const notes = join(heddle.folder, 'notes')
  const program = join(heddle.folder, 'tell-me')
  await begin(atOnceOrSlowly, `notify: { command: "${program}" }\n`)
  writeFileSync(program, `#!/bin/sh\nprintf '%s|%s' "$#" "$1" > ${notes}.part\nmv ${notes}.part ${notes}\n`, {
    mode: 0o755,
  })
  let later = 0
  const chat = await talk({ env: { NO_COLOR: '' }, clock: { ...systemClock, now: () => systemClock.now() + later } })
  chat.type('slowly; $(touch /tmp/x) "quoted"\r')
  await received()
  later = 11_000
  await chat.shows('thinking for 1')
  release()
  await chat.shows('\u0007\u001b]9;heddle: main is done: slowly; $(touch /tmp/x) "quoted"\u0007')
  await untilSo(() => statSync(notes, { throwIfNoEntry: false }) !== undefined)
  expect(readFileSync(notes, 'utf8')).toBe('1|heddle: main is done: slowly; $(touch /tmp/x) "quoted"')
  await leave(chat)
})
