import { afterEach, describe, expect } from 'vitest'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { whenEnded } from '../../src/engine/run/request.ts'
import { spawnChild } from '../../src/engine/run/spawn.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { childrenOf } from '../../src/store/rows/child-runs.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import type { Tx } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { visibleEvents } from '../setup/visible-events.ts'
import { newEngine, type TestEngine, type TestLimits } from './engine.ts'

describe.each(databases)('children of one reply on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** A parent that starts so many children in one reply; they answer when the gate is open. */
  async function spawn(count: number, limits: TestLimits) {
    const held = gate()
    const model = scriptedModel((request) => {
      const last = request.messages.at(-1)
      if (last?.role === 'user' && last.content.startsWith('child')) return { text: 'done', gate: held }
      if (last?.role !== 'user' || last.content !== 'go') return { text: 'fine' }
      return { calls: Array.from({ length: count }, (_, n) => ({ name: 'spawn', input: { task: `child ${n + 1}` } })) }
    })
    const tool: Tool<{ task: string }> = {
      name: 'spawn',
      description: 'begins a child',
      inputSchema: { type: 'object' },
      effect: 'transactional',
      parse: (input) => ({ ok: true, value: input as { task: string } }),
      async write(tx, { task }, call) {
        if (task === 'child 13') throw new Error('no thirteenth')
        return spawnChild(tx as Tx, under.engine, call, { content: task, via: 'spawn_agent', agent: 'general' })
      },
    }
    under = await newEngine(database, model, { tools: [tool as Tool], limits })
    await under.work()
    const { runId, itemId } = await under.say('go')
    const children = await under.until(async (rows) => {
      const found = await childrenOf(rows, runId ?? '')
      return found.length > 0 && found
    })
    const finish = () => {
      held.open()
      return whenEnded(under.engine, itemId, new AbortController().signal)
    }
    return { runId: runId ?? '', children, finish }
  }

  test('start in the commit that stores them, as many as slots are free; the others wait in the queue', async () => {
    const { children, finish } = await spawn(5, { lanes: { agents: 3 }, maxRunning: 20 })
    const states = ['running', 'running', 'running', 'queued', 'queued']
    expect(children.map(({ state }) => state)).toEqual(states)
    await finish()
    const events = await visibleEvents(under.runtime.store)
    const kinds = (id: string) => events.filter(({ subject }) => subject === `run:${id}`).map(({ kind }) => kind)
    expect(children.map(({ id }) => kinds(id))).toEqual(
      states.map((state) => [...(state === 'queued' ? ['run.queued'] : []), 'run.started', 'run.ended']),
    )
  })

  test('draw from the budget of their request one after the other, though they start together', async () => {
    const { runId, children, finish } = await spawn(5, { lanes: { agents: 9 }, maxRunning: 20, maxSteps: 4 })
    expect(children.map(({ state }) => state)).toEqual(Array(5).fill('running'))
    const calls = await under.runtime.store.read((rows) =>
      rows.all(rows.build.selectFrom('usage').select('run_id').where('root_run_id', '=', runId)),
    )
    expect(calls).toHaveLength(4)
    await finish()
  })

  test('are started although one of the calls fails, which alone has an error as its outcome', async () => {
    const { runId, finish } = await spawn(14, { lanes: { agents: 20 }, maxRunning: 40 })
    await finish()
    const steps = await under.runtime.store.read((rows) => readSteps(rows, runId))
    const ended = steps.filter(({ kind }) => kind === 'ended').map(({ payload }) => payload as { status: string })
    expect(ended.map(({ status }) => status)).toEqual([...Array(12).fill('ok'), 'error', 'ok'])
    expect(await under.runtime.store.read((rows) => childrenOf(rows, runId))).toHaveLength(13)
  })
})
