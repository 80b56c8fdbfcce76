import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { RunView } from '../../src/api/views/run.ts'
import type { UserRole } from '../../src/domain/access/principal.ts'
import type { TestApp } from '../../src/testing.ts'
import { openWorkingApp } from './working-app.ts'

const folder = '/here'
const never = new AbortController().signal
const writer = 'profile:writer:v1'
const poet = { agentId: '@poet', profileId: writer, description: 'Writes poems.' }

let heddle: TestApp
beforeEach(async () => {
  heddle = await openWorkingApp()
})
afterEach(() => heddle.remove())

async function user(id: string, role: UserRole, more: Parameters<App['setUser']>[1] = {}): Promise<App> {
  await heddle.addUser(id, { role, folder, ...more })
  const { token } = await heddle.createToken(id)
  return heddle.as(await heddle.identify(token))
}

async function ask(app: App, content: string) {
  const { itemId } = await app.submit(folder, { session: 'main', content })
  return app.answer(folder, itemId, never)
}

describe('who may change what', () => {
  test('anyone reads the registry, and operators whom the owner trusts change it', async () => {
    const [mia, oscar, olga] = [
      await user('mia', 'public', { trusted: true }),
      await user('oscar', 'operator'),
      await user('olga', 'operator', { trusted: true }),
    ]
    expect((await mia.agentRegistry()).registry.agents.length).toBe(3)
    await expect(mia.registerAgent(poet)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(oscar.registerAgent(poet)).rejects.toMatchObject({ code: 'not_trusted' })
    await expect(oscar.unregisterAgent('@writer')).rejects.toMatchObject({ code: 'not_trusted' })
    expect(await olga.registerAgent(poet)).toEqual({ version: 2 })
    expect((await olga.registryHistory()).map(({ by }) => by)).toEqual(['user:olga', 'heddle'])
    await expect(olga.setProfile(writer, { model: {} })).rejects.toMatchObject({ code: 'forbidden' })
    const ada = await user('ada', 'admin')
    await heddle.setProfile('profile:mine', { model: {} })
    await expect(ada.deleteProfile('profile:mine')).rejects.toMatchObject({ code: 'not_trusted' })
  })

  test('a session and oneself are one’s own to pin, others’ sessions do not exist, and a folder needs an operator', async () => {
    const [mia, oscar] = [await user('mia', 'public'), await user('oscar', 'operator')]
    await ask(mia, 'hello')
    await ask(heddle, 'hello')
    const pin = { agentId: '@writer' }
    expect(await mia.setPin(folder, { scope: 'session', ...pin })).toMatchObject({ profileId: writer })
    expect(await mia.setPin(folder, { scope: 'user', ...pin })).toMatchObject({ id: 'mia' })
    for (const act of [
      () => oscar.setPin(folder, { scope: 'session', session: 'user:mia:main', ...pin }),
      () => oscar.removePin(folder, { scope: 'session', session: 'user:mia:main' }),
      () => oscar.pins(folder, 'user:mia:main'),
      () => mia.setPin(folder, { scope: 'session', session: 'owner:main', ...pin }),
    ])
      await expect(act()).rejects.toMatchObject({ code: 'not_found' })
    for (const scope of ['workspace', 'global'] as const)
      await expect(mia.setPin(folder, { scope, ...pin })).rejects.toMatchObject({ code: 'forbidden' })
    expect(await oscar.setPin(folder, { scope: 'global', agentId: '@coder' })).toMatchObject({ scope: 'global' })
    const scopes = async (app: App) => (await app.pins(folder, 'main')).pins.map((each) => [each.scope, each.effective])
    expect(await scopes(mia)).toEqual([
      ['session', true],
      ['user', false],
      ['global', false],
    ])
    expect(await scopes(oscar)).toEqual([['global', true]])
    expect(await scopes(heddle)).toEqual([['global', true]])
  })

  test('an admin sees what is pinned in the session of a user', async () => {
    const [mia, ada] = [await user('mia', 'public'), await user('ada', 'admin')]
    await ask(mia, 'hello')
    await mia.setPin(folder, { scope: 'user', agentId: '@writer' })
    expect((await ada.pins(folder, 'user:mia:main')).pins).toMatchObject([
      { scope: 'user', id: 'mia', effective: true },
    ])
  })

  test('every change is audited with who made it, the owner’s too', async () => {
    const olga = await user('olga', 'operator', { trusted: true })
    await olga.registerAgent(poet)
    await heddle.setProfile('profile:mine', { model: {} })
    await heddle.setPin(folder, { scope: 'global', agentId: '@poet' })
    const { rows } = await heddle.audit({ limit: 3 })
    expect(rows.map(({ principal, action, resource, outcome }) => [principal, action, resource, outcome])).toEqual([
      ['owner', 'pin.share', 'profile-pin:global', 'ok'],
      ['owner', 'profile.change', 'profile:profile:mine', 'ok'],
      ['user:olga', 'agent.register', 'agent:@poet', 'ok'],
    ])
  })
})

test('a profile names models, tools and credentials that exist', async () => {
  await expect(heddle.setProfile('profile:x', { model: { model: 'nosuch' } })).rejects.toMatchObject({
    code: 'model_unknown',
  })
  await expect(heddle.setProfile('profile:x', { model: {}, allowedModels: ['nosuch'] })).rejects.toMatchObject({
    code: 'model_unknown',
  })
  await expect(
    heddle.setProfile('profile:x', { model: {}, limits: { permissions: { tools: { deny: ['nosuch'] } } } }),
  ).rejects.toMatchObject({ code: 'tool_unknown' })
})

test('a new label is pinned before its first message', async () => {
  await heddle.setPin(folder, { scope: 'session', session: 'fresh', agentId: '@writer' })
  expect((await heddle.pins(folder, 'fresh')).pins).toMatchObject([{ scope: 'session', effective: true }])
  expect((await heddle.pins(folder, 'other')).pins).toEqual([])
})

test('agents of registry and files are one list, and those of the registry can be addressed', async () => {
  await heddle.registerAgent({ ...poet, tags: ['verse'] })
  const listed = await heddle.agents(folder)
  expect(listed.filter(({ name }) => name === 'writer').length).toBe(1)
  expect(listed.find(({ name }) => name === 'poet')).toEqual({
    name: 'poet',
    description: 'Writes poems.',
    tags: ['verse'],
  })
  await heddle.checkAgent(folder, 'poet')
  await heddle.addJob(folder, { every: '1h', message: 'write one', agent: '@poet' })
  await expect(heddle.checkAgent(folder, 'nosuch')).rejects.toMatchObject({ code: 'agent_unknown' })
  const { itemId } = await heddle.submit(folder, { session: 'main', content: '@poet write one' })
  const { runId } = await heddle.answer(folder, itemId, never)
  expect((await heddle.show(folder, `run:${runId}`)) as RunView).toMatchObject({ agent: 'poet' })
})
