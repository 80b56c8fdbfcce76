import { afterEach, describe, expect, test } from 'vitest'
import type { ModelMessage, ModelRequest } from '../../src/domain/model.ts'
import { withoutCalls, withUniqueCallIds } from '../../src/engine/model/model-messages.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { append } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { gate } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine, testTool } from './engine.ts'
import { brief, newOffice, type Office, type Play, planCall, planner, planningCoordinator } from './test-team.ts'

const bare = ({ messages }: ModelRequest) => messages

describe.each(databases)('what earlier turns did, on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** Looks when it is asked to look, and answers else. */
  const looking = () =>
    scriptedModel((request) => {
      const last = request.messages.at(-1)
      return last?.role === 'user' && last.content.startsWith('look')
        ? { text: 'I look.', calls: [{ name: 'look', input: { at: last.content } }], metadata: { kept: true } }
        : { text: `after: ${last?.content.slice(0, 20)}` }
    })

  test('is shown to later turns: calls and answers, paired, in order, and byte for byte as their own run was shown them', async () => {
    const look = testTool('look', 'pure', (input) => `seen ${(input as { at: string }).at}`)
    const model = looking()
    under = await newEngine(database, model, { tools: [look] })
    await under.work()
    for (const [at, content] of ['look here', 'and?', 'look there', 'well'].entries()) {
      await under.say(content)
      await under.turns(at + 1)
    }
    const requests = model.requests.map(bare)
    expect(requests).toHaveLength(6)
    for (const [at, messages] of requests.entries())
      expect(messages.slice(0, requests[at - 1]?.length ?? 0)).toEqual(requests[at - 1] ?? [])
    expect(requests.at(-1)).toMatchObject([
      { role: 'user', content: 'look here' },
      { role: 'assistant', content: 'I look.', calls: [{ name: 'look' }], metadata: { kept: true } },
      { role: 'tool', name: 'look', content: 'seen look here' },
      { role: 'assistant', content: 'after: seen look here', calls: [] },
      { role: 'user', content: 'and?' },
      { role: 'assistant', content: 'after: and?' },
      { role: 'user', content: 'look there' },
      { role: 'assistant', calls: [{ name: 'look' }] },
      { role: 'tool', content: 'seen look there' },
      { role: 'assistant' },
      { role: 'user', content: 'well' },
    ])
    // A process that has not seen the talk before reads the same.
    await under.work({ model })
    expect(model.requests.at(-1)?.stablePrefix).toBe(11)
  })

  test('what was said while a run was under way stands in its place, then and later', async () => {
    const held = gate()
    const look = testTool('look', 'pure', async (_, signal) => {
      await held.pass(signal)
      return 'seen'
    })
    const model = looking()
    under = await newEngine(database, model, { tools: [look] })
    await under.work()
    await under.say('look')
    await held.reached
    await under.say('quick, please', { kind: 'steer' })
    held.open()
    await under.turns(1)
    await under.say('well')
    await under.turns(2)
    const [, second, third] = model.requests.map(bare)
    expect(second?.map(({ content }) => content)).toEqual(['look', 'I look.', 'seen', 'quick, please'])
    expect(third?.slice(0, 4)).toEqual(second)
  })

  test('calls that a model numbers alike in each turn have ids of their own', async () => {
    const look = testTool('look', 'pure', () => 'seen')
    const model = scriptedModel((request) =>
      request.messages.at(-1)?.role === 'user'
        ? { calls: [{ id: 'c1', name: 'look', input: {} }] }
        : { text: 'looked' },
    )
    under = await newEngine(database, model, { tools: [look] })
    await under.work()
    for (const count of [1, 2, 3]) {
      await under.say('look')
      await under.turns(count)
    }
    const last = model.requests.at(-1)?.messages ?? []
    const asked = last.flatMap((message) => (message.role === 'assistant' ? message.calls.map(({ id }) => id) : []))
    const answered = last.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
    expect(asked).toEqual(['c1', 'c1-2', 'c1-3'])
    expect(answered).toEqual(asked)
  })

  test('a call that nobody had allowed when its run was stopped is told as not made', async () => {
    const look = testTool('look', 'unsafe', () => 'seen')
    const model = looking()
    under = await newEngine(database, model, { tools: [look], ask: ['look'] })
    await under.work()
    const { runId } = await under.say('look')
    await under.until(async (rows) =>
      rows.first(rows.build.selectFrom('approvals').select('call_id').where('answer', 'is', null)),
    )
    await cancel(under.engine, runId ?? '', 'enough')
    await under.turns(1)
    await under.say('well')
    await under.turns(2)
    expect(look.calls).toEqual([])
    expect(model.requests.at(-1)?.messages).toMatchObject([
      { content: 'look' },
      { calls: [{ name: 'look' }] },
      { role: 'tool', content: expect.stringContaining('not run: the run ended before it was approved') },
      { content: expect.stringContaining('Cancelled: enough') },
      { content: 'well' },
    ])
  })

  test('calls of a turn that was written by hand are shown, too', async () => {
    const model = scriptedModel(() => ({ text: 'well' }))
    under = await newEngine(database, model, { tools: [testTool('look', 'pure', () => 'seen')] })
    await append(under.engine, {
      folder,
      label: 'main',
      draft: {
        query: [{ content: 'look' }],
        toolCalls: [{ id: 'a', name: 'look', input: { at: 1 }, output: { found: 2 }, status: 'ok' }],
        response: { content: 'two' },
      },
    })
    await under.work()
    await under.say('and?')
    await under.turns(2)
    expect(model.requests[0]?.messages).toEqual([
      { role: 'user', content: 'look' },
      { role: 'assistant', content: '', calls: [{ id: 'a', name: 'look', input: { at: 1 } }] },
      { role: 'tool', callId: 'a', name: 'look', content: '{"found":2}' },
      { role: 'assistant', content: 'two', calls: [] },
      { role: 'user', content: 'and?' },
    ])
  })

  test('after a compaction the answers in the turns that it kept are shortened, each with the way to the rest', async () => {
    const look = testTool('look', 'pure', () => 'x'.repeat(6000))
    const model = scriptedModel(
      (request) => {
        if (request.system.startsWith('This conversation is too long'))
          return { text: 'they looked around. '.repeat(40) }
        const last = request.messages.at(-1)
        return last?.content.startsWith('look') ? { calls: [{ name: 'look', input: {} }] } : { text: 'looked' }
      },
      { window: 24_000 },
    )
    under = await newEngine(database, model, { tools: [look], limits: { perRequest: { usd: 5, tokens: 1_000_000 } } })
    await under.work()
    const isSummed = () => model.requests.some(({ system }) => system.startsWith('This conversation is too long'))
    for (let count = 1; !isSummed(); count++) {
      const { runId } = await under.say('look')
      await under.until(async (rows) => (await findRun(rows, runId ?? ''))?.state === 'completed')
      expect(count).toBeLessThan(20)
    }
    const [summary, ...rest] = model.requests.at(-1)?.messages ?? []
    expect(summary?.content).toMatch(/^\[summary of what came before\]/)
    const answers = rest.filter(({ role }) => role === 'tool').map(({ content }) => content)
    expect(answers.at(-1)).toBe('x'.repeat(6000))
    expect(answers.length).toBeGreaterThan(2)
    for (const answer of answers.slice(0, -1))
      expect(answer).toMatch(
        /^x{2000}\n… \[cut: 4000 more characters; continue with read_result call=\w+\/\d+ offset=2000\]$/,
      )
  })
})

