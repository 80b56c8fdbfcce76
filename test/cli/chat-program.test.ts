import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'
import type { Terminal } from './played-terminal.ts'

// Each test starts a process on a terminal.
vi.setConfig({ testTimeout: 120_000 })

let heddle: TestHeddle
let chat: Terminal | undefined
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(async () => {
  chat?.type('\u0003')
  chat?.type('\u0003\u0004')
  await chat?.ended
  chat = undefined
  heddle.remove()
})

async function talk(): Promise<Terminal> {
  chat = heddle.terminalWith({ env: { NO_COLOR: '1' } }, 'chat')
  await chat.shows('main> ')
  return chat
}

async function leave(terminal: Terminal) {
  terminal.type('/quit\r')
  chat = undefined
  return terminal.ended
}

const previews = async () => (await heddle.json<{ turns: { preview: string }[] }>('log')).turns.map((t) => t.preview)

test('a line that begins with heddle runs that command in the chat, and is no message', async () => {
  await heddle.run('append', '--user', 'which port?', '--assistant', '8443')
  const terminal = await talk()
  for (const [line, answer] of [
    ['heddle log', 'which port?'],
    ['heddle frobnicate', 'there is no command "frobnicate"'],
    ['heddle append --user "and now?" --assistant yes', 'main'],
    ['heddle chat', 'you are in a chat already'],
    ['heddle --version', '0.1.0'],
    ['/log', 'and now?'],
  ] as const) {
    terminal.type(`${line}\r`)
    await terminal.shows(answer)
    await terminal.shows('main> ')
  }
  const { code } = await leave(terminal)
  expect(code).toBe(0)
  expect(await previews()).toEqual(['which port?', 'and now?'])
})

test('Ctrl-C stops the command and not the chat', async () => {
  const terminal = await talk()
  terminal.type('heddle up\r')
  await terminal.shows('running: 0 runs resumed')
  terminal.type('\u0003')
  await terminal.shows('stopped; unfinished work is queued again')
  await terminal.shows('main> ')
  terminal.type('/whoami\r')
  await terminal.shows('your words are trusted')
  // The shell around this terminal has seen Ctrl-C too, so its exit code says nothing.
  await leave(terminal)
})

test('a dozen commands in a row leave nothing behind that the terminal warns of', async () => {
  const terminal = await talk()
  for (let n = 0; n < 12; n++) {
    terminal.type('heddle --version\r')
    await terminal.shows('0.1.0')
    await terminal.shows('main> ')
  }
  const { out, err } = await leave(terminal)
  expect(`${out}${err}`).not.toContain('MaxListeners')
})

test('an agent or a model that does not exist is refused before anything begins', async () => {
  await heddle.run('init')
  const model = 'provider: openai-compatible, baseURL: "http://127.0.0.1:9", model: tiny'
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: { ${model} }\n`)
  const refusal = expect.stringContaining('there is no agent "@planner"')
  expect(await heddle.run('chat', '@planner')).toMatchObject({ code: 2, err: refusal })
  expect(await heddle.run('chat', '-m', 'mian')).toMatchObject({ code: 1, err: expect.stringContaining('mean main?') })
  expect(await heddle.json('chat')).toMatchObject({ ok: false, error: { code: 'misuse' } })
})
