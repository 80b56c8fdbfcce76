import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { width } from '../../src/cli/terminal/screen.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(async () => {
  heddle = newHeddle({ agent: null })
  await heddle.run('profiles')
})
afterEach(() => heddle.remove())

const write = (name: string, value: unknown) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  writeFileSync(join(heddle.folder, name), text)
  return name
}
const registerPoet = () =>
  heddle.run('agents', 'register', '@poet', '--profile', 'profile:writer:v1', '--description', 'Writes poems.')
const agentIds = async () =>
  (await heddle.json<{ registry: { agents: { agentId: string }[] } }>('agents', 'export')).registry.agents.map(
    ({ agentId }) => agentId,
  )
const shipped = ['@writer', '@researcher', '@coder']

describe('heddle agents export and apply', () => {
  test('what export prints can be applied, and changes nothing', async () => {
    const { out } = await heddle.run('agents', 'export')
    expect(await heddle.json('agents', 'apply', write('agents.json', out))).toEqual({
      ok: true,
      version: 1,
      changes: [],
    })
    expect((await heddle.run('agents', 'apply', 'agents.json')).out).toBe('nothing changes    version 1\n')
  })

  test('apply shows what changes, and --dry-run changes nothing', async () => {
    const { registry } = await heddle.json<{ registry: { agents: Record<string, unknown>[] } }>('agents', 'export')
    const [writer, , coder] = registry.agents
    const next = { version: 1, agents: [{ ...writer, tags: ['prose'] }, coder, { ...writer, agentId: '@poet' }] }
    write('agents.json', next)
    const dry = await heddle.run('agents', 'apply', 'agents.json', '--dry-run')
    expect(dry.out).toBe('@writer would be changed\n@poet would be added\n@researcher would be removed\n')
    expect(await agentIds()).toEqual(shipped)
    const { out } = await heddle.run('agents', 'apply', 'agents.json')
    expect(out).toBe('@writer is changed\n@poet is added\n@researcher is removed    version 2\n')
    expect(await agentIds()).toEqual(['@writer', '@coder', '@poet'])
  })

  test('a file with the version is refused once the registry has changed, and so is --expect', async () => {
    const { out } = await heddle.run('agents', 'export', '--json')
    write('agents.json', out)
    await registerPoet()
    for (const more of [[], ['--expect', '1']]) {
      const stale = await heddle.run('agents', 'apply', 'agents.json', ...more)
      expect(stale.code).toBe(1)
      expect(stale.err).toContain('you have version 1, and it is at version 2 now, by owner')
    }
    expect(await agentIds()).toEqual([...shipped, '@poet'])
  })

  test.each([
    ['{ "version": 1, "agents": [', 'is not JSON'],
    ['[]', 'the registry has'],
    ['null', 'the registry has'],
    ['{ "version": 2, "agents": [{}] }', 'agents[0].agentId'],
    ['', 'is empty'],
  ])('a file with %j is refused with what to do, and nothing changes', async (text, said) => {
    const { code, err } = await heddle.run('agents', 'apply', write('agents.json', text))
    expect(code).toBe(2)
    expect(err).toContain(said)
    expect(err).toContain('→')
    expect(await agentIds()).toEqual(shipped)
  })

  test('every problem of an agent is told at once', async () => {
    const { code, err } = await heddle.run(
      'agents',
      'register',
      'P',
      '--profile',
      'none',
      '--description',
      'x'.repeat(301),
    )
    expect(code).toBe(2)
    expect(err).toBe(
      [
        'this agent has 3 problems:',
        '  agentId: must be @ and 2 to 32 small letters, digits, _ and -, such as @writer',
        '  description: must have at most 300 characters',
        '  profileId: is not an existing profile',
        '  → correct it and try again; heddle profiles lists profiles\n',
      ].join('\n'),
    )
  })

  test('history says who changed the registry', async () => {
    await registerPoet()
    expect((await heddle.run('agents', 'history')).out).toMatch(
      /^version 2 +by owner .*\nversion 1 +shipped with heddle /,
    )
  })
})

