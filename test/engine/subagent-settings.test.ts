import { afterEach, expect, test } from 'vitest'
import type { Config } from '../../src/config/config.ts'
import { keysAt } from '../../src/config/schema.ts'
import type { ModelRequest } from '../../src/domain/model.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { gate, scriptedModel } from '../../src/testing.ts'
import { answered, newSpawning, type Spawning, type SpawningOptions, spawns } from './spawning.ts'

let nest: Spawning | undefined
afterEach(leave)

async function leave(): Promise<void> {
  await nest?.remove()
  nest = undefined
}

const done = () => ({ text: 'done' })
const section = (config: Config) => config.tools.subagents as Record<string, unknown>
const defaults = (config: Config) => config.agents.defaults.subagents as Record<string, unknown>

async function spawnWith(
  change: (config: Config) => void,
  { inputs = [{ task: 'x' }], ...options }: SpawningOptions & { inputs?: object[] } = {},
): Promise<Record<string, unknown>> {
  nest = await newSpawning('sqlite', { parent: spawns(...inputs), child: done }, { ...options, config: change })
  await nest.ask('go')
  return answered(nest.parentRequests()[1] as ModelRequest) ?? {}
}

const cheap = () => scriptedModel(() => ({ text: 'cheap' }), { name: 'cheap' })
const childTools = () => nest?.childRequests()[0]?.tools.map(({ name }) => name) ?? []

/** What is seen of each key when it is set: a key without a row here does nothing, and fails. */
const effects: Record<string, () => Promise<unknown>> = {
  'tools.subagents.maxSpawnDepth': async () => {
    await spawnWith((config) => Object.assign(section(config), { maxSpawnDepth: 0 }))
    expect(nest?.parentRequests()[0]?.tools.map(({ name }) => name)).not.toContain('sessions_spawn')
  },
  'tools.subagents.maxChildrenPerAgent': async () => {
    const inputs = [{ task: 'a' }, { task: 'b' }]
    const answer = await spawnWith((config) => Object.assign(section(config), { maxChildrenPerAgent: 1 }), { inputs })
    expect(answer).toMatchObject({ status: 'forbidden', error: expect.stringContaining('maxChildrenPerAgent') })
  },
  'tools.subagents.maxPerTurn': async () => {
    const inputs = ['a', 'b', 'c'].map((task) => ({ task }))
    const answer = await spawnWith((config) => Object.assign(section(config), { maxPerTurn: 2 }), { inputs })
    expect(answer).toMatchObject({ error: expect.stringContaining('maxPerTurn') })
  },
  'tools.subagents.maxConcurrent': async () => {
    const hold = gate()
    nest = await newSpawning(
      'sqlite',
      { parent: spawns({ task: 'a' }, { task: 'b' }), child: () => ({ text: 'done', gate: hold }) },
      { config: (config) => Object.assign(section(config), { maxConcurrent: 1 }) },
    )
    const asked = await nest.say('go')
    await hold.reached
    const states = await nest.until(async (rows) => {
      const children = (await runsOf(rows, {})).filter(({ depth }) => depth === 1)
      return children.length === 2 && children.map(({ state }) => state).sort()
    })
    expect(states).toEqual(['queued', 'running'])
    hold.open()
    await nest.heard(asked)
  },
  'tools.subagents.archiveAfterMinutes': async () => {
    for (const archiveAfterMinutes of [0, 5]) {
      await leave()
      await spawnWith((config) => Object.assign(section(config), { archiveAfterMinutes }))
      const planned = await nest?.engine.store.read((rows) =>
        rows.all(rows.build.selectFrom('sessions').select('tidy_at').where('tidy_at', 'is not', null)),
      )
      expect(planned).toHaveLength(archiveAfterMinutes === 0 ? 0 : 1)
    }
  },
  'tools.subagents.allowAgents': async () => {
    const answer = await spawnWith((config) => Object.assign(section(config), { allowAgents: [] }))
    expect(answer).toEqual({ status: 'forbidden', error: 'the owner does not allow "general" here; allowed: none' })
  },
  'tools.subagents.model': async () => {
    const both = (config: Config) => {
      Object.assign(section(config), { model: 'cheap' })
      Object.assign(defaults(config), { model: 'other' })
    }
    expect(await spawnWith(both, { others: [cheap()] })).toMatchObject({ model: 'cheap' })
  },
  'tools.subagents.thinking': async () => {
    await spawnWith((config) => Object.assign(section(config), { thinking: 'low' }))
    expect(nest?.childRequests()[0]?.thinking).toEqual({ level: 'low' })
  },
  'tools.subagents.tools.allow': async () => {
    await spawnWith((config) => Object.assign(section(config), { tools: { allow: ['read_file'], deny: [] } }))
    expect(childTools().sort()).toEqual(['read_file', 'read_result'])
  },
  'tools.subagents.tools.deny': async () => {
    await spawnWith((config) => Object.assign(section(config), { tools: { deny: ['write_file'] } }))
    expect(childTools()).not.toContain('write_file')
    expect(nest?.parentRequests()[0]?.tools.map(({ name }) => name)).toContain('write_file')
  },
  'tools.subagents.memoryShareMode': async () => {
    const answer = await spawnWith((config) => Object.assign(section(config), { memoryShareMode: 'isolated' }))
    expect(answer).toMatchObject({ memoryShareMode: 'isolated' })
  },
  'agents.defaults.subagents.allowAgents': async () => {
    const answer = await spawnWith((config) => Object.assign(defaults(config), { allowAgents: ['researcher'] }))
    expect(answer).toMatchObject({ status: 'forbidden' })
  },
  'agents.defaults.subagents.model': async () => {
    const answer = await spawnWith((config) => Object.assign(defaults(config), { model: 'cheap' }), {
      others: [cheap()],
    })
    expect(answer).toMatchObject({ model: 'cheap' })
    const [main] = (await nest?.engine.store.read((rows) => findSessions(rows, { label: 'main' }))) ?? []
    expect(main?.headTurnId).not.toBeNull()
  },
}

const sections = [
  ['tools', 'subagents'],
  ['tools', 'subagents', 'tools'],
  ['agents', 'defaults', 'subagents'],
]
const keys = sections
  .flatMap((path) => keysAt(path).map((key) => [...path, key].join('.')))
  .filter((key) => key !== 'tools.subagents.tools')

test.each(keys)('%s does something', async (key) => {
  const effect = effects[key]
  if (!effect) throw new Error(`nothing shows what ${key} does`)
  await effect()
})
