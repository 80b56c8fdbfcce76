import { afterEach, describe, expect } from 'vitest'
import { ModelFailure, type ModelRequest } from '../../src/domain/model.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { append } from '../../src/engine/turns/append.ts'
import { type ScriptedReply, scriptedModel } from '../../src/models/scripted.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import { spendingBy } from '../../src/store/rows/usage.ts'
import { gate, manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine, testTool } from './engine.ts'

const window = 4000
const isSummary = (request: ModelRequest) => request.system.startsWith('This conversation is too long')

/** A model with a small window: it sums up when asked to, and else does what the script says. */
const ships =
  'they spoke of ships: three of them, which one is the fastest, and when it comes to the harbour of Stade again'
const small = (script: (request: ModelRequest, n: number) => ScriptedReply, summary = ships) =>
  scriptedModel((request, n) => (isSummary(request) ? { text: summary } : script(request, n)), { window })

describe.each(databases)('a nearly full window on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** A session of so many turns of about 100 tokens each. */
  async function talk(count: number, label?: { integrity: 'untrusted'; sources: string[] }) {
    for (let n = 1; n <= count; n++)
      await append(under.engine, {
        folder,
        label: 'main',
        draft: {
          query: [{ content: `question ${n} ${'a'.repeat(200)}`, ...(label && { label }) }],
          response: { content: `answer ${n} ${'b'.repeat(200)}` },
        },
      })
  }

  test('is compacted before the first call: a turn of the same run stands for the old ones, the newest stay', async () => {
    const model = small(() => ({ text: 'the answer' }))
    under = await newEngine(database, model)
    await talk(30, { integrity: 'untrusted', sources: ['somewhere'] })
    await under.work()
    const { runId } = await under.say('and now?')
    const path = await under.turns(32)
    const [compaction, last] = path.slice(-2)
    expect(compaction?.turn).toMatchObject({
      type: 'compaction',
      runId,
      queryMessages: [],
      responseMessage: {
        content: ships,
        parentId: path.at(-3)?.turn.id,
        model: compaction?.turn.model.actual,
      },
      compaction: { fromDepth: 1 },
      label: { integrity: 'untrusted', sources: ['somewhere'] },
    })
    expect(last?.turn).toMatchObject({ type: 'normal', runId, responseMessage: { content: 'the answer' } })
    expect(last?.turn.queryMessages).toMatchObject([{ parentId: compaction?.turn.id }])
    const toDepth = compaction?.turn.compaction?.toDepth ?? 0
    const [first, second, ...rest] = model.requests.at(-1)?.messages ?? []
    expect(first).toEqual({ role: 'user', content: `[summary of what came before]\n${ships}` })
    expect(second?.content).toContain(`question ${toDepth + 1} `)
    expect(rest.at(-1)).toEqual({ role: 'user', content: 'and now?' })
    const sent = JSON.stringify(model.requests.filter(isSummary))
    for (let n = 1; n <= toDepth; n++) expect(sent).toContain(`answer ${n} `)
  })

  test('is compacted again later: the old summary and what it kept are folded into the new one', async () => {
    const model = small((_, n) => ({ text: `answer number ${n} ${'c'.repeat(400)}` }))
    under = await newEngine(database, model)
    await under.work()
    for (let n = 1; n <= 60; n++) {
      const { runId } = await under.say(`question ${n} ${'a'.repeat(200)}`)
      await under.until(async (rows) => (await findRun(rows, runId ?? ''))?.state === 'completed')
    }
    for (const request of model.requests) expect(JSON.stringify(request.messages).length).toBeLessThan(window * 4)
    const path = await under.turns(60)
    const compactions = path.filter(({ turn }) => turn.type === 'compaction')
    expect(compactions.length).toBeGreaterThan(1)
    expect(path.map(({ thread }) => thread.depth)).toEqual(path.map((_, at) => at + 1))
    const summaries = model.requests.at(-1)?.messages.filter(({ content }) => content.startsWith('[summary'))
    expect(summaries?.length).toBe(1)
  })

  test('inside a turn is a step: the model goes on from the summary, and calls stay paired with answers', async () => {
    const fetch = testTool('fetch', 'pure', () => 'x'.repeat(4000))
    const model = small(
      (request) =>
        request.messages.length > 0 && rounds(model.requests) <= 6
          ? { calls: [{ name: 'fetch', input: { page: rounds(model.requests) } }] }
          : { text: 'done' },
      'five pages, and all that stood on them was the letter x, again and again, without any other letter in between',
    )
    const rounds = (requests: readonly ModelRequest[]) => requests.filter((request) => !isSummary(request)).length
    under = await newEngine(database, model, { tools: [fetch] })
    await under.work()
    const { runId } = await under.say('read it all')
    const [only] = await under.turns(1)
    expect(only?.turn).toMatchObject({ status: 'completed', responseMessage: { content: 'done' } })
    expect(only?.turn.toolCalls).toHaveLength(6)
    expect(fetch.calls).toHaveLength(6)
    const steps = await under.runtime.store.read((rows) => readSteps(rows, runId ?? ''))
    expect(steps.filter(({ kind }) => kind === 'compact').length).toBeGreaterThan(0)
    for (const { messages } of model.requests) {
      const asked = messages.flatMap((message) =>
        message.role === 'assistant' ? message.calls.map(({ id }) => id) : [],
      )
      const answered = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
      expect(answered).toEqual(asked)
      expect(messages.at(-1)?.role).not.toBe('assistant')
      expect(JSON.stringify(messages).length).toBeLessThan(window * 4)
    }
    expect(model.requests.at(-1)?.messages[0]).toEqual({ role: 'user', content: 'read it all' })
  })

  test('a summary that fails for now is tried again after a pause, and every call is in the books', async () => {
    const clock = manualClock()
    const busy = new ModelFailure('overloaded', 'too busy', 'wait', { retry: 'later' })
    let failures = 1
    const model = scriptedModel(
      (request) => (isSummary(request) ? (failures-- > 0 ? { fail: busy } : { text: ships }) : { text: 'well' }),
      { window },
    )
    under = await newEngine(database, model, { clock })
    await talk(30)
    await under.work()
    const { runId } = await under.say('and now?')
    await under.pass(clock, runId, 1)
    const path = await under.turns(32)
    expect(path.slice(-2).map(({ turn }) => turn.responseMessage.content)).toEqual([ships, 'well'])
    const spent = await under.runtime.store.read((rows) => spendingBy(rows, { runId: runId ?? '' }))
    expect(spent.calls).toBe(model.requests.length)
  })

  test.each([' ', 'ships'])(
    'a summary that cannot stand for what it replaces (“%s”) is made again, then refused',
    async (bad) => {
      const model = small(() => ({ text: 'well' }), bad)
      under = await newEngine(database, model)
      await talk(30)
      await under.work()
      await under.say('and now?')
      const compaction = (await under.turns(32)).at(-2)
      const asked = model.requests.filter(isSummary).map(({ messages }) => messages[0]?.content ?? '')
      expect(asked.length % 2).toBe(0)
      expect(asked[1]).toBe(
        `${asked[0]}\n\nThis is too short to replace all that: "${bad.trim()}". Write the whole summary.`,
      )
      expect(compaction?.turn.responseMessage.content).toContain('user: question 1 aaa')
      expect(compaction?.turn.responseMessage.content).toContain('assistant: answer 2 bbb')
    },
  )

  test('one text that is larger than the window is summed up in parts', async () => {
    const letter =
      'a very long letter, which begins with “dear”, goes on with one vowel for many pages, and ends with “end”'
    const model = small(() => ({ text: 'well' }), letter)
    under = await newEngine(database, model)
    await append(under.engine, {
      folder,
      label: 'main',
      draft: { query: [{ content: `dear ${'ä'.repeat(20_000)} end` }], response: { content: 'thanks' } },
    })
    await under.work()
    await under.say('and now?')
    const [, compaction, last] = await under.turns(3)
    expect(compaction?.turn.responseMessage.content).toBe(letter)
    expect(last?.turn.responseMessage.content).toBe('well')
    expect(model.requests.filter(isSummary).length).toBeGreaterThan(1)
    const states = await under.runtime.store.read((rows) => rows.all(rows.build.selectFrom('usage').select('state')))
    expect(states).toEqual(model.requests.map(() => ({ state: 'spent' })))
    for (const request of model.requests)
      expect(Buffer.byteLength(JSON.stringify(request.messages))).toBeLessThan(window * 4)
  })

  test('what a summary leaves out and nobody may lose is named by the runtime: pointers, files, and who is at work', async () => {
    const model = small(() => ({ text: 'well' }))
    under = await newEngine(database, model, { tools: [testTool('look', 'pure', () => 'seen')] })
    await append(under.engine, {
      folder,
      label: 'main',
      draft: {
        query: [{ content: `begin ${'a'.repeat(3000)}` }],
        toolCalls: [
          { id: 'a', name: 'read_file', input: { path: 'src/cart.ts' }, output: 'x', status: 'ok' },
          {
            id: 'b',
            name: 'spawn_agent',
            input: { task: 'find the port', skill: 'researcher' },
            output: { status: 'accepted', run_id: '1m7jwxd69k45s4abcdef' },
            status: 'ok',
          },
          {
            id: 'c',
            name: 'spawn_agent',
            input: { task: 'find the host', skill: 'researcher' },
            output: { status: 'accepted', run_id: '1m7jwxd69k45s4fedcba' },
            status: 'ok',
          },
        ],
        response: { content: '[agent_result:7] run:fedcba @researcher "find the host" completed: see plan:3' },
      },
    })
    await talk(22)
    await under.work()
    await under.say('and now?')
    const compaction = (await under.turns(25)).at(-2)
    expect(compaction?.turn.responseMessage.content).toBe(
      `${ships}\nPointers: [agent_result:7], plan:3\nFiles: src/cart.ts\nStarted and not heard of yet: run:abcdef (find the port)`,
    )
  })

  test('three summaries in a row that make no room end the run, with a remedy', async () => {
    const read = testTool('fetch', 'pure', () => 'x'.repeat(4000))
    const model = small((_, n) => ({ calls: [{ name: 'fetch', input: { page: n } }] }), 'and so on '.repeat(1200))
    under = await newEngine(database, model, { tools: [read] })
    await under.work()
    await under.say('read it all')
    const [only] = await under.turns(1)
    expect(only?.turn.status).toBe('failed')
    expect(only?.turn.responseMessage.content).toMatch(
      /Failed: the window of \S+ is full, and 3 summaries in a row did not make enough room\. Ask a model with a larger window/,
    )
    expect(model.requests.filter(isSummary).length).toBeLessThan(20)
  })

  test('a person who stops a run while it sums up finds nothing of the summary in the turn', async () => {
    const held = gate()
    const model = scriptedModel(
      (request) => (isSummary(request) ? { pieces: ['they spoke of', held] } : { text: 'well' }),
      { window },
    )
    under = await newEngine(database, model)
    await talk(30)
    await under.work()
    const { runId } = await under.say('and now?')
    await held.reached
    await cancel(under.engine, runId ?? '', 'stopped by Ctrl-C')
    const last = (await under.turns(31)).at(-1)
    expect(last?.turn.responseMessage.content).toBe('Cancelled: stopped by Ctrl-C')
  })

  test('nobody watches a summary come: one notice tells how much it stands for', async () => {
    const deltas: unknown[] = []
    const model = small(() => ({ text: 'the answer' }))
    under = await newEngine(database, model)
    under.engine.live = (delta) => void deltas.push(delta)
    await talk(30)
    await under.work()
    await under.say('and now?')
    await under.turns(32)
    expect(JSON.stringify(deltas)).toContain('the answer')
    expect(JSON.stringify(deltas)).not.toContain('ships')
    const events = await under.runtime.store.read((rows) => rows.all(rows.build.selectFrom('events').selectAll()))
    const [notice] = events.map(({ payload_json }) => JSON.parse(payload_json)).filter(({ compaction }) => compaction)
    expect(notice.compaction.from).toBeGreaterThan(1000)
    expect(notice.compaction.to).toBe(Math.ceil(ships.length / 4))
  })
})