describe('heddle agents', () => {
  test('lists agents of registry and files once each, with the profile, in 80 columns', async () => {
    await registerPoet()
    const { out } = await heddle.run('agents')
    expect(out.match(/^writer /gm)?.length).toBe(1)
    expect(out).toMatch(/^writer .*\n(?: +.*\n)* +.*profile:writer:v1$/m)
    expect(out).toMatch(/^poet +Writes poems\.\n +registry · profile:writer:v1$/m)
    expect(out.split('\n').filter((line) => width(line) > 80)).toEqual([])
    const { agents } = await heddle.json<{ agents: Record<string, unknown>[] }>('agents')
    expect(agents.find(({ name }) => name === 'poet')).toMatchObject({
      source: 'registry',
      profileId: 'profile:writer:v1',
    })
    expect(agents.find(({ name }) => name === 'writer')).toMatchObject({
      source: 'built-in',
      tags: ['writing', 'docs'],
    })
  })

  test('show has the entry of an agent, with a file or without', async () => {
    await registerPoet()
    for (const args of [
      ['agents', 'show', '@poet'],
      ['agents', 'poet'],
    ])
      expect((await heddle.run(...args)).out).toBe(
        '@poet\nwhat     Writes poems.\nprofile  profile:writer:v1\nfrom     the registry\n',
      )
    expect(await heddle.json('agents', 'show', 'poet')).toMatchObject({
      agentId: '@poet',
      profileId: 'profile:writer:v1',
    })
    expect((await heddle.run('agents', 'show', 'writer')).out).toMatch(
      /^profile {2}profile:writer:v1\ntags {5}writing, docs$/m,
    )
  })

  test('a registry of ten thousand is listed in part', async () => {
    const agents = Array.from({ length: 10_000 }, (_, at) => ({
      ...{ agentId: `@agent-${at}`, profileId: 'profile:writer:v1', description: 'One of many.' },
    }))
    const applied = await heddle.run('agents', 'apply', write('many.json', { version: 1, agents }))
    expect(applied.out).toMatch(/… and 9973 more {4}version 2\n$/)
    const { out } = await heddle.run('agents')
    expect(out).toContain('… and 9940 more    heddle agents export')
    expect(out.split('\n').length).toBeLessThan(200)
  })
})

describe('heddle agents pin', () => {
  test('pins for the session main unless another scope is named, and says what counts and why', async () => {
    expect((await heddle.run('agents', 'pins')).out).toBe('nothing is pinned here    heddle agents pin @writer\n')
    expect((await heddle.run('agents', 'pin', '@writer')).out).toBe(
      '@writer (profile:writer:v1) is pinned for the session main    heddle agents pins\n',
    )
    await heddle.run('agents', 'pin', 'coder', '--user')
    await heddle.run('agents', 'pin', 'profile:researcher:v1', '--global')
    expect((await heddle.run('agents', 'pins')).out).toBe(
      [
        'session    counts  @writer (profile:writer:v1)',
        '                   it is pinned for this session, which comes before the pin of',
        '                   this user and everything',
        'user               @coder (profile:coder:v1)',
        '                   the pin of this session comes first',
        'global             profile:researcher:v1',
        '                   the pin of this session comes first\n',
      ].join('\n'),
    )
    expect((await heddle.json<{ pins: object[] }>('agents', 'pins', '-s', 'other')).pins).toMatchObject([
      { scope: 'user', id: '@owner', agentId: '@coder', effective: true },
      { scope: 'global', profileId: 'profile:researcher:v1', effective: false },
    ])
  })

  test('a pin to an agent that is gone is explained', async () => {
    await registerPoet()
    await heddle.run('agents', 'pin', '@poet')
    await heddle.run('agents', 'unregister', '@poet')
    const { out } = await heddle.run('agents', 'pins')
    expect(out).toContain('@poet is no longer registered')
    expect(out).toContain('the default profile is used')
  })

  test('unpin removes a pin', async () => {
    await heddle.run('agents', 'pin', '@writer', '--workspace')
    expect(await heddle.json('agents', 'unpin', '--workspace')).toEqual({ ok: true, removed: true })
    expect((await heddle.run('agents', 'unpin', '--workspace')).out).toBe('nothing was pinned for this folder\n')
  })

  test('two scopes, an unknown agent and an unknown profile are refused with what to do', async () => {
    expect(await heddle.run('agents', 'pin', '@writer', '--user', '--global')).toMatchObject({
      code: 2,
      err: '--user and --global are two scopes\n  → name one of them\n',
    })
    expect(await heddle.run('agents', 'pin', '@writr')).toMatchObject({
      code: 1,
      err: 'no agent "@writr" is registered\n  → did you mean @writer?\n',
    })
    expect(await heddle.run('agents', 'pin', 'profile:none')).toMatchObject({ code: 1 })
  })
})