describe.each(databases)('reading on, on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  test('every agent has read_result, and follows the pointer of a cut answer with it, in later turns too', async () => {
    const long = testToolResult()
    const general: Play = (_, last, { messages }) => {
      if (last === 'go') return { calls: [{ name: 'long', input: {} }] }
      const [, call] =
        /read_result call=(\S+) offset=50000/.exec(messages.map(({ content }) => content).join('\n')) ?? []
      const [, stolen] = /^steal (\S+)$/.exec(last) ?? []
      if (stolen) return { calls: [{ name: 'read_result', input: { call: stolen } }] }
      if (last === 'more') return { calls: [{ name: 'read_result', input: { call, offset: 50_000 } }] }
      return { text: last.slice(0, 80) }
    }
    office = await newOffice(
      database,
      { '?': general },
      { config: (config) => (config.agent.default = '@general'), tools: [long] },
    )
    await office.ask('go')
    expect((await office.ask('more')).text).toBe('THE END')
    expect(office.model.requests[0]?.tools.map(({ name }) => name)).toContain('read_result')
    // Whoever talks elsewhere is refused, even with the right words.
    const [, call] = /read_result call=(\S+) offset=50000/.exec(JSON.stringify(office.model.requests.at(-1))) ?? []
    expect((await office.ask(`steal ${call}`, { label: 'other' })).text).toContain('there is no call')
  })

  test('a fork uses the results and plans that its ancestors had before it, and no later ones', async () => {
    const coordinator: Play = (_, last) => {
      if (last.startsWith('find'))
        return {
          text: 'On it.',
          calls: [{ name: 'spawn_agent', input: { task: last, skill: 'researcher' } }, { name: 'wait' }],
        }
      const [, name, id] = /^(\w+) (\d+)$/.exec(last) ?? []
      if (name === 'use')
        return {
          text: 'Used.',
          calls: [
            { name: 'spawn_agent', input: { task: `read [agent_result:${id}]`, skill: 'writer' } },
            { name: 'wait' },
          ],
        }
      if (name === 'read') return { calls: [{ name: 'read_result', input: { id: Number(id) } }] }
      return { text: last }
    }
    office = await newOffice(database, {
      coordinator,
      researcher: (_, last) => ({ text: `Found: ${last}` }),
      writer: (_, last) => ({ text: `Read: ${last}` }),
    })
    const { turnId } = await office.ask('find the port')
    await office.ask('find the host')
    await forkAt(turnId, 'other')
    expect((await office.ask('read 1', { label: 'other' })).text).toBe('Found: find the port')
    expect((await office.ask('read 2', { label: 'other' })).text).toContain('there is no result 2 here')
    await office.ask('use 1', { label: 'other' })
    expect(office.requestsOf('writer').at(-1)?.messages[0]?.content).toContain('Found: find the port')
    expect((await office.ask('read 3')).text).toContain('there is no result 3 here')
  })

  test('a fork sees the plan of its ancestors, and starts it as its own', async () => {
    const coordinator: Play = (said, last, request) => {
      const [, name, id] = /^(\w+) (\d+)$/.exec(last) ?? []
      if (name === 'status') return { calls: [{ name: 'project_status', input: {} }] }
      if (name === 'start')
        return {
          text: 'It runs.',
          calls: [{ name: 'run_project', input: { project_id: Number(id) } }, { name: 'wait' }],
        }
      if (last === 'plan it')
        return {
          text: 'Planned.',
          calls: [{ name: 'spawn_agent', input: { task: 'plan it', skill: 'project-planner' } }, { name: 'wait' }],
        }
      return { text: request.messages.length > said.length ? '' : last }
    }
    office = await newOffice(database, {
      coordinator,
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ text: 'Done.' }),
    })
    const { turnId } = await office.ask('plan it')
    await forkAt(turnId, 'other')
    expect((await office.ask('status 1', { label: 'other' })).text).toContain('"project_id":1')
    expect((await office.ask('start 1', { label: 'other' })).text).toContain('plan:1 "The plan" completed')
    // Its end is told where it was started, and nowhere else.
    expect((await office.ask('status 1')).text).toContain('"status":"completed"')
  })

  async function forkAt(turnId: string | null, label: string) {
    await fork(office.engine, { folder: office.folder, turnId: turnId ?? '', label })
  }

  test('a pointer in a planned brief becomes the result; one to nothing is an error of the plan', async () => {
    const context = (id: number) => `${brief('write it')}\nUse [agent_result:${id}].`
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (last === 'go')
          return {
            text: 'On it.',
            calls: [{ name: 'spawn_agent', input: { task: 'look', skill: 'researcher' } }, { name: 'wait' }],
          }
        if (said.join('\n').includes('@researcher') && !said.join('\n').includes('project-planner'))
          return {
            text: 'Now a plan.',
            calls: [{ name: 'spawn_agent', input: { task: 'plan it', skill: 'project-planner' } }, { name: 'wait' }],
          }
        return planningCoordinator()(said, last, request)
      },
      researcher: () => ({ text: 'THE-FACT in the end' }),
      'project-planner': (said) => {
        if (said.length === 1) return { calls: [planCall([{ key: 'a', skill: 'writer', context: context(999) }])] }
        if (said.length === 3) return { calls: [planCall([{ key: 'a', skill: 'writer', context: context(1) }])] }
        return { text: 'Here is the plan.' }
      },
      writer: () => ({ text: 'Written.' }),
    })
    await office.ask('go')
    const [, second] = office.requestsOf('project-planner')
    expect(second?.messages.at(-1)?.content).toContain('task \\"a\\": there is no result 999 here')
    const given = office.requestsOf('writer')[0]?.messages[0]?.content
    expect(given).toContain(
      'Use [agent_result:1] @researcher completed:\nTHE-FACT in the end\n[end of agent_result:1].',
    )
  })
})

function testToolResult() {
  return testTool('long', 'pure', () => `${'x'.repeat(50_000)}THE END`)
}

test('a model without tools is told of calls in words', () => {
  const messages: ModelMessage[] = [
    { role: 'user', content: 'look' },
    { role: 'assistant', content: 'I look.', calls: [{ id: 'a', name: 'look', input: { at: 1 } }] },
    { role: 'tool', callId: 'a', name: 'look', content: 'seen' },
  ]
  expect(withoutCalls(messages)).toEqual([
    { role: 'user', content: 'look' },
    { role: 'assistant', content: 'I look.\n(called look with {"at":1})', calls: [] },
    { role: 'user', content: '[look answered]\nseen' },
  ])
  expect(withUniqueCallIds(messages)).toEqual(messages)
})
