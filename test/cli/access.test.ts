import { afterAll, beforeAll, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeAll(async () => {
  heddle = await newHeddle()
})
afterAll(() => heddle.remove())

test('users, tokens and the audit say what to do while there are none', async () => {
  expect((await heddle.run('users')).out).toBe('no users besides you    heddle users add mia\n')
  expect((await heddle.run('tokens')).out).toBe('no tokens yet    heddle tokens create --user mia\n')
  expect((await heddle.run('audit')).out).toBe('nothing yet: no user has changed anything\n')
  expect([await heddle.json('users'), await heddle.json('tokens', 'list'), await heddle.json('audit')]).toEqual([
    { users: [] },
    { tokens: [] },
    { audit: [] },
  ])
})

test('a user is added, changed, given a token and removed, and the audit tells it', async () => {
  const added = await heddle.json('users', 'add', 'mia', '--role', 'operator', '--per-day-usd', '2.5')
  expect(added).toMatchObject({ ok: true, id: 'mia', role: 'operator', trusted: false, perDayUsd: 2.5 })
  expect(added['folder']).toBe(heddle.folder)
  expect((await heddle.run('users', 'set', 'mia', '--trusted', '--tools', 'read_file')).out).toContain(
    'mia: operator, trusted, only read_file',
  )
  expect(await heddle.json('users', 'set', 'mia', '--no-trusted', '--tools', 'default')).toMatchObject({
    trusted: false,
    tools: null,
  })
  const made = await heddle.json<{ id: number; token: string }>(
    ...['tokens', 'create', '--user', 'mia', '--scope', 'ask,read', '--expires', '30d'],
  )
  expect(made).toMatchObject({ ok: true, user: 'mia', scopes: ['ask', 'read'], state: 'valid' })
  expect(made.token).toMatch(/^hdl_/)
  expect((await heddle.run('tokens', 'list')).out).not.toContain(made.token.slice(4))
  expect(await heddle.json('tokens', 'revoke', String(made.id))).toEqual({ ok: true, id: made.id })
  expect((await heddle.json<{ tokens: { state: string }[] }>('tokens')).tokens).toMatchObject([{ state: 'revoked' }])
  expect((await heddle.run('users', 'rm', 'mia')).out).toBe('mia is removed; 0 tokens ended\n')
  const { audit } = await heddle.json<{ audit: { action: string; outcome: string }[] }>('audit', '--limit', '3')
  expect(audit.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
    'user.change ok',
    'token.change ok',
    'token.change ok',
  ])
})

test.each([
  [['users', 'add', 'Mia'], 'bad_id'],
  [['users', 'add', 'eve', '--role', 'king'], 'bad_role'],
  [['users', 'add', 'eve', '--tools', 'raed_file'], 'tool_unknown'],
  [['users', 'add', 'eve', '--per-day-usd', 'much'], 'bad_budget'],
  [['users', 'set', 'nobody', '--trusted'], 'not_found'],
  [['users', 'set', 'nobody'], 'missing_option'],
  [['tokens', 'create', '--user', 'nobody'], 'not_found'],
  [['tokens', 'create', '--user', 'x', '--scope', 'all'], 'bad_scope'],
  [['tokens', 'create', '--user', 'x', '--expires', 'soon'], 'bad_time'],
  [['tokens', 'revoke', '99'], 'not_found'],
  [['audit', '--limit', 'x'], 'misuse'],
])('%j is refused with what to do instead', async (args, code) => {
  const { error } = await heddle.json<{ error: { code: string; remedy: string } }>(...args)
  expect([error.code, error.remedy.length > 0]).toEqual([code, true])
})

test('a token in the environment makes a command act for its user, who sees only its own', async () => {
  await heddle.run('append', '--user', 'of the owner', '--assistant', 'yes')
  await heddle.run('users', 'add', 'pia')
  const { token } = await heddle.json<{ token: string }>('tokens', 'create', '--user', 'pia')
  const asPia = async (...args: string[]) =>
    JSON.parse((await heddle.runWith({ env: { HEDDLE_TOKEN: token } }, '--json', ...args)).out)
  expect(await asPia('sessions')).toMatchObject({ sessions: [] })
  expect(await asPia('ask', 'hello')).toMatchObject({ status: 'completed', session: 'user:pia:main' })
  expect(await asPia('memory')).toMatchObject({ error: { code: 'forbidden' } })
  expect(await asPia('users', 'add', 'eve')).toMatchObject({ error: { code: 'forbidden' } })
})
