import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Lane } from '../../src/domain/run.ts'
import { freeSlots } from '../../src/engine/run/lanes.ts'
import { nextRuns } from '../../src/engine/run/queue-order.ts'
import { whenEnded } from '../../src/engine/run/request.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import { viewOfClaimant } from '../../src/store/rows/queue.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import type { Reading } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { claimNext } from './claim-next.ts'
import { newEngine, type TestEngine, testLimits } from './engine.ts'
import { family } from './family.ts'
import { newOffice } from './test-team.ts'

describe.each(databases)('lanes on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** Claims as a process that runs nothing, so that every slot stays taken; one by one, and those that a batch would take. */
  const claims = async (count: number) => {
    const { engine, runtime } = under
    const owner = { id: engine.newId(), pid: process.pid, startedAt: 0, beatAt: engine.clock.monotonic() }
    await runtime.store.write('owner', (tx) => insertOwner(tx, owner))
    const { limits } = engine
    const together = await runtime.store.write('claim', async (tx) => {
      const { running = [] } = (await viewOfClaimant(tx, owner.id)) ?? {}
      return nextRuns(tx, { limits, running, max: count })
    })
    const claimed = []
    for (let n = 0; n < count; n++) claimed.push((await claimNext(engine, { workerId: owner.id }))?.run)
    expect(together.map(({ id }) => id)).toEqual(claimed.flatMap((run) => run?.id ?? []))
    return claimed
  }

  test('the next free slot goes to the request that has the fewest runs at work in its lane', async () => {
    const { model, tools } = family(3, () => under)
    under = await newEngine(database, model, { tools, limits: { maxRunning: 8, lanes: { agents: 0 } } })
    const worker = await under.work()
    for (const label of ['a', 'b']) {
      await under.say('go', { label })
      await under.turns(1, label)
    }
    await worker.stop()
    under.engine.limits.lanes.agents = 4
    const sessions = await under.runtime.store.read((rows) => runsOf(rows, {}))
    const labels = new Map(sessions.filter(({ depth }) => depth === 0).map(({ id }, at) => [id, at === 0 ? 'a' : 'b']))
    const taken = await claims(5)
    expect(taken.map((run) => run && [labels.get(run.rootRunId), run.lane])).toEqual([
      ['a', 'agents'],
      ['b', 'agents'],
      ['a', 'agents'],
      ['b', 'agents'],
      undefined,
    ])
  })

  test('priority comes before fairness', async () => {
    const { model, tools } = family(2, () => under)
    under = await newEngine(database, model, { tools, limits: { maxRunning: 8, lanes: { agents: 0 } } })
    const worker = await under.work()
    await under.say('go', { label: 'a' })
    await under.turns(1, 'a')
    await under.say('go', { label: 'b', priority: 1 })
    await under.turns(1, 'b')
    await worker.stop()
    under.engine.limits.lanes.agents = 3
    expect((await claims(3)).map((run) => run?.options.priority)).toEqual([1, 1, 0])
  })

  test('a full lane keeps only its own runs waiting, and background runs take no slot of others', async () => {
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'done' })),
      { limits: { maxRunning: 2, lanes: { cron: 1, background: 1 } } },
    )
    for (const [label, via] of [
      ['c1', 'cron'],
      ['c2', 'cron'],
      ['n1', 'narrator'],
      ['n2', 'narrator'],
      ['m1', 'user'],
      ['m2', 'user'],
    ] as const)
      await under.say('go', { label, via })
    expect((await claims(4)).map((run) => run?.lane)).toEqual(['cron', 'background', 'main', undefined])
  })

  test('a parent that waits holds no slot: one slot is enough for a tree of three levels', async () => {
    const { model, tools } = family(2, () => under)
    under = await newEngine(database, model, { tools, limits: { maxRunning: 1, lanes: { agents: 1 } } })
    await under.work()
    const { itemId } = await under.say('go go')
    const request = await whenEnded(under.engine, itemId, new AbortController().signal)
    expect(request?.answer.turn.responseMessage.content).toContain('all started agents have ended')
    const runs = await under.runtime.store.read((rows) => runsOf(rows, {}))
    expect(runs.filter(({ depth }) => depth === 2)).toHaveLength(4)
    expect(runs.every(({ state }) => state === 'completed')).toBe(true)
    // A run that goes on after its children stays in the lane of its session.
    const lanesAt = (depth: number) => new Set(runs.filter((run) => run.depth === depth).map(({ lane }) => lane))
    expect([lanesAt(0), lanesAt(1), lanesAt(2)]).toEqual([new Set(['main']), new Set(['agents']), new Set(['agents'])])
  })
})

test.each(databases)(
  'tools.subagents.maxConcurrent limits what sessions_spawn starts, whatever agents.maxConcurrent says, on %s',
  async (database) => {
    const hold = gate()
    const office = await newOffice(
      database,
      {},
      {
        config: (config) => {
          config.agent.default = '@general'
          config.agents.maxConcurrent = 3
          config.tools.subagents.maxConcurrent = 1
        },
        model: scriptedModel(({ messages }) => {
          const last = messages.at(-1)
          if (last?.content === 'child') return { text: 'done', gate: hold }
          if (last?.content !== 'go') return { text: 'started' }
          return { calls: [1, 2].map(() => ({ name: 'sessions_spawn', input: { task: 'child' } })) }
        }),
      },
    )
    onTestFinished(() => office.remove())
    const itemId = await office.say('go')
    await hold.reached
    const childrenIn = async (rows: Reading) =>
      (await runsOf(rows, {})).filter(({ parentRunId }) => parentRunId !== null)
    const children = () => office.engine.store.read(childrenIn)
    // Each call commits by itself, so the first child may be at work before the second exists.
    await office.until(async (rows) => (await childrenIn(rows)).length === 2)
    expect(office.engine.limits.lanes).toMatchObject({ agents: 3, subagents: 1 })
    const seen = await children()
    expect(seen.map(({ via, lane }) => [via, lane])).toEqual(
      Array.from({ length: 2 }, () => ['sessions_spawn', 'subagents']),
    )
    // A claim takes all that it may have at once, so the other would be at work, too.
    expect(seen.map(({ state }) => state).sort()).toEqual(['queued', 'running'])
    hold.open()
    expect(await office.heard(itemId)).toMatchObject({ status: 'completed' })
    expect((await children()).map(({ state }) => state)).toEqual(['completed', 'completed'])
  },
)

describe('free slots', () => {
  const limits = testLimits({ maxRunning: 4, lanes: { agents: 3, background: 2 } })
  const running = (counts: Partial<Record<Lane, number>>) =>
    Object.entries(counts).map(([lane, count]) => ({ lane: lane as Lane, rootRunId: 'r', count, suspects: 0 }))

  test('of a lane are what its limit and the limit of all leave', () => {
    expect(freeSlots(limits, [], 'agents')).toBe(3)
    expect(freeSlots(limits, running({ agents: 1, main: 2 }), 'agents')).toBe(1)
    expect(freeSlots(limits, running({ agents: 1, main: 3 }), 'background')).toBe(2)
    expect(freeSlots(limits, running({ background: 2 }), 'main')).toBe(4)
  })
})
