import { afterAll, beforeAll, describe, expect } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { UserRole } from '../../src/domain/access/principal.ts'
import { daemonClient } from '../../src/gateway/client.ts'
import { systemClock } from '../../src/system.ts'
import { scriptedModel } from '../../src/testing.ts'
import { folder, newGateway, type TestGateway } from '../gateway/gateway.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const never = new AbortController().signal
const line = '/agents register @editor | profile:writer:v1 | Shortens texts without losing a fact.'

describe.each(databases)('/agents on %s', (database) => {
  const test = testOn(database)
  let gateway: TestGateway
  const users = new Map<string, App>()
  beforeAll(async () => {
    gateway = await newGateway([scriptedModel(() => ({ text: 'yes' }))], { database })
    const { app, server } = gateway
    const roles: [string, UserRole, boolean][] = [
      ['mia', 'public', false],
      ['otto', 'operator', true],
      ['ada', 'admin', true],
    ]
    for (const [id, role, trusted] of roles) {
      await app.addUser(id, { role, folder, trusted })
      const { token } = await app.createToken(id)
      users.set(id, daemonClient({ socket: server.path, token }, systemClock))
    }
    for (const each of [app, ...users.values()]) {
      const { itemId } = await each.submit(folder, { session: 'main', content: 'hello' })
      await each.answer(folder, itemId, never)
    }
  })
  afterAll(() => gateway.remove())

  const as = (id: string) => users.get(id) as App
  const send = async (app: App, line: string, session = 'main') => app.command(folder, { session, line })
  const textOf = async (app: App, line: string, session?: string) => JSON.stringify(await send(app, line, session))

  test('a person registers an agent, pins it, sees which pin counts and why, and takes it all back', async () => {
    const owner = gateway.door
    expect(await textOf(owner, line)).toContain('@editor is registered with profile:writer:v1')
    await expect(send(owner, line)).rejects.toMatchObject({ code: 'agent_registered' })
    expect(await textOf(as('mia'), '/agents')).toContain('Shortens texts')
    expect(await textOf(as('mia'), '/agents show editor')).toContain('none may be forwarded')
    await expect(send(owner, '/agents show @edtior')).rejects.toMatchObject({ remedy: 'did you mean @editor?' })

    expect(await textOf(owner, '/agents pin @researcher --global')).toContain('is pinned for everything')
    expect(await textOf(owner, '/agents pin @editor')).toContain('is pinned for session main')
    const { blocks } = await send(owner, '/agents pins')
    expect(blocks).toMatchObject([
      {
        columns: ['', 'scope', 'agent', 'profile'],
        rows: [
          ['*', 'session', '@editor', 'profile:writer:v1'],
          ['', 'global', '@researcher', 'profile:researcher:v1'],
        ],
      },
      {
        facts: [
          {
            name: 'session',
            value: 'it is pinned for this session, which comes before the pin of everything',
          },
          { name: 'global', value: 'the pin of this session comes first' },
        ],
      },
    ])
    await send(owner, '/agents unregister @editor')
    expect(await textOf(owner, '/agents pins')).toContain('@editor is no longer registered')
    expect(await textOf(owner, '/agents unpin --session')).toContain('nothing is pinned for session main any more')
    expect(await textOf(owner, '/agents unpin')).toContain('nothing was pinned for session main')
    await send(owner, '/agents unpin --global')
    expect(await textOf(owner, '/agents pins')).toContain('nothing is pinned here')
  })

  test('the registry and wide pins need a role; a session and oneself are one’s own to pin', async () => {
    const before = await gateway.app.agentRegistry()
    await expect(send(as('mia'), line)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(send(as('mia'), '/agents unregister @writer')).rejects.toMatchObject({ code: 'forbidden' })
    for (const scope of ['--workspace', '--global'])
      await expect(send(as('mia'), `/agents pin @writer ${scope}`)).rejects.toMatchObject({ code: 'forbidden' })
    expect(await gateway.app.agentRegistry()).toEqual(before)
    expect(await textOf(as('mia'), '/agents pin @writer')).toContain('is pinned for session main')
    expect(await textOf(as('mia'), '/agents pin @coder --user')).toContain('is pinned for you')
    // A session of another does not exist.
    await expect(send(as('mia'), '/agents pin @coder', 'user:otto:main')).rejects.toMatchObject({ code: 'not_found' })
    expect(await textOf(as('otto'), '/agents pins')).toContain('nothing is pinned here')
    for (const id of ['otto', 'ada']) {
      expect(await textOf(as(id), line)).toContain('is registered')
      expect(await textOf(as(id), '/agents pin @editor --workspace')).toContain('is pinned for this folder')
      await send(as(id), '/agents unpin --workspace')
      await send(as(id), '/agents unregister @editor')
    }
  })

  test.each([
    ['/agents register @editor | profile:writer:v1', 'the description is missing'],
    ['/agents register @editor || x', 'the profile is missing'],
    ['/agents register @editor | a | b | c', 'it takes 3 parts between |, not 4'],
    ['/agents pin @writer --sesion', 'there is no --sesion; did you mean --session?'],
    ['/agents pin @writer --user --global', '--user and --global do not go together'],
    ['/agents pin', 'the agent is missing'],
    ['/agents regster @x | y | z', 'there is no /agents regster'],
    ['/agents all', 'there is no /agents all'],
    [`/agents register @e\u200bx | profile:writer:v1 | x`, 'cannot have the character'],
  ])('%s changes nothing: %s', async (wrong, message) => {
    const before = await gateway.app.registryHistory()
    await expect(send(gateway.app, wrong)).rejects.toMatchObject({
      message: expect.stringContaining(message),
      remedy: expect.stringContaining('write: /agents'),
    })
    expect(await gateway.app.registryHistory()).toEqual(before)
  })

  test('help of a group has all that each command does, and is not cut beside a long usage', async () => {
    const { blocks } = await send(gateway.app, '/help agents')
    expect(blocks).toMatchObject([
      { kind: 'text', text: expect.stringContaining("--global]\n  make an agent's profile the default, here in this") },
    ])
  })

  test('what the registry refuses is told with its reason', async () => {
    await expect(send(gateway.app, '/agents register @E | profile:none | x')).rejects.toMatchObject({
      code: 'bad_registry',
      message: expect.stringMatching(/agentId[\s\S]*profileId/),
    })
    await expect(
      send(gateway.app, `/agents register @editor | profile:writer:v1 | ${'x'.repeat(301)}`),
    ).rejects.toMatchObject({ code: 'bad_registry' })
  })

  test('profiles are listed and shown as by heddle profiles, to those who may read them', async () => {
    const { app, door } = gateway
    await app.setProfile('profile:poet:v1', { model: { model: 'scripted' }, systemPrompt: 'Rhyme.' })
    expect(await textOf(door, '/profiles')).toContain('["profile:poet:v1",1,"model scripted"]')
    const shown = await textOf(door, '/profiles show profile:poet:v1')
    expect(shown).toContain('{"name":"model","value":"scripted"}')
    expect(shown).toContain('{"kind":"quote","text":"Rhyme."}')
    await expect(send(as('mia'), '/profiles')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(send(door, '/profiles show profile:poet:v2')).rejects.toMatchObject({ code: 'profile_unknown' })
  })

  test('nobody is advised to start a session that only another can have', async () => {
    const remedy = (app: App, label: string) => send(app, `/switch ${label}`).then(String, (error) => error.remedy)
    for (const label of ['user:somebody-else:letters', 'cron:7'])
      expect(await remedy(as('mia'), label)).toBe('/sessions lists them')
    expect(await remedy(gateway.door, 'user:nobody-at-all:elsewhere')).toBe('/sessions lists them')
    expect(await remedy(as('mia'), 'elsewhere')).toBe('/sessions lists them; /new elsewhere starts it')
  })
})
