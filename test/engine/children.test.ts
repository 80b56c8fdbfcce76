import { afterEach, describe, expect } from 'vitest'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { whenEnded } from '../../src/engine/run/request.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { spawnChild } from '../../src/engine/run/spawn.ts'
import { type Gate, gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { resultOf } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import type { Tx } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine } from './engine.ts'

/** A transactional tool that begins a child. */
function spawnTool(of: () => TestEngine): Tool<{ task: string }> {
  return {
    name: 'spawn',
    description: 'begins a child',
    inputSchema: { type: 'object' },
    effect: 'transactional',
    parse: (input) => ({ ok: true, value: input as { task: string } }),
    write: (tx, { task }, call) =>
      spawnChild(tx as Tx, of().engine, call, { content: task, via: 'spawn_agent', agent: 'general' }),
  }
}

/** A parent that begins so many children and then tells what it heard; children answer what they were asked. */
function family(count: number, hold: (task: string) => Gate | undefined = () => undefined) {
  return scriptedModel((request) => {
    const first = request.messages.find(({ role }) => role === 'user')?.content ?? ''
    const last = request.messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const held = hold(last)
    if (last.startsWith('child ')) return { text: `done: ${last}`, ...(held && { gate: held }) }
    if (last === 'go' && request.messages.at(-1)?.role !== 'tool')
      return { calls: Array.from({ length: count }, (_, n) => ({ name: 'spawn', input: { task: `child ${n + 1}` } })) }
    if (last === 'go') return { text: 'started' }
    return { text: `heard after ${first}: ${last}` }
  })
}

