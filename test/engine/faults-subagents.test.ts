import { afterEach, describe, expect, test } from 'vitest'
import { cancel } from '../../src/engine/run/cancel.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSubagent } from '../../src/store/rows/subagents/subagents.ts'
import { gate } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { answered, calling, newSpawning, type Spawning, spawns } from './spawning.ts'

const patience = { timeout: 60_000 }

describe.each(databases)('sub-agents on %s', patience, (database) => {
  let nest: Spawning
  afterEach(() => nest.remove())

  const deep = ({ tools }: { tools: { subagents: object } }) =>
    void Object.assign(tools.subagents, { maxSpawnDepth: 2, maxChildrenPerAgent: 2000, maxPerTurn: 2000 })

  test('a cancel reaches an isolated grandchild that an earlier run of the child started', async () => {
    const [isolated, later] = [gate(), gate()]
    nest = await newSpawning(
      database,
      {
        parent: spawns({ task: 'outer', label: 'outer' }),
        child: (last, request) => {
          if (last === 'alone') return { text: 'alone', gate: isolated }
          if (last === 'joined') return { text: 'joined' }
          if (answered(request)) return { text: 'started' }
          if (last !== 'outer') return { text: 'heard', gate: later }
          return calling(
            'sessions_spawn',
            { task: 'alone', memoryShareMode: 'isolated' },
            { task: 'joined', memoryShareMode: 'handoff' },
          )
        },
      },
      { config: deep },
    )
    await nest.say('go')
    await isolated.reached
    // The child goes on in a second run, which did not start the isolated one.
    await later.reached
    const outer = (await nest.children()).find(({ depth }) => depth === 1)
    const record = await nest.engine.store.read((rows) => findSubagent(rows, outer?.id ?? ''))
    expect(record?.lastRunId).not.toBe(outer?.id)
    await cancel(nest.engine, record?.lastRunId ?? '', 'enough')
    await nest.until(async (rows) => (await runsOf(rows, { live: true })).every(({ depth }) => depth === 0))
    const alone = (await nest.children()).find(({ subagent }) => subagent?.shareMode === 'isolated')
    expect(alone).toMatchObject({ state: 'cancelled', cancelReason: 'enough' })
  })

  test('one slot is enough for sub-agents of two levels: one that waits holds none', async () => {
    nest = await newSpawning(
      database,
      {
        parent: spawns(...['a', 'b', 'c'].map((label) => ({ task: `outer ${label}`, label }))),
        child: (last, request) => {
          if (last.startsWith('inner')) return { text: `did ${last}` }
          if (answered(request)) return { text: 'started' }
          return last.startsWith('outer')
            ? calling('sessions_spawn', { task: `inner 1 of ${last}` }, { task: `inner 2 of ${last}` })
            : { text: 'both are done' }
        },
      },
      {
        config(config) {
          deep(config)
          config.tools.subagents.maxConcurrent = 1
        },
      },
    )
    await nest.ask('go')
    const children = await nest.children()
    expect(children.filter(({ depth }) => depth === 2)).toHaveLength(6)
    expect(new Set(children.map(({ state }) => state))).toEqual(new Set(['completed']))
    expect(nest.engine.limits.lanes.subagents).toBe(1)
  })
})
