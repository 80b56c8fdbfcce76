import { afterEach, describe, expect } from 'vitest'
import type { ModelRequest } from '../../src/domain/model.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { type Gate, gate } from '../../src/testing.ts'
import { isLong } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { testTool } from './engine.ts'
import { answered, calling, newSpawning, type Spawning, type SpawningOptions } from './spawning.ts'
import { agentNamed } from './test-team.ts'

describe.each(databases)('the tool subagents on %s', (database) => {
  const test = testOn(database)
  let nest: Spawning
  afterEach(() => nest.remove())

  /** Asked for JSON, the agent calls `subagents` with it and tells the answer; asked for `spawn a b`, it spawns these. */
  const begin = async (child: (last: string, request: ModelRequest) => object, options: SpawningOptions = {}) => {
    nest = await newSpawning(
      database,
      {
        parent: (last, request) => {
          if (request.messages.at(-1)?.role === 'tool') return { text: JSON.stringify(answered(request)) }
          if (last.startsWith('{')) return calling('subagents', JSON.parse(last))
          const [, tasks = ''] = /^spawn (.*)$/.exec(last) ?? []
          if (tasks !== '') return calling('sessions_spawn', ...tasks.split(' ').map((task) => ({ task, label: task })))
          return { text: 'ok' }
        },
        child,
      },
      options,
    )
  }
  /** What the tool answers in this session. */
  const call = async (input: object, label = 'main') => {
    const before = nest.parentRequests().length
    await nest.say(JSON.stringify(input), { label })
    const request = await nest.until(async () =>
      nest
        .parentRequests()
        .slice(before)
        .find(({ messages }) => {
          const at = messages.findLastIndex(({ content }) => content === JSON.stringify(input))
          return at >= 0 && messages.length > at + 1 && messages.at(-1)?.role === 'tool'
        }),
    )
    return answered(request)
  }
  const holds = (...names: string[]) => new Map(names.map((name) => [name, gate()]))
  const held = (gates: Map<string, Gate>) => (last: string) => ({
    text: `did ${last}`,
    ...(gates.has(last) && { gate: gates.get(last) }),
  })

  test('lists the sub-agents of its session and what became of them, newest first', async () => {
    const gates = holds('slow')
    await begin(held(gates))
    await nest.say('spawn quick slow')
    await gates.get('slow')?.reached
    await nest.until(async (rows) => (await listResults(rows, {})).length === 1)
    const listed = await call({ action: 'list' })
    expect(listed).toMatchObject({
      subagents: expect.arrayContaining([
        expect.objectContaining({ label: 'slow', status: 'running', agentId: 'general', model: 'scripted' }),
        expect.objectContaining({ label: 'quick', status: 'completed', resultId: 1 }),
      ]),
    })
    expect(await call({ action: 'list', recentMinutes: 0 })).toMatchObject({ subagents: [{ label: 'slow' }] })
    expect(await call({ action: 'list' }, 'elsewhere')).toEqual({ subagents: [] })
    gates.get('slow')?.open()
  })

  // More than a list reads at once; on a server they take five times as long.
  const withMany = isLong || database === 'sqlite' ? [200] : []
  test.each(withMany)('lists and kills one at work that was started before %i others which have ended', async () => {
    const gates = holds('slow')
    await begin(held(gates), {
      config: ({ tools }) => Object.assign(tools.subagents, { maxChildrenPerAgent: 300, maxPerTurn: 300 }),
    })
    await nest.say('spawn slow')
    await gates.get('slow')?.reached
    await nest.say(`spawn ${Array.from({ length: 201 }, (_, n) => `quick${n}`).join(' ')}`)
    await nest.until(async (rows) => (await listResults(rows, {})).length === 201)
    const [slow] = await nest.children()
    expect(await call({ action: 'kill', target: 'slow' })).toEqual({ status: 'ok', killed: [slow?.id] })
  })

  test('lists and kills one at work below a sub-agent that has ended and is no longer listed', async () => {
    const inner = gate()
    await begin(
      (last, request) => {
        if (last === 'inner') return { text: 'done', gate: inner }
        return answered(request)
          ? { text: 'began' }
          : calling('sessions_spawn', { task: 'inner', label: 'inner', memoryShareMode: 'isolated' })
      },
      { config: ({ tools }) => Object.assign(tools.subagents, { maxSpawnDepth: 2 }) },
    )
    await nest.say('spawn outer')
    await inner.reached
    await nest.until(async (rows) => (await listResults(rows, {})).length === 1)
    const listed = await call({ action: 'list', recentMinutes: 0 })
    expect(listed).toMatchObject({ subagents: [{ label: 'inner', status: 'running' }] })
    const old = await call({ action: 'kill', target: 'outer', recentMinutes: 0 })
    expect(old).toMatchObject({ error: expect.stringContaining('ended in the last 0 minutes') })
    const leaf = (await nest.children()).find(({ depth }) => depth === 2)
    expect(await call({ action: 'kill', target: 'inner' })).toEqual({ status: 'ok', killed: [leaf?.id] })
  })

  test.each(['id', 'prefix', 'tail', 'reference', 'label', 'key', 'last', 'number'])('kills by %s', async (by) => {
    const gates = holds('research')
    await begin(held(gates))
    await nest.say('spawn research')
    await gates.get('research')?.reached
    const [child] = await nest.children()
    const id = child?.id ?? ''
    const targets: Record<string, string> = {
      ...{ id, prefix: id.slice(0, 15), tail: id.slice(-6), reference: `run:${id}`, label: 'RES' },
      ...{ key: `agent:general:subagent:${id}`, last: 'last', number: '1' },
    }
    expect(await call({ action: 'kill', target: targets[by] })).toEqual({ status: 'ok', killed: [id] })
    await nest.until(async (rows) => (await runsOf(rows, {})).find((run) => run.id === id)?.state === 'cancelled')
  })

  test('reaches nothing outside its own tree, whatever string it is given', async () => {
    const gates = holds('mine')
    await begin(held(gates))
    await nest.say('spawn mine')
    await gates.get('mine')?.reached
    const [child] = await nest.children()
    const root = (await nest.runs()).find(({ depth }) => depth === 0)?.id ?? ''
    const id = child?.id ?? ''
    const strings = [id, id.slice(-6), `run:${id}`, `agent:general:subagent:${id}`, 'mine', 'last', '1', root, 'main']
    for (const target of [...strings, '%', '*', "' OR 1=1 --"]) {
      expect(await call({ action: 'kill', target }, 'elsewhere')).toMatchObject({ status: 'error' })
      expect(await call({ action: 'steer', target, input: 'stop' }, 'elsewhere')).toMatchObject({ status: 'error' })
    }
    expect(await call({ action: 'kill_all' }, 'elsewhere')).toEqual({ status: 'ok', killed: [] })
    expect((await nest.children()).map(({ state, cancelReason }) => [state, cancelReason])).toEqual([['running', null]])
    gates.get('mine')?.open()
  })

  test('a kill of one that waits for its own ends all below it and tells its requester once', async () => {
    const [started, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const wait = testTool('wait_long', 'unsafe', async (_, signal) => {
      started.resolve()
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      stopped.resolve()
    })
    await begin(
      (last, request) => {
        if (last === 'leaf') return calling('wait_long', {})
        if (answered(request)) return { text: 'began' }
        return last === 'middle' ? calling('sessions_spawn', { task: 'leaf', label: 'leaf' }) : { text: 'heard' }
      },
      { tools: [wait], config: ({ tools }) => Object.assign(tools.subagents, { maxSpawnDepth: 2 }) },
    )
    await nest.say('spawn middle')
    await started.promise
    await nest.until(async (rows) => (await runsOf(rows, {})).some((run) => run.depth === 1 && run.finishedAt !== null))
    expect(await call({ action: 'kill', target: 'middle' })).toMatchObject({ status: 'ok' })
    await nest.until(async (rows) => (await runsOf(rows, { live: true })).filter(({ depth }) => depth > 0).length === 0)
    await stopped.promise
    const items = await nest.engine.store.read((rows) =>
      rows.all(rows.build.selectFrom('inbox').select('payload_json').where('kind', '=', 'system')),
    )
    const told = items.map(
      ({ payload_json }) => (JSON.parse(payload_json) as { content: string }).content.split('\n')[0],
    )
    expect(told.filter((text) => text?.startsWith('[Subagent: middle]'))).toEqual([
      '[Subagent: middle] Cancelled: killed by its requester',
    ])
  })

  test('kill_all ends all of them', async () => {
    const gates = holds('a', 'b')
    await begin(held(gates))
    await nest.say('spawn a b')
    await Promise.all([...gates.values()].map(({ reached }) => reached))
    const killed = (await call({ action: 'kill_all' })) as { killed: string[] }
    expect(killed.killed.sort()).toEqual((await nest.children()).map(({ id }) => id).sort())
  })

  test('steering reaches the sub-agent at its next step, once', async () => {
    const first = gate()
    await begin((_, request) =>
      request.messages.at(-1)?.role === 'tool' || request.messages.length > 1
        ? { text: `heard ${request.messages.filter(({ content }) => content === 'use the index').length}` }
        : { ...calling('list_dir', { path: '.' }), gate: first },
    )
    await nest.say('spawn work')
    await first.reached
    expect(await call({ action: 'steer', target: 'work', input: 'use the index' })).toMatchObject({ status: 'ok' })
    first.open()
    const [result] = await nest.until(async (rows) => {
      const found = await listResults(rows, {})
      return found.length === 1 && found
    })
    expect(result?.output).toBe('heard 1')
    expect(await call({ action: 'steer', target: 'work', input: 'more' })).toMatchObject({
      status: 'error',
      error: '"work" is not running',
    })
  })

  test('agents_list names the agents that may be started, each with the model that will answer', async () => {
    nest = await newSpawning(
      database,
      {
        parent: (_, request) => (answered(request) ? { text: 'ok' } : calling('agents_list', {})),
        child: () => ({ text: 'done' }),
      },
      {
        agents: [agentNamed('researcher', { model: 'own' }), agentNamed('writer')],
        config: ({ tools }) =>
          Object.assign(tools.subagents, { allowAgents: ['general', '@researcher'], model: 'cheap' }),
      },
    )
    await nest.ask('go')
    expect(answered(nest.parentRequests().at(-1) as ModelRequest)).toEqual({
      agents: [
        { agentId: 'general', description: expect.any(String), model: 'cheap' },
        { agentId: 'researcher', description: 'Does what a researcher does.', model: 'own' },
      ],
    })
  })
})
