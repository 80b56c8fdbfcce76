import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ApprovalView, GrantView } from '../../src/api/views/approval.ts'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import { type ProviderRule, startProvider, type TestProvider } from '../../src/testing.ts'
import { untilSo } from '../setup/until.ts'
import { newHeddle, type Started, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
let provider: TestProvider
let daemon: Started | undefined

/** Runs what it is asked to run, and tells what came of it. */
const obedient: ProviderRule = ({ messages }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return { text: `it said ${last.content}` }
  const [, command] = /^run (.*)$/.exec(last?.content ?? '') ?? []
  return command === undefined ? { text: 'yes' } : { calls: [{ name: 'exec', input: { command } }] }
}

beforeEach(async () => {
  heddle = newHeddle()
  provider = await startProvider({ answer: obedient })
  await heddle.run('init')
  const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: tiny }`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: ${model}\ntools:\n  ask: [exec]\n`)
})
afterEach(async () => {
  daemon?.stop('SIGKILL')
  await daemon?.ended
  daemon = undefined
  await provider.close()
  heddle.remove()
})

const made = () => existsSync(join(heddle.folder, 'made'))
const approvals = async () => (await heddle.json<{ approvals: ApprovalView[] }>('approvals')).approvals
const hashOf = async (id: number) => (await approvals()).find((each) => each.id === id)?.hash ?? ''

test('without a terminal a question ends the command with 3, and a yes later completes the run', async () => {
  const asked = await heddle.runWith({}, 'ask', 'run echo hi > made', '--json')
  expect(asked.code).toBe(3)
  const { approve, ...waiting } = JSON.parse(asked.out)
  expect(waiting).toMatchObject({ ok: false, status: 'waiting', approvals: [1] })
  expect(made()).toBe(false)
  expect(await approvals()).toMatchObject([{ id: 1, tool: 'exec', agent: 'general', requestSession: 'main' }])
  const page = await heddle.run('approvals')
  expect(page.out).toContain('  │ echo hi > made\nheddle approve 1 --hash ')
  expect(approve).toEqual([expect.stringMatching(/^heddle approve 1 --hash [0-9a-f]{12}$/)])
  expect((await heddle.run('status')).out).toContain('needs you  1, first approval:1    heddle approvals')

  // A yes that names nothing, too little, or something else, is none.
  expect((await heddle.run('approve', '1')).err).toContain('heddle show approval:1 shows it, and the command')
  for (const hash of ['', '0123456', '0123456789ab'])
    expect((await heddle.run('approve', '1', '--hash', hash)).err).toContain('approval:1 has changed since you saw it')
  expect(made()).toBe(false)
  const [, , ...line] = approve[0].split(' ')
  const approved = await heddle.json<RequestAnswer>('approve', ...line)
  expect(approved).toMatchObject({ ok: true, status: 'completed', text: expect.stringContaining('[exit 0]') })
  expect(readFileSync(join(heddle.folder, 'made'), 'utf8')).toBe('hi\n')
  expect(await approvals()).toEqual([])
  const again = await heddle.run('approve', '1')
  expect(again.code).toBe(1)
  expect(again.err).toContain('has ended')
})

test('a no is told to the agent with its reason; --on-approval deny says it by itself', async () => {
  expect((await heddle.run('ask', 'run touch made')).code).toBe(3)
  const denied = await heddle.json<RequestAnswer>('deny', '1', '--reason', 'not now')
  expect(denied.text).toContain('the user said no: not now')
  const unattended = await heddle.json<RequestAnswer>('ask', 'run touch made', '--on-approval', 'deny')
  expect(unattended.text).toContain('no one was there to answer')
  expect(made()).toBe(false)
})

test('a daemon goes on as soon as somebody says yes, and a kill in between loses nothing', async () => {
  daemon = heddle.start('up')
  await daemon.says('running:')
  expect((await heddle.run('ask', 'run touch made')).code).toBe(3)
  daemon.stop('SIGKILL')
  await daemon.ended
  daemon = heddle.start('up')
  await daemon.says('running:')
  const hash = await hashOf(1)
  const approved = await heddle.json<RequestAnswer>('approve', 'approval:1', '--scope', 'session', '--hash', hash)
  expect(approved).toMatchObject({ ok: true, status: 'completed' })
  expect(made()).toBe(true)
  // What was granted for the session is not asked again, until it is taken back.
  expect(await heddle.json<RequestAnswer>('ask', 'run touch made')).toMatchObject({ status: 'completed' })
  const { grants } = await heddle.json<{ grants: GrantView[] }>('grants')
  expect(grants).toMatchObject([
    { scope: 'session', session: 'main', covers: `exec \`touch made\` in ${heddle.folder}`, lapses: false },
  ])
  await heddle.run('grants', 'revoke', String(grants[0]?.id))
  expect((await heddle.run('ask', 'run touch made')).code).toBe(3)
})

test('on a terminal the user is asked, and what they type decides', async () => {
  const terminal = heddle.terminalWith({ env: { NO_COLOR: '1' } }, 'ask', 'run touch made')
  await terminal.shows('  │ touch made')
  await terminal.shows('every agent in session main: exec `touch made` in')
  terminal.type('perhaps\n')
  await terminal.shows('type y, s, a, or n (you can add a reason)')
  terminal.type('y\n')
  const { code, out } = await terminal.ended
  expect(code).toBe(0)
  expect(out).toContain('[exit 0]')
  expect(made()).toBe(true)
})

