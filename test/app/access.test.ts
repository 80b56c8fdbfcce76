import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { RunView } from '../../src/api/views/run.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import type { Principal, UserRole } from '../../src/domain/access/principal.ts'
import { openStore } from '../../src/store/open.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { type ScriptedModel, scriptedModel, type TestApp } from '../../src/testing.ts'
import { context } from '../setup/store-context.ts'
import { openWorkingApp } from './working-app.ts'

const folder = '/here'
const never = new AbortController().signal
const gone = { code: 'not_found' }
const refused = { code: 'forbidden' }

let heddle: TestApp
let model: ScriptedModel
beforeEach(async () => {
  model = scriptedModel(({ messages }) => ({ text: `heard: ${messages.at(-1)?.content}` }), {
    price: { input: 1, output: 1 },
  })
  heddle = await openWorkingApp({ models: [model], agent: 'coordinator' })
})
afterEach(() => heddle.remove())

async function user(id: string, role: UserRole, more: Parameters<App['setUser']>[1] = {}): Promise<App> {
  await heddle.addUser(id, { role, folder, ...more })
  const { token } = await heddle.createToken(id)
  return heddle.as(await heddle.identify(token))
}

async function ask(app: App, content: string, session = 'main') {
  const { itemId } = await app.submit(folder, { session, content })
  return app.answer(folder, itemId, never)
}

/** The options that hold for a run. */
async function storedOptions(runId: string | null): Promise<unknown> {
  const file = join(heddle.home, 'heddle.db')
  const store = await openStore({ kind: 'sqlite', file, durability: 'full' }, context)
  try {
    return (await store.read((rows) => findRun(rows, runId ?? '')))?.options
  } finally {
    await store.close()
  }
}

describe('what is private to the owner', () => {
  beforeEach(async () => {
    writeFileSync(join(heddle.home, 'USER.md'), '# You\nThe owner is Ada Lovelace.')
    writeFileSync(join(heddle.home, 'SOUL.md'), 'Be kind.')
    await heddle.remember({ content: 'the plants are watered with rain' })
  })

  test.each(['public', 'operator', 'admin'] as const)(
    'is not in a prompt of %s, nor does such a run have tools for it',
    async (role) => {
      await ask(heddle, 'who waters the plants with rain?')
      const own = model.requests.at(-1)
      expect(own?.system).toContain('Ada Lovelace')
      expect(own?.note).toContain('the plants are watered with rain')

      const { runId } = await ask(await user('pia', role), 'who waters the plants with rain?')
      const others = model.requests.at(-1)
      expect(others?.system).toContain('Be kind.')
      expect(others?.system).not.toContain('Ada Lovelace')
      expect(others?.note).not.toContain('the plants')
      const { effectiveTools } = (await heddle.show(folder, `run:${runId}`)) as RunView
      expect(effectiveTools.filter((name) => /memory|recall|remember|narrative/.test(name))).toEqual([])
    },
  )

  test('stays private where the owner talks in the session of another', async () => {
    await ask(await user('pia', 'public'), 'hello')
    await ask(heddle, 'who waters the plants with rain?', 'user:pia:main')
    expect(model.requests.at(-1)?.system).not.toContain('Ada Lovelace')
    expect(model.requests.at(-1)?.note).not.toContain('the plants')
  })

  test('cannot be asked for by anyone else', async () => {
    for (const role of ['public', 'operator', 'admin'] as const) {
      const app = await user(role, role)
      await expect(app.memories({ limit: 5 })).rejects.toMatchObject(refused)
      await expect(app.searchMemories('plants', { limit: 5 })).rejects.toMatchObject(refused)
      await expect(app.show(folder, 'memory:1')).rejects.toMatchObject(refused)
      await expect(app.why(folder, 'memory:1')).rejects.toMatchObject(refused)
    }
  })
})

describe('tools of a run', () => {
  const toolsOf = async (app: App, content = 'hello') => {
    const { runId } = await ask(app, content)
    return ((await heddle.show(folder, `run:${runId}`)) as RunView).effectiveTools
  }

  test('are none for the public, pure ones for operators, and those of the owner for admins', async () => {
    expect(await toolsOf(await user('pia', 'public'))).toEqual([])
    expect(await toolsOf(await user('omar', 'operator'))).toEqual(
      expect.arrayContaining(['read_file', 'list_dir', 'search_files']),
    )
    const operators = await toolsOf(heddle.as({ kind: 'user', id: 'omar', role: 'operator' }), 'again')
    expect(operators.filter((name) => /write|edit|exec|spawn|fetch/.test(name))).toEqual([])
    expect(await toolsOf(await user('ada', 'admin'), '@general hello')).toEqual(
      expect.arrayContaining(['write_file', 'edit_file', 'web_fetch']),
    )
  })

  test('are what the owner chose for a user, as far as the role may act at all', async () => {
    expect(await toolsOf(await user('pia', 'public', { tools: ['read_file', 'sessions_spawn', 'recall'] }))).toEqual([
      'read_file',
    ])
  })
})

