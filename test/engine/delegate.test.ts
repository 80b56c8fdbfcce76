import { afterEach, describe, expect } from 'vitest'
import { listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { agentNamed, newOffice, type Office, type Play, staff } from './test-team.ts'

const canary = 'CANARY-5d1f'
const spawn = (input: object) => ({ name: 'spawn_agent', input })
const wait = { name: 'wait' }

/** Spawns once, waits, and repeats what it is told. */
const handsOn =
  (...inputs: object[]): Play =>
  (_, last) =>
    last === 'go' ? { text: 'On it.', calls: [...inputs.map(spawn), wait] } : { text: `Told: ${last}` }

describe.each(databases)('delegating on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  test('a small request stays small: one agent, no planner, four requests', async () => {
    office = await newOffice(database, {
      coordinator: handsOn({ task: 'how many lines has a.txt?', skill: 'researcher' }),
      researcher: (said) =>
        said.length === 1 ? { calls: [{ name: 'read_file', input: { path: 'a.txt' } }] } : { text: 'It has 2 lines.' },
    })
    office.put('a.txt', 'one\ntwo\n')
    const { ok, text, turns } = await office.ask('go')
    expect({ ok, text }).toEqual({
      ok: true,
      text: 'Told: all started agents have ended; their results are above',
    })
    expect(turns).toHaveLength(2)
    expect(office.model.requests).toHaveLength(4)
    const [, , , last] = office.model.requests
    expect(last?.messages.at(-2)?.content).toMatch(
      /^\[agent_result:1\] run:\w{6} @researcher "how many lines has a.txt\?" completed: It has 2 lines\.$/,
    )
  })

  test('what the coordinator has not does not exist for it, and it is told so', async () => {
    office = await newOffice(database, {
      coordinator: (said) =>
        said.length === 1 ? { calls: [{ name: 'read_file', input: { path: 'a' } }] } : { text: said.at(-1) ?? '' },
    })
    const { text } = await office.ask('go')
    expect(text).toContain('no tool named \\"read_file\\"')
    expect(office.model.requests[0]?.tools.map(({ name }) => name).sort()).toEqual([
      ...['cron', 'delegate', 'list_agents', 'memory_demote', 'memory_query', 'memory_reinforce', 'memory_store'],
      'memory_trust',
      'memory_update',
      ...['narrative_search', 'narrative_update', 'project_status', 'read_result', 'run_project'],
      ...['spawn_agent', 'task_list', 'task_update', 'wait'],
    ])
  })

  test('a worker has its rules, its own instructions, its task and the tools of its file, and nothing else', async () => {
    office = await newOffice(database, {
      coordinator: handsOn({ task: 'do it', skill: 'coder', context: 'the details' }),
      coder: () => ({ text: 'Done.' }),
    })
    await office.ask('go')
    const [request] = office.requestsOf('coder')
    expect(request?.system).toContain('BODY-OF-coder')
    expect(request?.system).toContain('only your last message is delivered')
    expect(request?.system).not.toMatch(/BODY-OF-(?!coder)|coordinator|## Agents/)
    expect(request?.messages).toEqual([{ role: 'user', content: 'do it\n\n## Brief\nthe details' }])
    // Its file also lists spawn_agent and memory_store: nobody who works for others has those.
    expect(request?.tools.map(({ name }) => name)).toEqual(['read_file', 'read_result'])
  })

  test('pointers are put in place by the runtime, several of them anywhere', async () => {
    let round = 0
    office = await newOffice(database, {
      coordinator: (_, last) => {
        if (last === 'go')
          return { calls: [spawn({ task: 'a', skill: 'researcher' }), spawn({ task: 'b', skill: 'researcher' }), wait] }
        round++
        if (round === 1)
          return {
            calls: [
              spawn({
                task: 'join [agent_result:1]',
                skill: 'writer',
                context: 'and [agent_result:2], then [agent_result:1]',
              }),
              wait,
            ],
          }
        return { text: 'done' }
      },
      researcher: (said) => ({ text: `Found ${said[0]}.\n\n${canary} ${'x'.repeat(1000)}` }),
      writer: () => ({ text: 'written' }),
    })
    await office.ask('go')
    const content = office.requestsOf('writer')[0]?.messages[0]?.content ?? ''
    for (const id of [1, 2]) {
      expect(content).toContain(`[agent_result:${id}] @researcher completed:\nFound `)
      expect(content).toContain(`[end of agent_result:${id}]`)
    }
    expect(content.split(canary)).toHaveLength(4)
  })

  test('no instruction, brief or output ever enters the coordinator’s context', async () => {
    let round = 0
    office = await newOffice(
      database,
      {
        coordinator: (_, last) => {
          if (last === 'go') return { calls: [spawn({ task: 'look', skill: 'researcher' }), wait] }
          round++
          if (round === 1)
            return { calls: [spawn({ task: 'write', skill: 'writer', context: '[agent_result:1]' }), wait] }
          return { calls: round === 2 ? [{ name: 'list_agents' }, { name: 'task_list' }] : [], text: 'done' }
        },
        researcher: () => ({ text: `A summary.\n\n${canary}-output` }),
        writer: () => ({ text: `Written.\n\n${canary}-output` }),
      },
      { agents: staff.map((agent) => ({ ...agent, body: `${canary}-body` })) },
    )
    await office.ask('go')
    const everything = JSON.stringify(office.requestsOf('coordinator'))
    expect(office.requestsOf('coordinator').length).toBeGreaterThan(3)
    expect(everything).toContain('A summary.')
    expect(everything).not.toContain(canary)
  })

  test.each([
    [{ task: 'x', skill: 'nobody' }, /there is no agent .*nobody.*; *|there is no agent/],
    [{ task: 'x', skill: 'researcher', context: '[agent_result:77]' }, /there is no result 77/],
    [{ task: 'x', skill: 'researcher', model: 'none' }, /there is no model/],
    [{ task: 'x', skill: 'researcher', tools: ['exec'] }, /invalid input for spawn_agent/],
    [{ task_id: 5 }, /there is no task 5/],
    [{}, /invalid input for spawn_agent/],
  ])('a spawn that cannot be is refused with what to do: %j', async (input, expected) => {
    office = await newOffice(database, {
      coordinator: (said) => (said.length === 1 ? { calls: [spawn(input)] } : { text: said.at(-1) ?? '' }),
    })
    const { text } = await office.ask('go')
    expect(text).toMatch(expected)
    expect(await office.engine.store.read((rows) => runsOf(rows, {}))).toHaveLength(1)
  })

  test('a result of another conversation cannot be pointed to', async () => {
    office = await newOffice(database, {
      coordinator: (said, last) => {
        if (last === 'go') return { calls: [spawn({ task: 'look', skill: 'researcher' }), wait] }
        if (last === 'steal')
          return {
            calls: [spawn({ task: '[agent_result:1]', skill: 'writer' }), { name: 'read_result', input: { id: 1 } }],
          }
        return { text: said.slice(-2).join('|') }
      },
      researcher: () => ({ text: 'private' }),
    })
    await office.ask('go')
    const { text } = await office.ask('steal', { label: 'other' })
    expect(text).toContain('there is no result 1 here: a result is there when')
    expect(text).toContain('there is no result 1 here')
    expect(text).not.toContain('private')
  })

  test('a long result is cut in a brief, with the way to read on, and read_result does', async () => {
    let pages: string[] = []
    let round = 0
    office = await newOffice(
      database,
      {
        coordinator: (_, last) => {
          if (last === 'go') return { calls: [spawn({ task: 'look', skill: 'researcher' }), wait] }
          round++
          return round === 1
            ? { calls: [spawn({ task: '[agent_result:1]', skill: 'reader' }), wait] }
            : { text: 'done' }
        },
        researcher: () => ({ text: `${'y'.repeat(40_000)}END` }),
        reader: (said) => {
          pages = said
          if (said.length === 1) return { calls: [{ name: 'read_result', input: { id: 1, offset: 40_000 } }] }
          return { text: 'read' }
        },
      },
      { agents: [...staff, agentNamed('reader', { tools: ['read_result'] })] },
    )
    await office.ask('go')
    expect(pages[0]).toContain('… [cut: 3 more characters; continue with read_result id=1 offset=40000]')
    expect(pages.at(-1)).toBe('END')
  })

  test('a file that is claimed and not there is said in the result', async () => {
    office = await newOffice(database, {
      coordinator: handsOn({ task: 'write', skill: 'writer' }),
      writer: () => ({ text: 'I wrote both.\n\nFiles:\n- there.md\n- `gone.md`' }),
    })
    office.put('there.md', 'x')
    await office.ask('go')
    const [result] = await office.engine.store.read((rows) => listResults(rows, {}))
    expect(result?.summary).toBe('[heddle: a claimed file does not exist: gone.md] I wrote both.')
    expect(result?.skillUsed).toBe('writer')
  })

  test('an agent whose file is gone when its turn comes fails with what to do', async () => {
    const agents = [...staff]
    office = await newOffice(
      database,
      { coordinator: handsOn({ task: 'x', skill: 'fleeting' }) },
      { agents: [...agents, agentNamed('fleeting', { status: 'ready' })] },
    )
    office.engine.agents.find = () => undefined
    await office.ask('go')
    const [result] = await office.engine.store.read((rows) => listResults(rows, {}))
    expect(result).toMatchObject({
      status: 'failed',
      summary: expect.stringContaining('there is no agent "fleeting"'),
    })
  })

  test('a message for one agent goes straight to it, with its own tools', async () => {
    office = await newOffice(database, { researcher: () => ({ text: 'me' }) })
    expect(await office.ask('hello', { agent: 'researcher' })).toMatchObject({ ok: true, text: 'me' })
    expect(office.model.requests).toHaveLength(1)
    expect(office.model.requests[0]?.tools.map(({ name }) => name)).not.toContain('spawn_agent')
  })

  test('waiting for nothing is refused, and waiting for some wakes when those are done', async () => {
    let first = ''
    office = await newOffice(database, {
      coordinator: (said, last) => {
        if (last === 'nothing') return { calls: [wait] }
        if (last === 'go')
          return { calls: [spawn({ task: 'a', skill: 'researcher' }), spawn({ task: 'b', skill: 'researcher' })] }
        if (last.includes('"accepted"')) {
          first = JSON.parse(said.at(-2) ?? '').run_id
          return { text: 'Waiting for one.', calls: [{ name: 'wait', input: { run_ids: [`run:${first.slice(-6)}`] } }] }
        }
        return { text: last }
      },
      researcher: () => ({ text: 'ok' }),
    })
    expect((await office.ask('nothing')).text).toContain('nothing is running')
    const { turns } = await office.ask('go')
    expect(turns.length).toBeGreaterThanOrEqual(2)
    expect(await office.engine.store.read((rows) => listResults(rows, { unprocessed: true }))).toEqual([])
  })
})