describe.each(databases)('children on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const begin = async (model: ReturnType<typeof scriptedModel>, limits = {}) => {
    under = await newEngine(database, model, { tools: [spawnTool(() => under) as Tool], limits })
    await under.work()
    return under
  }

  test('ten children make one wake: each result is heard once, and the last turn is the answer', async () => {
    await begin(family(10), { lanes: { agents: 4 }, maxRunning: 8 })
    const { itemId } = await under.say('go')
    const request = await whenEnded(under.engine, itemId, new AbortController().signal)
    const turns = await under.turns(2)
    expect(turns.map(({ turn }) => turn.responseMessage.content)).toEqual([
      'started',
      expect.stringContaining('all started agents have ended'),
    ])
    const heard = turns[1]?.turn.queryMessages.map(({ content }) => content) ?? []
    expect(heard).toHaveLength(11)
    expect(new Set(heard.slice(0, 10).map((line) => /done: (child \d+)/.exec(line)?.[1])).size).toBe(10)
    expect(request).toMatchObject({
      answer: { turn: { id: turns[1]?.turn.id } },
      turnIds: turns.map(({ turn }) => turn.id),
    })
    const runs = await under.runtime.store.read((rows) => runsOf(rows, { rootRunId: request?.run.rootRunId ?? '' }))
    expect(runs).toHaveLength(12)
    const child = runs.find(({ parentRunId }) => parentRunId !== null)
    expect(child).toMatchObject({ kind: 'spawn', depth: 1, state: 'completed', requestedAt: runs[0]?.requestedAt })
    expect(await under.runtime.store.read((rows) => resultOf(rows, child?.id ?? ''))).toMatchObject({
      status: 'completed',
      processed: true,
      output: expect.stringContaining('done: child'),
    })
  })

  test('the session is free meanwhile: a message in between is answered at once, and the wake still comes once', async () => {
    const held = gate()
    await begin(family(3, (task) => (task === 'child 2' ? held : undefined)))
    const { itemId } = await under.say('go')
    await held.reached
    await under.turns(1)
    await under.until(async (rows) => {
      const children = (await runsOf(rows, {})).filter(({ parentRunId }) => parentRunId !== null)
      return children.filter(({ finishedAt }) => finishedAt !== null).length === 2
    })
    await under.say('how is it going?')
    const between = await under.turns(2)
    expect(between[1]?.turn.responseMessage.content).toContain('how is it going?')
    held.open()
    await whenEnded(under.engine, itemId, new AbortController().signal)
    const turns = await under.turns(3)
    expect(turns).toHaveLength(3)
    const heard = turns.flatMap(({ turn }) => turn.queryMessages.map(({ content }) => content))
    expect(heard.filter((line) => line.startsWith('[agent_result:'))).toHaveLength(3)
    expect(heard.filter((line) => line.startsWith('all started agents'))).toHaveLength(1)
  })

  test('never more children run at once than the limit, and a parent that has ended holds no slot', async () => {
    const gates = new Map(Array.from({ length: 4 }, (_, n) => [`child ${n + 1}`, gate()]))
    await begin(
      family(4, (task) => gates.get(task)),
      { lanes: { agents: 2 }, maxRunning: 2 },
    )
    await under.say('go')
    await under.turns(1)
    const closed = new Set(gates.values())
    while (closed.size > 0) {
      // Two are at work, or all that are left: then one of them is let go, and no sooner.
      const running = await under.until(async (rows) => {
        const found = (await runsOf(rows, { state: 'running' })).filter(({ parentRunId }) => parentRunId !== null)
        return found.length >= Math.min(2, closed.size) && found
      })
      expect(running).toHaveLength(Math.min(2, closed.size))
      const reached = await Promise.race([...closed].map((each) => each.reached.then(() => each)))
      reached.open()
      closed.delete(reached)
      await under.until(async (rows) => {
        const children = (await runsOf(rows, {})).filter(({ parentRunId }) => parentRunId !== null)
        return children.filter(({ finishedAt }) => finishedAt !== null).length === 4 - closed.size
      })
    }
    expect(await under.turns(2)).toHaveLength(2)
  })

  test('cancelling a parent cancels all it began: no orphan, and the session is not woken', async () => {
    const gates = Array.from({ length: 3 }, gate)
    const parent = gate()
    const model = family(3, (task) => gates[Number(/^child (\d)/.exec(task)?.[1]) - 1])
    const slow = {
      ...model,
      reply: async (...args: Parameters<typeof model.reply>) => {
        const reply = await model.reply(...args)
        if (reply.text === 'started') await parent.pass(args[0].signal)
        return reply
      },
    }
    await begin(slow as typeof model)
    const { runId } = await under.say('go')
    await Promise.all(gates.map(({ reached }) => reached))
    await parent.reached
    await cancel(under.engine, runId ?? '', 'enough')
    await under.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)
    const runs = await under.runtime.store.read((rows) => runsOf(rows, {}))
    expect(runs.map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled'])
    expect(await under.turns(1)).toHaveLength(1)
  })

  test('a child that begins others is heard of when it has heard of them, once and with its last word', async () => {
    const model = scriptedModel(({ messages }) => {
      const last = messages.findLast(({ role }) => role === 'user')?.content ?? ''
      const begins = (task: string) =>
        messages.at(-1)?.role === 'tool' ? { text: `began ${task}` } : { calls: [{ name: 'spawn', input: { task } }] }
      if (last === 'go') return begins('middle')
      if (last === 'middle') return begins('leaf')
      if (last === 'leaf') return { text: 'a leaf' }
      const heard = messages.filter(({ content }) => content.startsWith('[agent_result')).map(({ content }) => content)
      return { text: `heard ${heard.join(' and ')}` }
    })
    await begin(model)
    const { itemId } = await under.say('go')
    const request = await whenEnded(under.engine, itemId, new AbortController().signal)
    expect(request?.answer.turn.responseMessage.content).toMatch(
      /^heard \[agent_result:2\] .* completed: heard \[agent_result:1\] .* completed: a leaf$/,
    )
    expect(request?.turnIds).toHaveLength(2)
  })

  test('a child that is tried again after its parent has ended wakes the session with its new result', async () => {
    let leaves = 0
    const model = scriptedModel(({ messages }) => {
      const last = messages.findLast(({ role }) => role === 'user')?.content ?? ''
      if (last === 'leaf') return { text: `leaf ${++leaves}` }
      if (last !== 'go')
        return { text: `heard: ${messages.findLast(({ content }) => content.startsWith('[agent'))?.content}` }
      return messages.at(-1)?.role === 'tool'
        ? { text: 'began' }
        : { calls: [{ name: 'spawn', input: { task: 'leaf' } }] }
    })
    await begin(model)
    await under.say('go')
    await under.turns(2)
    const child = (await under.runtime.store.read((rows) => runsOf(rows, {}))).find(({ depth }) => depth === 1)
    await retry(under.engine, child?.id ?? '')
    const turns = await under.turns(3)
    expect(turns.at(-1)?.turn.responseMessage.content).toMatch(/^heard: .* completed: leaf 2$/)
    expect(new Set(turns.map(({ turn }) => turn.runId)).size).toBe(3)
  })

  test('a child whose owner dies is finished by another, and its result is heard once', async () => {
    const held = gate()
    let first = true
    await begin(
      family(2, (task) => {
        if (task !== 'child 1' || !first) return undefined
        first = false
        return held
      }),
    )
    const { itemId } = await under.say('go')
    await held.reached
    const [owned] = await under.runtime.store.read((rows) => runsOf(rows, { state: 'running' }))
    under.locks.kill(owned?.workerId ?? '')
    await under.work()
    await whenEnded(under.engine, itemId, new AbortController().signal)
    held.open()
    const heard = (await under.turns(2))[1]?.turn.queryMessages.map(({ content }) => content) ?? []
    expect(heard.filter((line) => line.startsWith('[agent_result:'))).toHaveLength(2)
  })
})
