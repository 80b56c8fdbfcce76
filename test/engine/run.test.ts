import { afterEach, describe, expect, test } from 'vitest'
import { withRemedy } from '../../src/domain/errors.ts'
import { ModelFailure } from '../../src/domain/model.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import { promptText, savePrompt } from '../../src/store/rows/turns.ts'
import { spendingBy } from '../../src/store/rows/usage.ts'
import type { Tx } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

const echo = () =>
  scriptedModel((request) => ({
    text: `answer to: ${request.messages.findLast(({ role }) => role === 'user')?.content}`,
  }))

describe.each(databases)('a run on %s', (database) => {
  let under: TestEngine | undefined
  afterEach(async () => {
    expect(under?.troubles ?? []).toEqual([])
    await under?.remove()
    under = undefined
  })

  test('how much to think is asked for with the input, told to the model, and kept in the turn', async () => {
    const model = echo()
    under = await newEngine(database, model)
    await under.work()
    await under.say('hard', { thinking: { level: 'high' } })
    await under.turns(1)
    await under.say('easy')
    const placed = await under.turns(2)
    expect(model.requests.map(({ thinking }) => thinking)).toEqual([{ level: 'high' }, undefined])
    expect(placed.map(({ turn }) => turn.thinkingConfig)).toEqual([{ level: 'high' }, null])
  })

  test('turns an input into one turn and leaves nothing behind', async () => {
    under = await newEngine(database, echo())
    await under.work()
    const { runId } = await under.say('hello')
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({
      status: 'completed',
      queryMessages: [{ role: 'user', source: 'human', content: 'hello' }],
      responseMessage: { role: 'assistant', content: 'answer to: hello' },
      model: { requested: null, actual: 'scripted' },
      runId,
    })
    const run = await under.runtime.store.read((rows) => findRun(rows, runId ?? ''))
    expect(run).toMatchObject({ state: 'completed', workerId: null, epoch: 1, crashes: 0 })
  })

  test('inputs that come while it runs are answered together, in order, by the next', async () => {
    const held = gate()
    const model = scriptedModel((_, n) => ({ text: `${n}`, ...(n === 1 && { gate: held }) }))
    under = await newEngine(database, model)
    await under.work()
    await under.say('one')
    await held.reached
    expect((await under.say('two')).runId).toBeNull()
    await under.say('three')
    held.open()
    const turns = await under.turns(2)
    expect(turns.map(({ turn }) => turn.queryMessages.map(({ content }) => content))).toEqual([
      ['one'],
      ['two', 'three'],
    ])
    expect(model.requests.at(-1)?.messages).toEqual([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: '1', calls: [] },
      { role: 'user', content: 'two' },
      { role: 'user', content: 'three' },
    ])
  })

  test('what an input asks of its run counts although it had to wait for another run', async () => {
    const held = gate()
    under = await newEngine(
      database,
      scriptedModel((_, n) => ({ text: `${n}`, ...(n === 1 && { gate: held }) })),
    )
    await under.work()
    await under.say('one')
    await held.reached
    await under.say('two', { model: 'big', priority: 3, timeoutMs: 4000 })
    await under.say('three')
    held.open()
    const turns = await under.turns(2)
    const run = await under.runtime.store.read((rows) => findRun(rows, turns[1]?.turn.runId ?? ''))
    expect(run).toMatchObject({ modelRequested: 'big', options: { model: 'big', priority: 3, timeoutMs: 4000 } })
  })

  test('an input that joins a queued run has its say about the model', async () => {
    under = await newEngine(database, echo())
    const { runId } = await under.say('one')
    expect(await under.say('two', { model: 'big' })).toMatchObject({ runId })
    await under.work()
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({ runId, model: { requested: 'big' }, queryMessages: { length: 2 } })
  })

  test('the same delivery counts once', async () => {
    under = await newEngine(database, echo())
    const first = await under.say('hello', { dedupeKey: 'update-1' })
    expect(await under.say('hello', { dedupeKey: 'update-1' })).toMatchObject({ itemId: first.itemId })
    await under.work()
    const [placed] = await under.turns(1)
    expect(placed?.turn.queryMessages).toHaveLength(1)
  })

  test('calls of a reply are made side by side and answered in the order they were asked for', async () => {
    const both = gate()
    let started = 0
    const slow = testTool('slow', 'pure', async (input, signal) => {
      if (++started === 2) both.open()
      await both.pass(signal)
      return input
    })
    const model = scriptedModel([
      {
        text: 'let me look',
        calls: [
          { name: 'slow', input: { n: 1 } },
          { name: 'slow', input: { n: 2 } },
        ],
      },
      { text: 'done' },
    ])
    under = await newEngine(database, model, { tools: [slow] })
    await under.work()
    const { runId } = await under.say('go')
    const [placed] = await under.turns(1)
    expect(placed?.turn.toolCalls.map(({ name, status }) => [name, status])).toEqual([
      ['slow', 'ok'],
      ['slow', 'ok'],
    ])
    expect(model.requests[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: 'let me look', calls: expect.any(Array) },
      { role: 'tool', callId: 'call-1-1', name: 'slow', content: '{"n":1}' },
      { role: 'tool', callId: 'call-1-2', name: 'slow', content: '{"n":2}' },
    ])
    const steps = await under.runtime.store.read((rows) => readSteps(rows, runId ?? ''))
    expect(steps.map(({ kind }) => kind)).toEqual(['reply', 'begun', 'begun', 'ended', 'ended'])
  })

  test('oversized tool output is cut with a marker for the model and kept whole in the store', async () => {
    const whole = 'ab'.repeat(40_000)
    const large = testTool('large', 'pure', () => whole)
    const model = scriptedModel([{ calls: [{ name: 'large' }] }, { text: 'I see' }])
    under = await newEngine(database, model, { tools: [large], limits: { perRequest: { usd: 5, tokens: 1_000_000 } } })
    await under.work()
    const { runId } = await under.say('go')
    await under.turns(1)
    const steps = await under.runtime.store.read((rows) => readSteps(rows, runId ?? ''))
    const rest = `continue with read_result call=${runId}/${steps.at(-1)?.seq} offset=50000`
    const shown = `${'ab'.repeat(25_000)}\n… [cut: 30000 more characters; ${rest}]`
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: shown })
    expect(steps.at(-1)?.payload).toMatchObject({ name: 'large', output: whole })
  })

  test('an unknown tool, wrong input and a tool that throws are told to the model, and the run goes on', async () => {
    const broken = testTool('broken', 'unsafe', () => {
      throw new Error('no such thing')
    })
    const model = scriptedModel([
      { calls: [{ name: 'rm' }, { name: 'broken', input: 'text' }, { name: 'broken', input: {} }] },
      { text: 'I see' },
    ])
    under = await newEngine(database, model, { tools: [broken] })
    await under.work()
    await under.say('go')
    const [placed] = await under.turns(1)
    expect(placed?.turn.toolCalls.map(({ status }) => status)).toEqual(['forbidden', 'error', 'error'])
    const told = model.requests[1]?.messages
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => JSON.parse(content))
    expect(told).toEqual([
      { status: 'forbidden', error: 'no tool named "rm"; available: broken' },
      { status: 'error', error: 'invalid input for broken: it is not an object' },
      { status: 'error', error: 'no such thing' },
    ])
    expect(broken.calls).toEqual([{}])
  })

  test('a call that writes our rows and throws leaves none of them; the model is told, and the run goes on', async () => {
    const note: Tool = {
      name: 'note',
      description: 'notes',
      inputSchema: { type: 'object' },
      effect: 'transactional',
      parse: (value) => ({ ok: true, value }),
      async write(tx) {
        await savePrompt(tx as Tx, 'half-done', 'half done')
        throw new Error('no more paper')
      },
    }
    const model = scriptedModel([{ calls: [{ name: 'note' }] }, { text: 'never mind' }])
    under = await newEngine(database, model, { tools: [note] })
    await under.work()
    await under.say('note this')
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({ status: 'completed', toolCalls: [{ name: 'note', status: 'error' }] })
    expect(model.requests.at(-1)?.messages.at(-1)?.content).toContain('no more paper')
    expect(await under.runtime.store.read((rows) => promptText(rows, 'half-done'))).toBeUndefined()
  })

  test('a failure that may pass is retried after a pause without a slot, and what it cost is kept', async () => {
    const clock = manualClock()
    const busy = new ModelFailure('provider_busy', 'busy', 'wait', { retry: 'later' })
    const model = scriptedModel([{ fail: busy }, { fail: busy }, { text: 'at last' }])
    under = await newEngine(database, model, { clock, limits: { leaseMs: 10 ** 9, timeoutMs: 10 ** 9 } })
    await under.work()
    const { runId } = await under.say('hello')
    for (const tries of [1, 2]) await under.pass(clock, runId, tries)
    const [placed] = await under.turns(1)
    expect(placed?.turn.responseMessage.content).toBe('at last')
    expect(await under.runtime.store.read((rows) => spendingBy(rows, { runId: runId ?? '' }))).toMatchObject({
      calls: 3,
    })
  })

  test.each([
    ['never passes', new ModelFailure('provider_refused_key', 'the key is wrong', 'mend it', { retry: 'never' }), 1],
    ['does not pass in three tries', new ModelFailure('provider_busy', 'busy', 'wait', { retry: 'later' }), 3],
  ])('a failure that %s ends the run with the remedy, and its input is consumed', async (_, fail, requests) => {
    const clock = manualClock()
    const model = scriptedModel(() => ({ fail }))
    under = await newEngine(database, model, { clock, limits: { leaseMs: 10 ** 9, timeoutMs: 10 ** 9 } })
    await under.work()
    const { runId } = await under.say('hello')
    for (let tries = 1; tries < requests; tries++) await under.pass(clock, runId, tries)
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({
      status: 'failed',
      responseMessage: { content: `Failed: ${withRemedy(fail)}` },
    })
    expect(model.requests).toHaveLength(requests)
    expect(await under.runtime.store.read((rows) => runsOf(rows, { live: true }))).toEqual([])
  })

  test('a model that never stops calling is stopped by its limit', async () => {
    const look = testTool('look', 'pure', () => 'nothing')
    under = await newEngine(
      database,
      scriptedModel(() => ({ calls: [{ name: 'look' }] })),
      {
        tools: [look],
        limits: { maxSteps: 5 },
      },
    )
    await under.work()
    await under.say('go')
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({ status: 'failed', toolCalls: { length: 5 } })
    expect(look.calls).toHaveLength(5)
  })

  test.each([
    ['tokens of a request', { perRequest: { usd: 5, tokens: 2500 } }, 'perRequest.tokens', 1],
    ['money of a request', { perRequest: { usd: 0.0025, tokens: 10 ** 6 } }, 'perRequest.usd', 1],
    ['money of a day', { perDayUsd: 0.0025 }, 'perDay.usd', 1],
  ])(
    'F29 a call that could exceed the %s is not made, and the turn says how to raise it',
    async (_, budget, key, made) => {
      const look = testTool('look', 'pure', () => 'nothing')
      const model = scriptedModel(
        () => ({ calls: [{ name: 'look' }], usage: { inputTokens: 900, outputTokens: 900 } }),
        {
          price: { input: 1, output: 1 },
        },
      )
      under = await newEngine(database, model, { tools: [look], limits: budget })
      await under.work()
      const { runId } = await under.say('go')
      const [placed] = await under.turns(1)
      expect(placed?.turn.status).toBe('failed')
      expect(placed?.turn.responseMessage.content).toContain(`heddle config set budgets.${key}`)
      expect(model.requests).toHaveLength(made)
      expect(await under.runtime.store.read((rows) => spendingBy(rows, { runId: runId ?? '' }))).toMatchObject({
        calls: 1,
        inputTokens: 900,
        outputTokens: 900,
      })
    },
  )

  test('running time ends a run whatever its tool does, and what there is of an answer is kept', async () => {
    const clock = manualClock()
    const held = gate()
    const deaf = testTool('deaf', 'unsafe', () => held.pass(new AbortController().signal))
    under = await newEngine(database, scriptedModel([{ text: 'working on it', calls: [{ name: 'deaf' }] }]), {
      clock,
      tools: [deaf],
    })
    await under.work()
    await under.say('go', { timeoutMs: 5000 })
    await held.reached
    await clock.advance(5000)
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({
      status: 'timeout',
      responseMessage: { content: 'working on it\n\nTimed out: it ran for 5 s, its limit' },
      toolCalls: [{ name: 'deaf', status: 'unknown' }],
    })
  })

  test('a time limit of 0 means none, whatever the configured one is', async () => {
    const clock = manualClock()
    const held = gate()
    const slow = testTool('slow', 'unsafe', () => held.pass(new AbortController().signal))
    const model = scriptedModel([{ text: '', calls: [{ name: 'slow' }] }, { text: 'done' }])
    under = await newEngine(database, model, { clock, tools: [slow], limits: { timeoutMs: 5000 } })
    await under.work()
    await under.say('go', { timeoutMs: 0 })
    await held.reached
    await clock.advance(6000)
    held.open()
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({ status: 'completed', responseMessage: { content: 'done' } })
  })

  test('a deadline ends a run that nobody has taken', async () => {
    const clock = manualClock()
    under = await newEngine(database, echo(), { clock, limits: { maxRunning: 0 } })
    await under.work()
    await under.say('hello', { deadline: clock.now() + 3000 })
    await clock.advance(3000)
    const [placed] = await under.turns(1)
    expect(placed?.turn).toMatchObject({ status: 'timeout', queryMessages: [{ content: 'hello' }] })
  })

  test('the best run is taken first: priority, then the request that has waited longest; never more than the limit', async () => {
    const order: string[] = []
    let [now, most] = [0, 0]
    const model = {
      ...echo(),
      async reply(...args: Parameters<ReturnType<typeof echo>['reply']>) {
        order.push(args[0].messages.at(-1)?.content ?? '')
        most = Math.max(most, ++now)
        await new Promise(setImmediate)
        now--
        return echo().reply(...args)
      },
    }
    under = await newEngine(database, model, { limits: { maxRunning: 1 } })
    for (const [label, priority] of [
      ['a', 0],
      ['b', 0],
      ['c', 5],
      ['d', 0],
    ] as const)
      await under.say(label, { label, priority })
    await under.work()
    for (const label of ['a', 'b', 'c', 'd']) await under.turns(1, label)
    expect({ order, most }).toEqual({ order: ['c', 'a', 'b', 'd'], most: 1 })
  })
})
