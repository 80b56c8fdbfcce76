import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import { answerPlainly, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
let provider: TestProvider
let there: string
beforeEach(async () => {
  heddle = newHeddle()
  provider = await startProvider({ answer: answerPlainly })
  await heddle.run('init')
  writeFileSync(
    join(heddle.home, 'heddle.yaml'),
    `models:\n  main: { provider: openai-compatible, baseURL: "${provider.url}", model: tiny, price: { input: 1, output: 1 } }\nmemory: { narratives: false }\n`,
  )
  there = join(heddle.folder, '..', "Ada's shop")
  mkdirSync(there)
  there = realpathSync(there)
  await say(heddle.folder, 'invoices', 'The PDF invoices print umlauts as question marks', 'The font lacks glyphs.')
  await say(heddle.folder, 'login', 'Users are logged out although they ticked remember me', 'The token expires.')
  await say(there, 'labels', 'Print parcel labels for DHL from the order page', 'The carrier works.')
})
afterEach(async () => {
  await provider.close()
  heddle.remove()
})

const say = (cwd: string, label: string, asked: string, answered: string) =>
  heddle.runWith({ cwd }, 'append', '-s', label, '--user', asked, '--assistant', answered)
const asked = () => provider.log.filter(({ kind }) => kind === 'received').length

test('--smart asks in the session that the words belong to, and says which and why before the answer', async () => {
  const { code, out, err } = await heddle.run('ask', '--smart', 'which font do the invoices have now?')
  expect({ code, err }).toEqual({
    code: 0,
    err: expect.stringMatching(/^→ session invoices, shares: invoice, font\nturn:[^\n]+\n$/),
  })
  expect(out).toContain('answer to: which font do the invoices have now?')
  expect(asked()).toBe(1)
  expect(await heddle.json('ask', '--smart', 'were users logged out again?')).toMatchObject({
    ok: true,
    session: 'login',
    routed: { session: 'login', folder: heddle.folder, words: ['user', 'logged'] },
  } satisfies Partial<RequestAnswer> & { routed: object })
})

test('what fits no session clearly is not asked: exit 2 without a terminal, with the commands to run', async () => {
  const { code, out, err } = await heddle.run('ask', '--smart', "what's the font of the login page?")
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain('no session fits this clearly\n  → choose one:\n')
  expect(err).toContain(String.raw`heddle ask -s login 'what'\''s the font of the login page?'    # shares: login`)
  expect(err).toContain('heddle ask -s invoices ')
  expect(err).toContain('heddle ask -s main ')
  expect(await heddle.json('ask', '--smart', 'why is the sky blue?')).toMatchObject({
    ok: false,
    error: { code: 'no_sure_session', message: 'no session shares a word with this' },
  })
  expect(asked()).toBe(0)
})

test('on a terminal it is a numbered choice', async () => {
  const terminal = heddle.terminal('ask', '--smart', 'what is the font of the login page?')
  await terminal.shows('1  login')
  await terminal.shows('2  invoices')
  await terminal.shows('3  main')
  await terminal.shows('number, or Enter to stop>')
  terminal.type('2\n')
  await terminal.shows('→ session invoices, shares: font')
  await terminal.shows('answer to: what is the font of the login page?')
  expect((await terminal.ended).code).toBe(0)

  const stopped = heddle.terminal('ask', '--smart', 'why is the sky blue?')
  await stopped.shows('number, or Enter to stop>')
  stopped.type('\n')
  expect((await stopped.ended).code).toBe(130)
  expect(asked()).toBe(1)
})

test('other folders are looked at only with --smart-all, and named', async () => {
  const question = 'does DHL print the parcel labels now?'
  expect((await heddle.run('ask', '--smart', question)).code).toBe(2)
  const { code, err } = await heddle.run('ask', '--smart-all', question)
  expect(code).toBe(0)
  expect(err.split('\n')[0]).toBe(`→ session labels of ${there}, shares: label, dhl, parcel, print`)
  const { turns } = JSON.parse((await heddle.runWith({ cwd: there }, 'log', 'labels', '--json')).out)
  expect(turns).toHaveLength(2)
  await say(there, 'cellar', 'The carrier parcel went to the cellar', 'Yes.')
  expect((await heddle.run('ask', '--smart-all', 'parcel for the carrier')).err).toContain(
    `cd '${there.replace("'", String.raw`'\''`)}' && heddle ask -s `,
  )
})

test('a session that is named and one that is looked for exclude each other', async () => {
  expect(await heddle.json('ask', '--smart', '-s', 'login', 'why?')).toMatchObject({
    ok: false,
    error: { message: '-s names the session, and --smart looks for one' },
  })
})
