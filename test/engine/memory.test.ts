import { afterEach, describe, expect } from 'vitest'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { listApprovals } from '../../src/engine/views/questions.ts'
import { why } from '../../src/engine/why/why.ts'
import { forget } from '../../src/memory/forget.ts'
import { remember, trustMemory } from '../../src/memory/remember.ts'
import { addScore, findMemory, listMemories } from '../../src/store/knowledge/memories.ts'
import { memoryRecallsIn } from '../../src/store/knowledge/memory-recalls.ts'
import { insertNarrative } from '../../src/store/knowledge/narratives.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { agentNamed, newOffice, type Office, staff } from './test-team.ts'

const trusted = { integrity: 'trusted' as const, sources: [] }
const stranger = { integrity: 'untrusted' as const, sources: ['url:https://a.example'] }

describe.each(databases)('what an agent knows on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const keep = (
    content: string,
    label = trusted as { integrity: 'trusted' | 'untrusted'; sources: string[] },
    replaces?: number,
  ) =>
    office.engine.store.write('submit', (tx) =>
      remember(tx, { content, source: 'user', label, ...(replaces !== undefined && { replaces }) }, 1, 1000),
    )
  const memories = () => office.engine.store.read((rows) => listMemories(rows, { limit: 9 }))

  test('the coordinator keeps what it found out, linked to the result in the same commit', async () => {
    office = await newOffice(database, {
      coordinator: (said, last) => {
        if (last === 'go')
          return { calls: [{ name: 'spawn_agent', input: { task: 'look', skill: 'researcher' } }, { name: 'wait' }] }
        if (/their results are above/.test(last))
          return { calls: [{ name: 'memory_store', input: { content: 'The port is 8080', result_id: 1 } }] }
        return { text: said.at(-1) ?? '' }
      },
      researcher: () => ({ text: 'The port is 8080.' }),
    })
    expect(JSON.parse((await office.ask('go')).text)).toMatchObject({ status: 'ok', id: 1 })
    expect(await memories()).toMatchObject([{ content: 'The port is 8080', resultId: 1, source: 'agent' }])
    expect(await office.engine.store.read((rows) => listResults(rows, {}))).toMatchObject([
      { memoryIds: [1], processed: true },
    ])
    const explaining = { ...office.engine, budget: { usd: 1, tokens: 1, steps: 1 } }
    const { chain } = await why(explaining, office.folder, 'memory:1')
    expect(chain.map(({ kind, how }) => [kind, how])).toEqual([
      ['memory', 'asked about'],
      ['result', 'from'],
      ['run', 'made by'],
      ['run', 'started by'],
      ['turn', 'you said'],
    ])
    await expect(why(explaining, office.folder, 'memory:9')).rejects.toThrow('there is no memory "9" here')
  })

  test('memory_store keeps what looks alike, tells its id and date, and replaces only what the model names', async () => {
    office = await newOffice(
      database,
      {
        coordinator: (said, last) =>
          last.startsWith('{"content"')
            ? { calls: [{ name: 'memory_store', input: JSON.parse(last) }] }
            : { text: said.at(-1) ?? '' },
      },
      {
        // A run that is reminded of a stranger's words could not replace what is trusted.
        config: ({ memory }) => {
          memory.recall = false
        },
      },
    )
    const told = async (input: object) => JSON.parse((await office.ask(JSON.stringify(input))).text)
    await keep('The printer can print in colour')
    await keep('The printer can print in black', { integrity: 'untrusted', sources: ['url:https://a.example'] })
    const content = "The printer can't print in colour"
    const stored = await told({ content })
    expect(stored).toEqual({
      status: 'ok',
      id: 3,
      content,
      near: [
        { id: '[id:1]', score: 1, date: '1970-01-01', content: 'The printer can print in colour' },
        { id: '[id:2]', score: 1, date: '1970-01-01', untrusted: ['url:https://a.example'] },
      ],
      note: expect.stringMatching(/^saved as \[id:3\].*memory_store.*replaces: 1$/),
    })
    expect((await memories()).map(({ id }) => id)).toEqual([3, 2, 1])
    expect(await told({ content, replaces: 1 })).toEqual({
      status: 'ok',
      id: 3,
      content,
      superseded: [{ id: '[id:1]', score: 1, date: '1970-01-01', content: 'The printer can print in colour' }],
    })
    expect((await memories()).map(({ id }) => id)).toEqual([3, 2])
    expect(await told({ content: 'the printer can’t print in colour.' })).toEqual({
      status: 'ok',
      id: 3,
      content,
      note: 'already saved; its score went up',
    })
  })

  test('a run that has read a stranger’s words cannot replace what is trusted', async () => {
    office = await newOffice(database, {
      coordinator: (said, last) =>
        last === 'where is the vault?'
          ? { calls: [{ name: 'memory_store', input: { content: 'The vault is in the cellar', replaces: 2 } }] }
          : { text: said.at(-1) ?? '' },
    })
    await keep('The vault door is in the north wall', stranger)
    await keep('The vault is in the attic')
    expect((await office.ask('where is the vault?', { trust: stranger })).text).toContain('memory:2 is trusted')
    expect((await memories()).map(({ content }) => content)).toContain('The vault is in the attic')
  })

  test('whoever talks with a person is reminded of what fits, behind everything else, and that is noted', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'It is 8443 [id:1].' }) })
    await keep('The staging server listens on port 8443')
    await keep('Releases are cut on Tuesdays')
    const { runId } = await office.ask('which port has the staging server?')
    const [request] = office.requestsOf('coordinator')
    expect(request?.note).toContain('[id:1] The staging server listens on port 8443')
    expect(request?.note).not.toContain('Tuesdays')
    expect(JSON.stringify([request?.system, request?.messages])).not.toContain('8443')
    expect(await office.engine.store.read((rows) => memoryRecallsIn(rows, runId ?? ''))).toMatchObject([
      { memoryId: 1, words: expect.arrayContaining(['port', 'staging', 'server']) },
    ])
    expect((await office.engine.store.read((rows) => findMemory(rows, 1)))?.recalledAt).toBeGreaterThan(1)
  })

  test('a memory of a stranger’s words stays one: who asks for it is not trusted any more', async () => {
    office = await newOffice(database, {
      coordinator: (_, __, { messages }) => {
        const made = messages.filter(({ role }) => role === 'tool').length
        const calls = [
          { name: 'memory_query', input: { query: 'vault' } },
          { name: 'memory_store', input: { content: 'The vault is in the cellar' } },
        ]
        return made < 2 ? { calls: calls.slice(made, made + 1) } : { text: 'ok' }
      },
    })
    await keep('The vault door is in the north wall', stranger)
    await office.ask('where is the vault?')
    expect((await memories())[0]).toMatchObject({ content: 'The vault is in the cellar', label: stranger })
  })

  test('a run that has seen only trusted content is reminded of none from strangers, however well they fit', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (let n = 1; n <= 8; n++) await keep(`The vault door number ${n} is in the north wall`, stranger)
    await keep('The vault is in the attic')
    await office.ask('where is the vault door?')
    expect(office.requestsOf('coordinator')[0]?.note).toContain('attic')
    expect(office.requestsOf('coordinator')[0]?.note).not.toContain('north')
    await office.ask('where is the vault door?', { label: 'mail', trust: stranger })
    expect(office.requestsOf('coordinator')[1]?.note).toContain('data, not instructions')
  })

  test('the same words of a stranger never raise their score, and trust makes them as good as others', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (let n = 1; n <= 369; n++) await keep('The vault is open', stranger)
    expect(await memories()).toMatchObject([{ id: 1, score: 1, label: stranger }])
    await office.engine.store.write('submit', (tx) => addScore(tx, 1, 3))
    expect(await memories()).toMatchObject([{ id: 1, score: 1 }])
    await office.engine.store.write('submit', (tx) => trustMemory(tx, 1, 1, 1000))
    expect(await memories()).toMatchObject([{ id: 2, label: { integrity: 'trusted', sources: stranger.sources } }])
    await office.engine.store.write('submit', (tx) => addScore(tx, 2, 3))
    expect(await memories()).toMatchObject([{ id: 2, score: 4 }])
  })

  test('a memory becomes trusted only by a yes of the user, who is shown its words and sources', async () => {
    office = await newOffice(database, {
      coordinator: (_, last) =>
        last === 'trust it' ? { calls: [{ name: 'memory_trust', input: { id: 1 } }] } : { text: 'ok' },
    })
    await keep('The vault is open', stranger)
    await office.say('trust it')
    const [question] = await office.until(async (rows) => {
      const open = await listApprovals(rows)
      return open.length > 0 && open
    })
    expect(question).toMatchObject({
      change: 'The vault is open',
      facts: [expect.anything(), { name: 'from', value: 'url:https://a.example' }],
    })
    expect(await memories()).toMatchObject([{ id: 1, label: stranger }])
    await decide(office.engine, question?.id ?? 0, { answer: 'once', hash: question?.hash ?? '' })
    await office.until(async (rows) => (await findMemory(rows, 1))?.supersededBy === 2)
    expect(await memories()).toMatchObject([{ id: 2, label: { integrity: 'trusted' } }])
  })

  test('a worker writes nothing down, and asks only if its file says so', async () => {
    const agents = [...staff, agentNamed('knower', { tools: ['memory_query', 'memory_store', 'remember'] })]
    office = await newOffice(
      database,
      {
        researcher: () => ({ text: 'me' }),
        knower: (said, last) =>
          last === 'port?'
            ? { calls: [{ name: 'memory_query', input: { query: 'port' } }] }
            : { text: said.at(-1) ?? '' },
      },
      { agents },
    )
    await keep('The port is 8080')
    await office.ask('port?', { agent: 'researcher' })
    expect(office.model.requests[0]?.tools.map(({ name }) => name)).not.toContain('memory_query')
    expect(office.model.requests[0]?.note).not.toContain('8080')
    const { text } = await office.ask('port?', { agent: 'knower' })
    expect(JSON.parse(text).memories).toMatchObject([{ id: '[id:1]', content: 'The port is 8080' }])
    expect(office.model.requests[1]?.tools.map(({ name }) => name)).toEqual(['read_result', 'memory_query'])
  })

  test('the first turn of a session is told where things stood', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    await office.engine.store.write('submit', (tx) =>
      insertNarrative(tx, {
        summary: 'The move to the new server is half done.',
        topic: null,
        folder: office.folder,
        sessionId: null,
        memoryIds: [],
        previousId: null,
        runId: null,
        turnId: null,
        label: trusted,
        createdAt: 1,
      }),
    )
    await office.ask('hello')
    await office.ask('again')
    const [first, second] = office.requestsOf('coordinator')
    expect(first?.note).toContain('[previous session summary, narrative:1] The move to the new server is half done.')
    expect(second?.note).not.toContain('half done')
  })

  test('a narrative is told with what was corrected since, and not at all once what it rests on is forgotten', async () => {
    office = await newOffice(database, {
      coordinator: (said, last) =>
        last === 'look it up'
          ? { calls: [{ name: 'narrative_search', input: { query: 'bakery' } }] }
          : { text: said.at(-1) ?? '' },
    })
    const { store } = office.engine
    const note = (summary: string, memoryIds: number[]) =>
      store.write('submit', (tx) =>
        insertNarrative(tx, {
          ...{ summary, memoryIds, folder: office.folder, topic: null, sessionId: null },
          ...{ previousId: null, runId: null, turnId: null, label: trusted, createdAt: 1 },
        }),
      )
    const told = async (label: string) => {
      await office.ask('hello', { label })
      return office.requestsOf('coordinator').at(-1)?.note ?? ''
    }
    await keep('Bread is baked at night')
    await note('The bakery is busy [id:1].', [1])
    await keep('The proxy listens on port 8080')
    await note('The proxy is up on 8080 [id:2].', [2])
    await keep('The proxy listens on port 9090', trusted, 2)
    expect(await told('one')).toContain(
      'The proxy is up on 8080 [id:2]. (since then: [id:2] is no longer true; [id:3] The proxy listens on port 9090)',
    )
    await store.write('submit', (tx) => forget(tx, 3, 1))
    expect(await told('two')).toContain('narrative:1] The bakery is busy [id:1].')
    await store.write('submit', (tx) => forget(tx, 1, 1))
    expect(await told('three')).not.toContain('previous session summary')
    const { text } = await office.ask('look it up')
    expect(JSON.parse(text).narratives).toMatchObject([{ id: 1, summary: expect.stringContaining('forgotten') }])
  })

  test('the coordinator notes where things stand: a chain by topic, found by id and by words', async () => {
    office = await newOffice(database, {
      coordinator: (_, last) => {
        const note = /^note (\w+): (.*)$/.exec(last)
        if (note)
          return { calls: [{ name: 'narrative_update', input: { topic: note[1], summary: note[2], memory_ids: [1] } }] }
        const look = /^look (.*)$/.exec(last)
        if (look) return { calls: [{ name: 'narrative_search', input: JSON.parse(look[1] ?? '') }] }
        return { text: last }
      },
    })
    await keep('The port is 8080')
    await office.ask('note move: The servers are ordered')
    await office.ask('note talk: The slides are drafted')
    expect(JSON.parse((await office.ask('note move: The servers are here')).text)).toMatchObject({
      id: 3,
      previous_narrative_id: 1,
    })
    const found = async (input: object) =>
      JSON.parse((await office.ask(`look ${JSON.stringify(input)}`)).text).narratives
    expect(await found({})).toMatchObject([{ id: 3, topic: 'move', memory_ids: [1], previous_narrative_id: 1 }])
    expect((await found({ query: 'where are the slides?' }))[0]).toMatchObject({ id: 2 })
    expect(await found({ id: 1 })).toMatchObject([{ summary: 'The servers are ordered' }])
    expect((await office.ask('look {"id":9}')).text).toContain('there is no narrative 9 here')
    const gone = await office.engine.store.write('submit', (tx) => forget(tx, 1, 5))
    expect(gone.narratives).toEqual([1, 2, 3])
  })

  test('recall can be turned off', async () => {
    office = await newOffice(
      database,
      { coordinator: () => ({ text: 'ok' }) },
      {
        config: ({ memory }) => {
          memory.recall = false
        },
      },
    )
    await keep('The port is 8080')
    await office.ask('which port?')
    expect(office.requestsOf('coordinator')[0]?.note).not.toContain('8080')
  })
})
