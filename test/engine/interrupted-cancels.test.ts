import { afterEach, describe, expect } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import type { Engine } from '../../src/engine/runtime.ts'
import { sessionsToWake } from '../../src/store/rows/inbox.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSubagent } from '../../src/store/rows/subagents/subagents.ts'
import { gate } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { answered, calling, newSpawning, type Spawning, spawns } from './spawning.ts'

describe.each(databases)('a cancel that dies after its first commit on %s', (database) => {
  const test = testOn(database)
  let nest: Spawning
  afterEach(() => nest.remove())

  const deep = ({ tools }: { tools: { subagents: object } }) =>
    void Object.assign(tools.subagents, { maxSpawnDepth: 3 })

  /** The engine of a process that dies after its first write for a cancel. */
  const dying = (): Engine => {
    const { store } = nest.engine
    return {
      ...nest.engine,
      store: {
        ...store,
        async write(area, body) {
          const written = await store.write(area, body)
          if (area === 'cancel') throw new Error('the process died')
          return written
        },
      },
    }
  }
  const endOfAll = () => nest.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)
  const isolated = async () =>
    (await nest.children()).filter(({ subagent }) => subagent?.shareMode === 'isolated').map(told)
  const told = ({ state, cancelReason }: Run) => ({ state, cancelReason })
  const stopped = { state: 'cancelled', cancelReason: 'enough' }
  const die = (id: string) => expect(cancel(dying(), id, 'enough')).rejects.toThrow('the process died')

  test('still stops an isolated grandchild that an earlier run of the child started', async () => {
    const [alone, later] = [gate(), gate()]
    nest = await newSpawning(
      database,
      {
        parent: spawns({ task: 'outer', label: 'outer' }),
        child: (last, request) => {
          if (last === 'alone') return { text: 'alone', gate: alone }
          if (last === 'joined') return { text: 'joined' }
          if (answered(request)) return { text: 'started' }
          if (last !== 'outer') return { text: 'heard', gate: later }
          return calling('sessions_spawn', { task: 'alone', memoryShareMode: 'isolated' }, { task: 'joined' })
        },
      },
      { config: deep },
    )
    await nest.say('go')
    await Promise.all([alone.reached, later.reached])
    const outer = (await nest.children()).find(({ depth }) => depth === 1)
    const record = await nest.engine.store.read((rows) => findSubagent(rows, outer?.id ?? ''))
    await die(record?.lastRunId ?? '')
    await nest.until(async (rows) => (await runsOf(rows, { live: true })).every(({ depth }) => depth === 0))
    expect(await isolated()).toEqual([stopped])
  })

  test.each(['request', 'child'])('still stops what ended sub-agents of a %s left at work', async (which) => {
    const alone = gate()
    nest = await newSpawning(
      database,
      {
        parent: spawns({ task: 'outer' }),
        child: (last, request) => {
          if (last === 'alone') return { text: 'alone', gate: alone }
          if (answered(request)) return { text: 'started' }
          const tasks = last === 'outer' ? ['middle'] : ['alone', 'alone']
          return calling('sessions_spawn', ...tasks.map((task) => ({ task, memoryShareMode: 'isolated' })))
        },
      },
      { config: deep },
    )
    await nest.say('go')
    await alone.reached
    // The request, the child and the one below it have ended; only the one that nobody waits for works.
    await nest.until(async (rows) => (await runsOf(rows, { live: true })).every(({ depth }) => depth === 3))
    const start = (await nest.runs()).find(({ depth }) => depth === (which === 'request' ? 0 : 1))
    await die(start?.id ?? '')
    await endOfAll()
    expect((await isolated()).slice(1)).toEqual([stopped, stopped])
  })

  test('starts no run by a result that waits in the session of the request', async () => {
    const [child, held] = [gate(), gate()]
    nest = await newSpawning(database, {
      parent: (last, request) => {
        if (last === 'hold') return { text: 'held', gate: held }
        if (answered(request)) return { text: 'started' }
        return last === 'go' ? calling('sessions_spawn', { task: 'work' }) : { text: `presented: ${last}` }
      },
      child: () => ({ text: 'found', gate: child }),
    })
    await nest.say('go')
    await child.reached
    await nest.say('hold')
    await held.reached
    child.open()
    const [first] = await nest.runs()
    const root = first?.id ?? ''
    await nest.until(async (rows) => (await sessionsToWake(rows, root)).length > 0)
    await Promise.allSettled([cancel(dying(), root, 'enough')])
    held.open()
    await endOfAll()
    expect((await nest.runs()).filter(({ rootRunId }) => rootRunId === root)).toHaveLength(2)
    expect(nest.parentRequests().some(({ messages }) => messages.at(-1)?.content.includes('[Subagent'))).toBe(false)
  })
})
