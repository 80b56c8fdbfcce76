import { afterEach, describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/domain/model.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { append } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { findSubagent } from '../../src/store/rows/subagents/subagents.ts'
import { gate } from '../../src/testing.ts'
import { isLong } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { answered, calling, newSpawning, type Spawning, spawns, spawnsInner } from './spawning.ts'

describe.each(databases)('sub-agents on %s', (database) => {
  const test = testOn(database)
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

  test('a run that an announcement wakes keeps the origin and the lane of the one before it', async () => {
    nest = await newSpawning(
      database,
      {
        parent: spawns({ task: 'outer' }),
        child: spawnsInner,
      },
      { config: deep },
    )
    await nest.ask('go')
    const found = (await nest.runs()).map(({ depth, via, lane }) => `${depth} ${via} ${lane}`).sort()
    expect(found).toEqual([
      ...['0 user main', '0 user main'],
      ...['1 sessions_spawn subagents', '1 sessions_spawn subagents', '2 sessions_spawn subagents'],
    ])
  })

  test('a result whose requester is gone, and the session of the request too, is listed as undelivered', async () => {
    const hold = gate()
    nest = await newSpawning(database, {
      parent: spawns({ task: 'quick' }, { task: 'slow' }),
      child: (last) => (last === 'quick' ? { text: 'told' } : { text: 'nobody is told of this', gate: hold }),
    })
    await nest.say('go')
    await hold.reached
    const main = await nest.until(async (rows) => {
      const [session] = await findSessions(rows, { label: 'main' })
      return session?.headTurnId ? session : undefined
    })
    const undelivered = () => nest.engine.store.read((rows) => listResults(rows, { undelivered: true }))
    // The first is in the requester's inbox, where it waits for the second.
    await nest.until(async (rows) => (await listResults(rows, { unprocessed: true })).length === 1)
    expect(await undelivered()).toEqual([])
    await nest.engine.store.write('session', async (tx) => {
      await tx.run(tx.build.updateTable('sessions').set({ removed_at: 1 }).where('id', '=', main.id))
    })
    hold.open()
    await nest.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)
    expect(await undelivered()).toMatchObject([{ status: 'completed', output: 'nobody is told of this' }])
  })

  test('a requester that compacts its conversation when a result arrives is told of it once, afterwards', async () => {
    const [child, summing] = [gate(), gate()]
    const isSummary = ({ system }: ModelRequest) => system.startsWith('This conversation is too long')
    nest = await newSpawning(
      database,
      {
        parent: (last, request) =>
          isSummary(request)
            ? { text: 'they spoke at length', gate: summing }
            : spawns({ task: 'Read.', label: 'slow' })(last, request),
        child: () => ({ text: 'done', gate: child }),
      },
      { window: 60_000 },
    )
    const asked = await nest.say('go')
    await child.reached
    await nest.until(async (rows) => (await findSessions(rows, { label: 'main' }))[0]?.headTurnId ?? undefined)
    const draft = { query: [{ content: 'And?' }], response: { content: 'long answer '.repeat(3000) } }
    for (let turn = 0; turn < 8; turn++) await append(nest.engine, { folder: nest.folder, label: 'main', draft })
    const other = await nest.say('next question')
    await summing.reached
    child.open()
    await nest.until(async (rows) => (await listResults(rows, {})).length === 1)
    summing.open()
    await Promise.all([nest.heard(asked), nest.heard(other)])
    const told = nest
      .parentRequests()
      .filter((request) => !isSummary(request))
      .map(({ messages }) => messages.filter(({ content }) => content.startsWith('[Subagent: slow] Complete.')).length)
    expect(told.slice(-2)).toEqual([0, 1])
    expect(nest.parentRequests().filter(isSummary).length).toBeGreaterThan(0)
  })

  test('a fork of the requester is told nothing of what the requester started, which is told once', async () => {
    const hold = gate()
    nest = await newSpawning(database, {
      parent: spawns({ task: 'Read.', label: 'slow' }),
      child: () => ({ text: 'done', gate: hold }),
    })
    const asked = await nest.say('go')
    await hold.reached
    const head = await nest.until(
      async (rows) => (await findSessions(rows, { label: 'main' }))[0]?.headTurnId ?? undefined,
    )
    await fork(nest.engine, { folder: nest.folder, turnId: head, label: 'branch' })
    hold.open()
    await nest.heard(asked)
    const before = nest.parentRequests().length
    await nest.ask('what now?', { label: 'branch' })
    const heard = (requests: ModelRequest[]) =>
      requests.flatMap(({ messages }) => messages.filter(({ content }) => content.startsWith('[Subagent: slow]')))
    expect(heard(nest.parentRequests().slice(0, before))).toHaveLength(1)
    expect(heard(nest.parentRequests().slice(before))).toEqual([])
  })

  test('sub-agents beyond the model calls that a request may make fail with a reason, and each result is announced', async () => {
    const tasks = ['a', 'b', 'c', 'd', 'e', 'f']
    nest = await newSpawning(
      database,
      {
        parent: spawns(...tasks.map((task) => ({ task, label: task }))),
        child: (last) => ({ text: `did ${last}` }),
      },
      {
        config(config) {
          deep(config)
          config.budgets.perRequest.steps = 5
        },
      },
    )
    const { status, text } = await nest.ask('go')
    expect(status).toBe('failed')
    expect(text).toContain('heddle config set budgets.perRequest.steps NUMBER')
    const results = await nest.engine.store.read((rows) => listResults(rows, {}))
    const refused = results.filter((result) => result.status === 'failed').map(({ output }) => output)
    expect([results.length, refused.length > 1]).toEqual([tasks.length, true])
    for (const output of refused) expect(output).toContain('the request has made 5 model calls')
    const items = await nest.engine.store.read((rows) =>
      rows.all(rows.build.selectFrom('inbox').select('result_id').where('kind', '=', 'system')),
    )
    expect(items.map(({ result_id }) => result_id).sort()).toEqual(results.map(({ id }) => id).sort())
  })
})

const crowd = isLong ? 1000 : 200
test(`${crowd} queued sub-agents all end, and one wake announces each of them once`, {
  timeout: 180_000,
}, async () => {
  const tasks = Array.from({ length: crowd }, (_, at) => `n${at}`)
  const nest = await newSpawning(
    'sqlite',
    { parent: spawns(...tasks.map((task) => ({ task, label: task }))), child: (last) => ({ text: `did ${last}` }) },
    {
      window: 10_000_000,
      config(config) {
        Object.assign(config.tools.subagents, { maxChildrenPerAgent: crowd, maxPerTurn: crowd })
        Object.assign(config.budgets.perRequest, { steps: 2000, tokens: 1e9 })
      },
    },
  )
  expect(await nest.ask('go')).toMatchObject({ ok: true })
  const { messages } = nest.parentRequests().at(-1) as ModelRequest
  const told = messages.flatMap(({ content }) => /^\[Subagent: (n\d+)\] Complete\.\n/.exec(content)?.[1] ?? [])
  await nest.remove()
  expect(told.sort()).toEqual(tasks.sort())
  expect(nest.parentRequests()).toHaveLength(3)
})