describe('a user', () => {
  test('has sessions of its own under the same labels, and sees nothing of others', async () => {
    const [pia, omar] = [await user('pia', 'public'), await user('omar', 'operator')]
    const [owners, pias] = [await ask(heddle, 'owner'), await ask(pia, 'pia')]
    await ask(omar, 'omar')
    expect(pias.session).toBe('user:pia:main')
    expect((await pia.sessions()).rows.map(({ label }) => label)).toEqual(['user:pia:main'])
    expect((await heddle.sessions()).rows.map(({ label }) => label).toSorted()).toEqual([
      'main',
      'user:omar:main',
      'user:pia:main',
    ])
    expect((await pia.runs({ all: true })).rows.map(({ id }) => id)).toEqual([pias.runId])
    expect((await pia.log(folder, {})).map(({ preview }) => preview)).toEqual(['pia'])
    expect((await pia.log(folder, { all: true })).map(({ preview }) => preview)).toEqual(['pia'])
    expect((await pia.tips()).map(({ preview }) => preview)).toEqual(['pia'])
    expect((await pia.usage('session')).rows.map(({ key }) => key)).toEqual(['user:pia:main'])
    const status = await pia.status(folder, 0)
    expect(status.sinceLast.map(({ preview }) => preview)).toEqual(['pia'])
    expect(status.dayLimitUsd, 'what the owner may spend').toBeNull()
    const events = await pia.events({})
    expect(new Set(events.map(({ payload }) => payload['session'] ?? 'user:pia:main'))).toEqual(
      new Set(['user:pia:main']),
    )
    expect(events.map(({ kind }) => kind)).toContain('run.ended')

    const foreign = [
      `run:${owners.runId}`,
      `turn:${owners.turnId}`,
      owners.turnId ?? '',
      'owner:main',
      'user:omar:main',
    ]
    for (const reference of foreign) {
      await expect(pia.show(folder, reference), reference).rejects.toMatchObject(gone)
      await expect(pia.log(folder, { of: reference }), reference).rejects.toMatchObject(gone)
      await expect(pia.context(folder, reference), reference).rejects.toMatchObject(gone)
      await expect(pia.fork(folder, { turn: reference }), reference).rejects.toMatchObject(gone)
      await expect(pia.diff(folder, 'main', reference), reference).rejects.toMatchObject(gone)
    }
    await expect(pia.cancel(owners.runId ?? '', 'x')).rejects.toMatchObject(gone)
    await expect(pia.retry(owners.runId ?? '')).rejects.toMatchObject(gone)
    await expect(omar.why(folder, `run:${owners.runId}`)).rejects.toMatchObject(gone)
    await expect(omar.why(folder, 'file:a.txt')).rejects.toMatchObject(refused)
    await expect(pia.submit(folder, { session: 'user:omar:main', content: 'x' })).rejects.toMatchObject(gone)
    await expect(
      pia.submit(folder, { session: 'new', content: 'x', from: `turn:${owners.turnId}` }),
    ).rejects.toMatchObject(gone)
    await expect(pia.answer(folder, 'nothing', never)).rejects.toMatchObject(gone)
  })

  test('reads of another what it would read of nothing: the same words', async () => {
    const pia = await user('pia', 'public')
    const { runId } = await ask(heddle, 'hello')
    const wordsOf = (id: string) =>
      pia.show(folder, `run:${id}`).then(
        () => '',
        (error: Error) => error.message.replace(id, 'ID'),
      )
    expect(await wordsOf(runId ?? '')).toBe(await wordsOf('0123456789abcdefghjk'))
  })

  test('sees its own turns, forks them, and not the prompt made of the owner files', async () => {
    const pia = await user('pia', 'public')
    const { turnId, runId } = await ask(pia, 'hello')
    const shown = (await pia.show(folder, `turn:${turnId}`)) as TurnView
    expect([shown.response.content.includes('hello'), shown.thread.systemPrompt]).toEqual([true, null])
    expect(await pia.show(folder, `run:${runId}`)).toMatchObject({ kind: 'run', session: 'user:pia:main' })
    expect(await pia.fork(folder, { turn: 'main', label: 'side' })).toMatchObject({ session: 'user:pia:side' })
    await ask(pia, 'and there', 'side')
    expect((await pia.log(folder, { of: 'side' })).map(({ preview }) => preview)).toEqual(['hello', 'and there'])
  })

  test('works in the folder that the owner gave, whatever it says', async () => {
    const pia = await user('pia', 'public')
    const { itemId } = await pia.submit('/elsewhere', { session: 'main', content: 'hello' })
    await pia.answer('/elsewhere', itemId, never)
    expect((await heddle.sessions()).rows.map((session) => session.folder)).toEqual([folder])
  })

  test('may be an admin, who sees everything but what is private, and talks in the sessions of others by name', async () => {
    const ada = await user('ada', 'admin')
    const { runId } = await ask(heddle, 'hello')
    expect(await ada.show(folder, `run:${runId}`)).toMatchObject({ session: 'main' })
    expect((await ada.sessions()).rows.map(({ label }) => label)).toEqual(['main'])
    await ask(ada, 'to the owner', 'owner:main')
    expect((await heddle.log(folder, {})).map(({ preview }) => preview)).toEqual(['hello', 'to the owner'])
    await expect(ada.addUser('eve', { folder })).rejects.toMatchObject(refused)
    await expect(ada.createToken('ada')).rejects.toMatchObject(refused)
    expect((await ada.users()).map(({ id }) => id)).toEqual(['ada'])
  })

  test('cannot go before others or run for longer, is not asked questions, and is told so', async () => {
    const pia = await user('pia', 'public')
    const wishes = { priority: 900, timeoutSeconds: 0, attended: true, waitsForBudget: true }
    const { itemId, runId, limitedTo } = await pia.submit(folder, { session: 'main', content: 'hello', ...wishes })
    expect(limitedTo).toEqual({ priority: 0, timeoutSeconds: 300, attended: false, waitsForBudget: false })
    const small = { priority: -1, timeoutSeconds: 5 }
    expect(await pia.submit(folder, { session: 'other', content: 'hello', ...small })).not.toHaveProperty('limitedTo')
    const own = await heddle.submit(folder, { session: 'own', content: 'hello', ...wishes })
    expect(own).not.toHaveProperty('limitedTo')
    await pia.answer(folder, itemId, never)
    await heddle.answer(folder, own.itemId, never)
    const options = { ofUser: await storedOptions(runId), ofOwner: await storedOptions(own.runId) }
    expect(options).toMatchObject({
      ofUser: { priority: 0, timeoutMs: 300_000 },
      ofOwner: { priority: 900, attended: true, waitsForBudget: true },
    })
    expect(options.ofUser).not.toHaveProperty('attended', true)
    expect(options.ofUser).not.toHaveProperty('waitsForBudget', true)
  })

  test('spends no more in a day than the owner allows, and is told so', async () => {
    const pia = await user('pia', 'public', { perDayUsd: 0.000001 })
    expect(await ask(pia, 'hello')).toMatchObject({
      status: 'failed',
      error: { code: 'budget_spent', remedy: expect.stringContaining('heddle users set pia --per-day-usd') },
    })
    expect(await ask(heddle, 'hello')).toMatchObject({ status: 'completed' })
    await heddle.setUser('pia', { perDayUsd: 100 })
    expect(await ask(pia, 'again')).toMatchObject({ status: 'completed' })
  })
})

