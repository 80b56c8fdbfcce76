import { afterEach, beforeEach, describe, expect } from 'vitest'
import { owner } from '../../src/domain/access/principal.ts'
import type { AgentEntryInput } from '../../src/domain/profiles/registry.ts'
import { removePin, setPin } from '../../src/engine/policies/pins.ts'
import { deleteProfile, listProfiles, setProfile } from '../../src/engine/policies/profiles.ts'
import { readRegistry, registerAgent, setRegistry, unregisterAgent } from '../../src/engine/policies/registry.ts'
import { KnownRegistry, readRunPolicies } from '../../src/engine/policies/run-policies.ts'
import { shipPolicies } from '../../src/engine/policies/shipped-policies.ts'
import { listPolicyVersions } from '../../src/store/rows/policies/policies.ts'
import type { Tx } from '../../src/store/store.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { countStatements } from '../setup/statement-counter.ts'
import { testOn } from '../setup/test-on.ts'

const folder = '/here'
const by = (who: string, expected?: number) => ({ by: who, now: 5, expected })
const entry = (name: string, more: Partial<AgentEntryInput> = {}): AgentEntryInput => ({
  agentId: `@${name}`,
  profileId: `profile:${name}`,
  description: `Is ${name}.`,
  ...more,
})

describe.each(databases)('on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  const write = <T>(body: (tx: Tx) => Promise<T>) => runtime.store.write('policy', body)
  const profile = (name: string, value: unknown = { model: {} }, change = by('owner')) =>
    write((tx) => setProfile(tx, { id: `profile:${name}`, value }, change, () => undefined))
  const policies = (sessionId?: string) =>
    runtime.store.read((rows) => readRunPolicies(rows, new KnownRegistry(), { sessionId, principal: owner, folder }))
  const registry = () => runtime.store.read(readRegistry)

  test('of two who change the same version one wins, the other is told, and the history has both', async () => {
    await profile('writer')
    await write((tx) => setRegistry(tx, { version: 1, agents: [] }, by('owner', 0)))
    const edits = await Promise.allSettled(
      ['user:mia', 'user:pia'].map((who) =>
        write((tx) => setRegistry(tx, { version: 1, agents: [entry('writer', { description: who })] }, by(who, 1))),
      ),
    )
    expect(edits.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const { registry: now, version, updatedBy } = await registry()
    expect(version).toBe(2)
    expect(edits.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: {
        code: 'changed_meanwhile',
        message: `the registry has changed since you read it: you have version 1, and it is at version 2 now, by ${updatedBy}`,
      },
    })
    const other = updatedBy === 'user:mia' ? 'user:pia' : 'user:mia'
    await write((tx) =>
      setRegistry(
        tx,
        { version: 1, agents: [...now.agents, entry('other', { profileId: 'profile:writer' })] },
        by(other, 2),
      ),
    )
    const history = await runtime.store.read((rows) => listPolicyVersions(rows, 'policy', 'agent-registry:default', 10))
    expect(history.map(({ version, by }) => [version, by])).toEqual([
      [3, other],
      [2, updatedBy],
      [1, 'owner'],
    ])
  })

  test('what is wrong with a registry is told whole, and nothing is stored', async () => {
    const agents = [entry('a', { agentId: 'A' }), entry('writer'), entry('writer')]
    await expect(write((tx) => setRegistry(tx, { version: 1, agents }, by('owner', 0)))).rejects.toMatchObject({
      code: 'bad_registry',
      message: [
        'the registry has 5 problems:',
        '  agents[0].agentId: must be @ and 2 to 32 small letters, digits, _ and -, such as @writer',
        '  agents[0].profileId: is not an existing profile',
        '  agents[1].profileId: is not an existing profile',
        '  agents[2].agentId: is the same as agents[1].agentId',
        '  agents[2].profileId: is not an existing profile',
      ].join('\n'),
    })
    expect((await registry()).version).toBe(0)
  })

  test('an agent is registered once, and can be unregistered', async () => {
    await profile('writer')
    await write((tx) => registerAgent(tx, entry('writer'), by('owner')))
    await expect(write((tx) => registerAgent(tx, entry('writer'), by('owner')))).rejects.toMatchObject({
      code: 'agent_registered',
    })
    expect((await registry()).registry.agents.map(({ agentId }) => agentId)).toEqual(['@writer'])
    await write((tx) => unregisterAgent(tx, '@writer', by('owner')))
    expect((await registry()).registry.agents).toEqual([])
    await expect(write((tx) => unregisterAgent(tx, '@writer', by('owner')))).rejects.toMatchObject({
      code: 'agent_unknown',
    })
  })

  test('a profile that an agent has cannot be removed, whoever is first', async () => {
    await profile('writer')
    const [registered, removed] = await Promise.allSettled([
      write((tx) => registerAgent(tx, entry('writer'), by('owner'))),
      write((tx) => deleteProfile(tx, 'profile:writer', by('owner'))),
    ])
    expect([registered.status, removed.status].toSorted()).toEqual(['fulfilled', 'rejected'])
    const left = await runtime.store.read((rows) => listProfiles(rows))
    expect(left.length).toBe((await registry()).registry.agents.length)
  })

  test('a profile that is made again goes on counting its versions', async () => {
    await profile('writer')
    await write((tx) => deleteProfile(tx, 'profile:writer', by('user:mia', 1)))
    expect(await profile('writer', { model: {}, contextWindow: 9000 }, by('owner', 0))).toMatchObject({ version: 3 })
    const history = await runtime.store.read((rows) => listPolicyVersions(rows, 'profile', 'profile:writer', 10))
    expect(history.map(({ version, value, by }) => [version, value, by])).toEqual([
      [3, { model: {}, contextWindow: 9000 }, 'owner'],
      [2, null, 'user:mia'],
      [1, { model: {} }, 'owner'],
    ])
  })

  test('a change to what is there already makes no version', async () => {
    await profile('writer')
    expect(await profile('writer', { model: {} }, by('user:mia'))).toMatchObject({ version: 1, updatedBy: 'owner' })
  })

  test('what is wrong with a profile is told whole', async () => {
    await expect(
      profile('x', { model: { colour: 1 }, contextWindow: 3, limits: { timeoutSeconds: 0 } }),
    ).rejects.toMatchObject({
      code: 'bad_profile',
      message: expect.stringMatching(
        /3 problems:\n {2}model: .*"colour"\n {2}contextWindow: .*\n {2}limits\.timeoutSeconds: /,
      ),
    })
    await expect(profile('X')).rejects.toMatchObject({ code: 'bad_profile' })
  })

  test('a pin resolves an agent to its profile, and counts by its scope', async () => {
    for (const name of ['writer', 'coder']) {
      await profile(name)
      await write((tx) => registerAgent(tx, entry(name), by('owner')))
    }
    const place = { folder, session: 'main', principal: owner }
    await setPin(runtime, { ...place, scope: 'global' }, { agentId: '@coder' })
    const { id } = await setPin(runtime, { ...place, scope: 'session' }, { agentId: '@writer' })
    expect(await policies(id)).toMatchObject({
      profile: { id: 'profile:writer', version: 1 },
      pins: { pin: { scope: 'session', profileId: 'profile:writer', agentId: '@writer' } },
    })
    expect(await policies()).toMatchObject({ profile: { id: 'profile:coder' }, pins: { pin: { scope: 'global' } } })
    expect(await removePin(runtime, { ...place, scope: 'session' })).toBe(true)
    expect(await removePin(runtime, { ...place, scope: 'session' })).toBe(false)
    expect(await policies(id)).toMatchObject({ profile: { id: 'profile:coder' } })
  })

  test('a pin to an agent that was unregistered is explained, and the next one counts', async () => {
    for (const name of ['writer', 'coder']) {
      await profile(name)
      await write((tx) => registerAgent(tx, entry(name), by('owner')))
    }
    const place = { folder, session: 'main', principal: owner }
    await setPin(runtime, { ...place, scope: 'user' }, { agentId: '@coder' })
    const { id } = await setPin(runtime, { ...place, scope: 'session' }, { agentId: '@writer' })
    await write((tx) => unregisterAgent(tx, '@writer', by('owner')))
    expect(await policies(id)).toMatchObject({
      profile: { id: 'profile:coder' },
      pins: {
        pin: { scope: 'user', agentId: '@coder' },
        others: [{ why: '@writer is no longer registered' }],
      },
    })
  })

  test('another process sees a change at once, although the registry is kept in memory', async () => {
    await profile('writer')
    await write((tx) => registerAgent(tx, entry('writer'), by('owner')))
    const known = new KnownRegistry()
    const agents = () =>
      runtime.store.read(async (rows) => {
        const read = await readRunPolicies(rows, known, { sessionId: undefined, principal: owner, folder })
        return read.agents.map(({ agentId }) => agentId)
      })
    expect(await agents()).toEqual(['@writer'])
    expect(await agents()).toEqual(['@writer'])
    await write((tx) => registerAgent(tx, entry('more', { profileId: 'profile:writer' }), by('owner')))
    expect(await agents()).toEqual(['@writer', '@more'])
  })

  test('who a run is costs one statement, and one more where something is pinned', async () => {
    await profile('writer')
    const run = { sessionId: 'x', principal: owner, folder }
    const ask = () => runtime.store.read((rows) => readRunPolicies(rows, new KnownRegistry(), run))
    expect((await countStatements(ask)).statements).toHaveLength(1)
    await setPin(
      runtime,
      { scope: 'workspace', folder, session: 'main', principal: owner },
      { profileId: 'profile:writer' },
    )
    expect((await countStatements(ask)).statements).toHaveLength(2)
  })

  test('what is shipped is written once: what the owner removes stays removed', async () => {
    await shipPolicies(runtime)
    const names = async () => (await registry()).registry.agents.map(({ agentId }) => agentId)
    expect(await names()).toEqual(['@writer', '@researcher', '@coder'])
    await write((tx) => unregisterAgent(tx, '@writer', by('owner')))
    await write((tx) => deleteProfile(tx, 'profile:writer:v1', by('owner')))
    await shipPolicies(runtime)
    expect(await names()).toEqual(['@researcher', '@coder'])
    expect((await runtime.store.read((rows) => listProfiles(rows))).map(({ id }) => id)).toEqual([
      'profile:coder:v1',
      'profile:researcher:v1',
    ])
  })
})
