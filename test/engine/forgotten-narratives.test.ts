import { afterEach, describe, expect } from 'vitest'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { resolveSession } from '../../src/engine/turns/route.ts'
import { listApprovals } from '../../src/engine/views/questions.ts'
import { forget } from '../../src/memory/forget.ts'
import { remember, rewrite } from '../../src/memory/remember.ts'
import { archiveMemory } from '../../src/store/knowledge/memories.ts'
import { insertNarrative } from '../../src/store/knowledge/narratives.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, type OfficeOptions, type Play } from './test-team.ts'

const trusted = { integrity: 'trusted' as const, sources: [] }

describe.each(databases)('narratives after something was forgotten, on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const keep = (content: string) =>
    office.engine.store.write('submit', (tx) => remember(tx, { content, source: 'user', label: trusted }, 1, 1000))
  const forgetting = (id: number) => office.engine.store.write('submit', (tx) => forget(tx, id, 5))
  /** An office whose coordinator makes the calls that it is told to make, in this order. */
  const open = async (options: OfficeOptions = {}) => {
    const plays: Record<string, Play> = {
      coordinator: (_, __, { messages }) => {
        const asked = messages.findLastIndex(({ role }) => role === 'user')
        const calls = /^do (.*)$/.exec(messages[asked]?.content ?? '')?.[1]
        const next =
          calls && (JSON.parse(calls) as unknown[])[messages.slice(asked).filter((m) => m.role === 'tool').length]
        return next ? { calls: [next as { name: string; input: unknown }] } : { text: 'done' }
      },
      // Who is asked for a summary has no name.
      '?': () => ({
        text: `The user asked for the vault code, which is 993311, and then went on. ${'So it was. '.repeat(40)}`,
      }),
    }
    office = await newOffice(database, plays, options)
  }
  const make = (label: string, ...calls: { name: string; input: object }[]) =>
    office.ask(`do ${JSON.stringify(calls)}`, { label })
  const note = (summary: string, more: object = {}) => ({ name: 'narrative_update', input: { summary, ...more } })
  const headOf = async (label: string) =>
    (await office.engine.store.read((rows) => resolveSession(rows, label, office.folder))).headTurnId ?? ''
  const toldIn = async (label: string) => {
    await office.ask('hello', { label })
    return office.requestsOf('coordinator').at(-1)?.note ?? ''
  }

  test('one that cites it in its text is told to nobody, without memory_ids as well', async () => {
    await open()
    await keep('The vault code is 993311')
    await make('a', note('The code 993311 is set [id:1] [id:77].'))
    expect(await toldIn('b')).toContain('993311')
    expect((await forgetting(1)).narratives).toEqual([1])
    expect(await toldIn('c')).not.toContain('previous session summary')
    expect((await make('d', note('Still [id:1].'))).text).toBe('done')
    expect(JSON.stringify(office.requestsOf('coordinator').at(-1)?.messages)).toContain('memory 1 was forgotten')
  })

  test('one whose run kept it, before or after, is told to nobody', async () => {
    await open()
    await make('a', note('The code is 993311.'), { name: 'memory_store', input: { content: 'The code is 993311' } })
    expect(await toldIn('b')).toContain('993311')
    expect((await forgetting(1)).narratives).toEqual([1])
    expect(await toldIn('c')).not.toContain('993311')
  })

  test('one whose run was reminded of it is told to nobody', async () => {
    await open()
    await keep('The vault code is 993311')
    // The message has the words of the memory.
    await make('a', note('The vault code is 993311.'))
    expect(await toldIn('b')).toContain('993311')
    expect((await forgetting(1)).narratives).toContain(1)
    expect(await toldIn('c')).not.toContain('previous session summary')
  })

  test('one whose run searched for it is told to nobody, also when it was archived since', async () => {
    await open()
    office.engine.memory.recall = false
    await keep('The vault code is 993311')
    await make('a', { name: 'memory_query', input: { query: 'vault' } }, note('The code is known: 993311.'))
    office.engine.memory.recall = true
    expect(await toldIn('b')).toContain('993311')
    await office.engine.store.write('submit', (tx) => archiveMemory(tx, 1))
    expect((await forgetting(1)).narratives).toEqual([1])
    expect(await toldIn('c')).not.toContain('993311')
  })

  test('one whose run was reminded of it and then waited for an answer is told to nobody, if it was forgotten meanwhile', async () => {
    await open({
      config: ({ tools }) => {
        tools.ask = ['narrative_update']
      },
    })
    await keep('The vault code is 993311')
    const itemId = await office.say(`do ${JSON.stringify([note('The vault code is 993311.')])}`, { label: 'a' })
    const [question] = await office.until(async (rows) => {
      const open = await listApprovals(rows)
      return open.length > 0 && open
    })
    await forgetting(1)
    await decide(office.engine, question?.id ?? 0, { answer: 'once' })
    expect((await office.heard(itemId)).text).toBe('done')
    expect(await toldIn('b')).not.toContain('993311')
  })

  test('those that cite one that is archived already are named when it is forgotten', async () => {
    await open()
    await keep('The vault code is 993311')
    await office.engine.store.write('submit', async (tx) => {
      await archiveMemory(tx, 1)
      for (const memoryIds of [[], [1], [11], [2, 1]])
        await insertNarrative(tx, {
          ...{ summary: 'Still so.', memoryIds, folder: office.folder, topic: null, previousId: null },
          ...{ sessionId: null, runId: null, turnId: null, label: trusted, createdAt: 1 },
        })
    })
    expect((await forgetting(1)).narratives).toEqual([2, 4])
  })

  test('a chain of any length is told to nobody once its first part rests on something forgotten', async () => {
    await open()
    await keep('The vault code is 993311')
    await office.engine.store.write('submit', async (tx) => {
      for (let at = 0; at < 120; at++)
        await insertNarrative(tx, {
          ...{ summary: 'Still 993311.', memoryIds: at === 0 ? [1] : [], folder: office.folder, topic: null },
          ...{ previousId: at === 0 ? null : at, sessionId: null, runId: null, turnId: null },
          ...{ label: trusted, createdAt: at },
        })
    })
    expect(await toldIn('a')).toContain('993311')
    expect((await forgetting(1)).narratives).toHaveLength(120)
    expect(await toldIn('b')).not.toContain('993311')
  })

  test('one of another topic is told to nobody, if its run began with what rests on something forgotten', async () => {
    await open()
    await keep('The vault code is 993311')
    await make('a', note('The code is 993311 [id:1].', { topic: 'vault' }))
    office.engine.memory.recall = true
    await make('b', note('All is set, 993311.', { topic: 'other' }))
    expect(await toldIn('c')).toContain('993311')
    expect((await forgetting(1)).narratives).toEqual([1, 2])
    expect(await toldIn('d')).not.toContain('993311')
  })

  test('one whose session had it in an earlier turn is told to nobody, nor one of a fork of that session', async () => {
    await open()
    await keep('The vault code is 993311')
    await make('a', { name: 'memory_query', input: { query: 'vault' } })
    office.engine.memory.recall = false
    await make('a', note('The code is 993311.', { topic: 'first' }))
    await fork(office.engine, { folder: office.folder, turnId: await headOf('a'), label: 'copy' })
    await make('copy', note('In the copy it is 993311.', { topic: 'second' }))
    office.engine.memory.recall = true
    expect(await toldIn('b')).toContain('993311')
    expect((await forgetting(1)).narratives).toEqual([1, 2])
    expect(await toldIn('c')).not.toContain('previous session summary')
  })

  test('one behind several compactions of a session that had it is told to nobody', async () => {
    await open()
    await keep('The vault code is 993311')
    await make('a', { name: 'memory_query', input: { query: 'vault' } })
    office.engine.memory.recall = false
    for (let at = 0; at < 3; at++) {
      await office.ask('what else?', { label: 'a' })
      await office.ask('and then?', { label: 'a', compact: true })
    }
    expect(office.requestsOf('?')).toHaveLength(3)
    await make('a', note('The code is 993311.'))
    office.engine.memory.recall = true
    expect(await toldIn('b')).toContain('993311')
    expect((await forgetting(1)).narratives).toEqual([1])
    expect(await toldIn('c')).not.toContain('993311')
  })

  test('one whose run was told of it as of something similar is told to nobody', async () => {
    await open()
    office.engine.memory.recall = false
    await keep('The vault code is 993311')
    await make('a', { name: 'memory_store', input: { content: 'The vault code is set' } }, note('The code is 993311.'))
    office.engine.memory.recall = true
    expect(await toldIn('b')).toContain('993311')
    expect((await forgetting(1)).narratives).toEqual([1])
    expect(await toldIn('c')).not.toContain('993311')
  })

  test('one whose run said it again, which is kept once, is told to nobody', async () => {
    await open()
    office.engine.memory.recall = false
    await keep('The vault code is 993311')
    await make(
      'a',
      { name: 'memory_store', input: { content: 'the vault code is 993311' } },
      note('The code is 993311.'),
    )
    office.engine.memory.recall = true
    expect(await toldIn('b')).toContain('993311')
    expect((await forgetting(1)).narratives).toEqual([1])
    expect(await toldIn('c')).not.toContain('993311')
  })

  test('one whose run found such a narrative by a search is told to nobody', async () => {
    await open()
    await keep('The vault code is 993311')
    await make('a', note('The code is 993311 [id:1].', { topic: 'vault' }))
    office.engine.memory.recall = false
    await make('b', { name: 'narrative_search', input: {} }, note('It is 993311.', { topic: 'other' }))
    office.engine.memory.recall = true
    expect(await toldIn('c')).toContain('It is 993311')
    expect((await forgetting(1)).narratives).toEqual([1, 2])
    expect(await toldIn('d')).not.toContain('993311')
  })

  test.each(['[id:7, id:1]', '[id:7,1]', '[ID: 1]', 'memory:1', '(id:1)', '［id:1］'])(
    'one that cites it as %s is told to nobody',
    async (citation) => {
      await open()
      office.engine.memory.recall = false
      await keep('The vault code is 993311')
      await make('a', note(`The code is 993311 ${citation}.`))
      office.engine.memory.recall = true
      expect(await toldIn('b')).toContain('993311')
      expect((await forgetting(1)).narratives).toEqual([1])
      expect(await toldIn('c')).not.toContain('993311')
    },
  )

  test('one that may tell what replaced a memory is named and told to nobody, also if that was replaced again', async () => {
    await open()
    const change = (id: number, content: string) =>
      office.engine.store.write('submit', (tx) =>
        rewrite(tx, id, { content }, { source: 'user', label: trusted }, 2, 1000),
      )
    await keep('The vault code is 993311')
    await make('a', note('The code is 993311 [id:1].', { topic: 'vault' }))
    await change(1, 'The vault code is 884422')
    office.engine.memory.recall = false
    await make('b', { name: 'narrative_search', input: {} }, note('It is 884422.', { topic: 'other' }))
    office.engine.memory.recall = true
    await change(2, 'The vault code is 775533')
    expect(await toldIn('c')).toContain('884422')
    expect(await forgetting(2)).toMatchObject({ narratives: [1, 2], kept: [1] })
    expect(await toldIn('d')).not.toContain('884422')
  })

  test('ones that may repeat it hide no other one from narrative_search', async () => {
    await open()
    await keep('The vault code is 993311')
    const told = { folder: office.folder, topic: null, sessionId: null, runId: null, turnId: null, label: trusted }
    await office.engine.store.write('submit', async (tx) => {
      await insertNarrative(tx, {
        ...told,
        summary: 'The vault is painted.',
        memoryIds: [],
        previousId: null,
        createdAt: 1,
      })
      for (let at = 2; at < 9; at++)
        await insertNarrative(tx, {
          ...told,
          summary: 'The vault code is 993311.',
          memoryIds: [1],
          previousId: null,
          createdAt: at,
        })
    })
    await forgetting(1)
    const found = async (input: object) => {
      await make(`s${JSON.stringify(input).length}`, { name: 'narrative_search', input })
      return JSON.parse(office.requestsOf('coordinator').at(-1)?.messages.at(-1)?.content ?? '').narratives
    }
    expect((await found({ query: 'vault code 993311' }))[0]).toMatchObject({ id: 1, summary: 'The vault is painted.' })
    expect(await found({})).toMatchObject([{ id: 1 }])
    expect(await found({ id: 3 })).toMatchObject([{ id: 3, summary: expect.stringContaining('no longer shown') }])
  })

  test('one that rests on something else is told as before', async () => {
    await open()
    await keep('The vault code is 993311')
    await keep('Bread is baked at night')
    await make('a', note('The bakery is busy [id:2].'))
    expect((await forgetting(1)).narratives).toEqual([])
    expect(await toldIn('b')).toContain('The bakery is busy')
  })
})