describe('a token', () => {
  const principal = async (token: string): Promise<Principal | string> =>
    heddle.identify(token).catch((error) => error.code)

  test('is shown once, ends when it is revoked or its user is removed, and takes on a changed role at once', async () => {
    await heddle.addUser('pia', { folder })
    const [one, two] = [await heddle.createToken('pia'), await heddle.createToken('pia')]
    expect(one.token).toMatch(/^hdl_[\w-]{43}$/)
    expect(JSON.stringify(await heddle.tokens())).not.toContain(one.token.slice(4))
    expect(await principal(one.token)).toEqual({ kind: 'user', id: 'pia', role: 'public' })
    await heddle.setUser('pia', { role: 'operator' })
    expect(await principal(one.token)).toMatchObject({ role: 'operator' })
    await heddle.revokeToken(one.id)
    expect(await principal(one.token)).toBe('unknown_token')
    await expect(heddle.revokeToken(one.id)).rejects.toMatchObject(gone)
    expect(await principal(two.token)).toMatchObject({ id: 'pia' })
    expect(await heddle.removeUser('pia')).toEqual({ tokens: 1 })
    expect(await principal(two.token)).toBe('unknown_token')
    await heddle.addUser('pia', { folder })
    expect([await principal(one.token), await principal(two.token)]).toEqual(['unknown_token', 'unknown_token'])
  })

  test('may expire', async () => {
    await heddle.addUser('pia', { folder })
    const soon = Date.now() + 60_000
    const { token, expiresAt } = await heddle.createToken('pia', { expiresAt: soon })
    expect([expiresAt, await principal(token)]).toMatchObject([new Date(soon).toISOString(), { id: 'pia' }])
    await expect(heddle.createToken('pia', { expiresAt: 5 })).rejects.toMatchObject({ code: 'bad_time' })
  })

  test('does no more than its scopes say', async () => {
    await heddle.addUser('omar', { role: 'operator', folder })
    const { token } = await heddle.createToken('omar', { scopes: ['ask'] })
    const app = heddle.as(await heddle.identify(token))
    await ask(app, 'hello')
    await expect(app.sessions()).rejects.toMatchObject({ ...refused, remedy: 'it needs a token with the scope read' })
    await expect(heddle.createToken('omar', { scopes: ['all' as 'ask'] })).rejects.toMatchObject({ code: 'bad_scope' })
  })
})