describe('heddle profiles', () => {
  test('lists, shows, writes and removes profiles', async () => {
    expect((await heddle.run('profiles')).out).toMatch(/^profile:coder:v1 +version 1 +limits nothing$/m)
    const value = { model: { model: 'rehearsal' }, contextWindow: 9000, systemPrompt: 'Be brief.' }
    write('mine.json', value)
    expect(await heddle.json('profiles', 'set', 'profile:mine', '--file', 'mine.json', '--expect', '0')).toMatchObject({
      ok: true,
      id: 'profile:mine',
      version: 1,
      ...value,
    })
    const shown = await heddle.run('profiles', 'show', 'profile:mine')
    expect(shown.out).toMatch(/^profile:mine\nmodel +rehearsal\nwindow +9000 tokens\n/)
    expect(shown.out).toMatch(/\n\nBe brief\.\n$/)
    expect((await heddle.run('profiles', 'rm', 'profile:mine')).out).toBe('profile:mine is removed\n')
    expect((await heddle.run('profiles', 'history', 'profile:mine')).out).toMatch(/^version 2 +removed +by owner/)
  })

  test('what show --json prints can be edited and set, and is refused once the profile has changed', async () => {
    const { out } = await heddle.run('profiles', 'show', 'profile:writer:v1', '--json')
    write('writer.json', { ...JSON.parse(out), contextWindow: 9000 })
    expect(await heddle.json('profiles', 'set', 'profile:writer:v1', '--file', 'writer.json')).toMatchObject({
      version: 2,
      contextWindow: 9000,
    })
    const stale = await heddle.run('profiles', 'set', 'profile:writer:v1', '--file', 'writer.json')
    expect(stale).toMatchObject({ code: 1, err: expect.stringContaining('has changed since you read it') })
  })

  test('a profile that an agent has is not removed', async () => {
    expect(await heddle.run('profiles', 'rm', 'profile:writer:v1')).toMatchObject({
      code: 1,
      err: '@writer would be left without the profile profile:writer:v1\n  → unregister it first: heddle agents unregister @writer\n',
    })
  })
})

test('a backup has profiles, registry, pins and their history, and what was removed stays removed', async () => {
  await registerPoet()
  await heddle.run('agents', 'unregister', '@writer')
  await heddle.run('agents', 'pin', '@poet', '--global')
  const state = async () => ({
    registry: await heddle.json('agents', 'export'),
    history: await heddle.json('agents', 'history'),
    pins: await heddle.json('agents', 'pins'),
    profiles: await heddle.json('profiles'),
  })
  const before = await state()
  await heddle.run('backup', 'all.backup')
  await heddle.run('agents', 'unregister', '@poet')
  await heddle.json('restore', 'all.backup')
  expect(await state()).toEqual(before)
})

describe('agent.routing', () => {
  test('tags sends a message with a tag of an agent to that agent, says so, and run tells why', async () => {
    await heddle.run('config', 'set', 'agent.routing', 'tags')
    const { err, out } = await heddle.run('ask', 'bring the docs up to date', '--json')
    expect(err).toContain('@writer answers: the message has its tag "docs"')
    const { runId } = JSON.parse(out) as { runId: string }
    expect(await heddle.json('show', `run:${runId}`)).toMatchObject({
      agent: 'writer',
      routedBy: 'the message has its tag "docs"',
    })
    expect((await heddle.run('show', `run:${runId}`)).out).toMatch(/^chosen +the message has its tag "docs"$/m)
  })

  test('who is named answers, and without it words choose nobody', async () => {
    const agentOf = async (...words: string[]) => {
      const { runId } = await heddle.json<{ runId: string }>('ask', ...words)
      return (await heddle.json<{ agent?: string }>('show', `run:${runId}`)).agent
    }
    expect(await agentOf('bring the docs up to date')).toBe('coordinator')
    await heddle.run('config', 'set', 'agent.routing', 'tags')
    expect(await agentOf('@general bring the docs up to date')).toBe('general')
    expect(await agentOf('hello')).toBe('coordinator')
  })
})

test('the walk of the guide works as it stands there', async () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/profiles.md'), 'utf8')
  const [, walk = ''] = /## A walk\n\n```\n(.*?)```/s.exec(guide) ?? []
  const [, poet = ''] = /with `poet\.json`:\n\n```json\n(.*?)```/s.exec(guide) ?? []
  write('poet.json', poet)
  const lines = walk.trim().split('\n')
  expect(lines.length).toBe(10)
  for (const line of lines) {
    const [command = ''] = line.split(/ {2,}/)
    const [words = '', file] = command.split(' > ')
    const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '')
    const { code, out, err } = await heddle.run(...args.slice(1))
    expect(`${line}: ${code} ${err}`).toBe(`${line}: 0 `)
    if (file !== undefined) write(file, out)
  }
})

test('help shows the commands in 80 columns', async () => {
  for (const args of [
    ['help', 'profiles'],
    ['help', 'agents'],
    ['agents', 'apply', '--help'],
    ['agents', 'pin', '--help'],
  ]) {
    const { out } = await heddle.run(...args)
    expect(out.split('\n').filter((line) => width(line) > 80)).toEqual([])
  }
})