test.each([
  ['calls by bell, notice and program', {}, true],
  ['sends no escape sequence where none is wanted', { NO_COLOR: '1' }, false],
  ['sends none to a terminal that knows none', { TERM: 'dumb' }, false],
])('a question on a terminal %s', async (_, env, isNoticed) => {
  // Beside the folder: what changes in it before the yes would be asked about.
  const [notes, program] = [join(heddle.home, 'notes'), join(heddle.home, 'tell-me')]
  writeFileSync(program, `#!/bin/sh\nprintf '%s|%s' "$#" "$1" > ${notes}.part\nmv ${notes}.part ${notes}\n`)
  chmodSync(program, 0o755)
  appendFileSync(join(heddle.home, 'heddle.yaml'), `notify: { command: "${program}" }\n`)
  const terminal = heddle.terminalWith({ env: { TERM: 'xterm', ...env } }, 'ask', 'run touch made')
  await terminal.shows('every agent in session main')
  await untilSo(() => existsSync(notes))
  terminal.type('y\n')
  const { out } = await terminal.ended
  expect(readFileSync(notes, 'utf8')).toMatch(/^1\|heddle: run:\w{6} is waiting for your approval$/)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  expect(/\u0007\u001b\]9;heddle: run:\w{6} is waiting for your approval\u0007/.test(out)).toBe(isNoticed)
  expect(out.includes('\u0007')).toBe(!('TERM' in env))
})

test('a program that is named without a path is not looked for where an agent could have put it', async () => {
  const tools = join(heddle.home, 'tools')
  const evil = [heddle.folder, join(heddle.folder, 'bin')]
  for (const directory of [...evil, tools]) {
    const notes = join(heddle.home, directory === tools ? 'good' : 'evil')
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'tell-me'), `#!/bin/sh\necho > ${notes}\n`, { mode: 0o755 })
  }
  appendFileSync(join(heddle.home, 'heddle.yaml'), 'notify: { command: tell-me }\n')
  const path = ['.', ...evil, tools, process.env['PATH']].join(':')
  const terminal = heddle.terminalWith({ env: { PATH: path } }, 'ask', 'run touch made')
  await terminal.shows('every agent in session main')
  await untilSo(() => existsSync(join(heddle.home, 'good')) || existsSync(join(heddle.home, 'evil')))
  expect(existsSync(join(heddle.home, 'evil'))).toBe(false)
  terminal.type('n\n')
  await terminal.ended
})

test.each([
  ['/nowhere/tell-me', 'spawn /nowhere/tell-me ENOENT'],
  ['bin/tell-me', 'bin/tell-me can be a different program in each folder; use its absolute path'],
  ['tell-me', 'bin/tell-me is in a folder that agents work in; use its absolute path'],
  ['tell-nobody', 'there is no tell-nobody on the PATH; use its absolute path'],
])('a program that does not call, such as %s, is told of once, and hinders nothing', async (command, why) => {
  const bin = join(heddle.folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'tell-me'), `#!/bin/sh\necho > ${join(heddle.home, 'evil')}\n`, { mode: 0o755 })
  appendFileSync(join(heddle.home, 'heddle.yaml'), `notify: { command: ${command} }\n`)
  const path = [bin, process.env['PATH']].join(':')
  const terminal = heddle.terminalWith({ env: { PATH: path, COLUMNS: '400' } }, 'chat')
  for (const answer of ['first', 'second']) {
    await terminal.shows('main>')
    terminal.type('run touch made\r')
    await terminal.shows('y/s/a/n>')
    terminal.type(`n ${answer}\r`)
    await terminal.shows(`the user said no: ${answer}`)
  }
  terminal.type('/quit\r')
  const { code, out } = await terminal.ended
  expect([code, out.split('notify.command does not work:').length]).toEqual([0, 2])
  expect(out.replaceAll(/\s+/g, ' ')).toContain(why)
  expect(existsSync(join(heddle.home, 'evil'))).toBe(false)
})

test('in a chat the next line is the answer', async () => {
  const terminal = heddle.terminal('chat')
  await terminal.shows('main>')
  terminal.type('run touch made\r')
  await terminal.shows('touch made')
  await terminal.shows('approval:1 y/s/a/n>')
  terminal.type('n not yet\r')
  await terminal.shows('denied')
  await terminal.shows('the user said no: not yet')
  await terminal.shows('main>')
  terminal.type('/quit\r')
  expect((await terminal.ended).code).toBe(0)
  expect(made()).toBe(false)
})

test('a command without a sandbox asks by itself, says so, and leaves a trace', async () => {
  const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: tiny }`
  const settings = `models:\n  main: ${model}\ntools:\n  exec: { sandbox: off }\n`
  writeFileSync(join(heddle.home, 'heddle.yaml'), settings)
  expect((await heddle.run('ask', 'run touch made')).code).toBe(3)
  expect((await heddle.run('approvals')).out).toContain('WITHOUT A SANDBOX: it can do whatever you can')
  const { events } = await heddle.json<{ events: { kind: string }[] }>('event')
  expect(events.map(({ kind }) => kind)).toContain('sandbox.off')
})

test('what cannot be meant is refused in words', async () => {
  expect((await heddle.run('approve', 'seven')).err).toContain('heddle approvals lists them')
  expect((await heddle.run('approve', '7')).err).toContain('there is no approval')
  expect((await heddle.run('approve', '7', '--scope', 'always')).err).toContain('use --scope once, session, agent')
  expect((await heddle.run('grants', 'revoke', 'x')).err).toContain('heddle grants lists them')
  expect((await heddle.run('ask', 'x', '--on-approval', 'maybe')).err).toContain('wait, fail, deny')
  expect((await heddle.run('approvals')).out).toContain('nothing needs your approval')
})