test('the audit tells what others changed, and who may do what, without their words', async () => {
  const pia = await user('pia', 'public')
  await ask(pia, 'my secret question')
  await pia.sessions()
  await pia.addUser('eve', { folder }).catch(() => undefined)
  await ask(heddle, 'the owner asks')
  const lines = await heddle.audit()
  expect(lines.rows.map(({ principal, action, resource, outcome }) => [principal, action, resource, outcome])).toEqual([
    ['user:pia', 'user.change', 'user:eve', 'forbidden'],
    ['user:pia', 'run.ask', 'session:main', 'ok'],
    ['owner', 'token.change', 'user:pia', 'ok'],
    ['owner', 'user.change', 'user:pia', 'ok'],
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
  expect(lines.rows[1]?.detail).toMatch(/^18 characters, sha256 [0-9a-f]{64}$/)
  const first = await heddle.audit({ limit: 3 })
  const rest = await heddle.audit({ limit: 3, after: first.next ?? '' })
  expect([...first.rows, ...rest.rows]).toEqual(lines.rows)
  expect(rest.next).toBeUndefined()
})

test('of two that add a user with one id at once, one is told that it exists', async () => {
  const added = await Promise.allSettled([heddle.addUser('pia', { folder }), heddle.addUser('pia', { folder })])
  expect(added.map((each) => (each.status === 'fulfilled' ? each.value.id : each.reason.code)).sort()).toEqual([
    'pia',
    'user_exists',
  ])
})

describe('targets and configuration of a user', () => {
  const atlas = { id: 'atlas', identity: { name: 'Atlas', soul: '' }, permissions: { tools: {} } }

  test("session:, turn: and persona: lead to the user's own sessions, and another's turn does not exist", async () => {
    await heddle.setPersona(atlas)
    const own = await ask(heddle, 'hello')
    const pia = await user('pia', 'public')
    const first = await ask(pia, 'one', 'session:main')
    expect(first.session).toBe('user:pia:main')
    expect((await ask(pia, 'two', `turn:${first.turnId}`)).session).toBe('user:pia:main')
    expect((await ask(pia, 'three', `turn:${first.turnId}`)).session).toBe(`user:pia:fork-${first.turnId?.slice(-6)}`)
    expect((await ask(pia, 'four', 'persona:atlas')).session).toBe('user:pia:atlas:main')
    await expect(ask(pia, 'five', `turn:${own.turnId}`)).rejects.toMatchObject(gone)
    await expect(ask(pia, 'six', 'session:owner:main')).rejects.toMatchObject(gone)
    // A fork without a label has one that its user can name.
    const { session } = await pia.fork(folder, { turn: `turn:${first.turnId}` })
    expect(await pia.show(folder, session)).toMatchObject({ kind: 'session', label: session })
  })

  test('a system prompt is written by operators whom the owner trusts, in their own sessions', async () => {
    const { turnId } = await ask(heddle, 'hello')
    const [pia, oli, eve] = [
      await user('pia', 'public', { trusted: true }),
      await user('oli', 'operator', { trusted: true }),
      await user('eve', 'operator'),
    ]
    await expect(pia.setSystemPrompt(folder, 'main', 'Obey.')).rejects.toMatchObject(refused)
    await expect(eve.setSystemPrompt(folder, 'main', 'Obey.')).rejects.toMatchObject({ code: 'not_trusted' })
    expect(await oli.setSystemPrompt(folder, 'main', 'Be brief.')).toMatchObject({ label: 'user:oli:main' })
    await ask(oli, 'hello')
    expect(model.requests.at(-1)?.system).toMatch(/## This conversation\nBe brief\.$/)
    await expect(oli.setSystemPrompt(folder, 'session:owner:main', 'x')).rejects.toMatchObject(gone)
    await expect(oli.setSystemPrompt(folder, `turn:${turnId}`, 'x')).rejects.toMatchObject(gone)
    const eves = await ask(eve, 'hello')
    await expect(eve.fork(folder, { turn: `turn:${eves.turnId}`, systemPrompt: 'x' })).rejects.toMatchObject({
      code: 'not_trusted',
    })
  })
})
