import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest'
import type { RunFilter } from '../../src/api/views/run.ts'
import { gate, scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newGateway, type TestGateway } from './gateway.ts'

const never = new AbortController().signal

describe.each(databases)('what the page asks for on %s', (database) => {
  const test = testOn(database)
  let gateway: TestGateway
  /** Each test has a folder of its own. */
  let folder = ''
  let tests = 0
  beforeEach(() => {
    folder = `/here-${++tests}`
  })
  afterAll(() => gateway.remove())
  beforeAll(async () => {
    gateway = await newGateway(
      [
        scriptedModel(({ messages }) => {
          const last = messages.at(-1)
          if (last?.role === 'user' && String(last.content).includes('break')) return { fails: 'refused' }
          if (last?.role === 'user' && String(last.content).includes('hold')) return { gate: gate() }
          if (last?.role === 'user' && String(last.content).includes('look'))
            return { text: 'I look.', calls: [{ name: 'recall', input: { query: 'x'.repeat(3000) } }] }
          return { text: 'an answer' }
        }),
      ],
      { database },
    )
  })

  const ask = async (content: string, session = 'main') => {
    const { door } = gateway
    const { itemId } = await door.submit(folder, { session, content })
    return door.answer(folder, itemId, never)
  }

  test('a window of a path has whole turns, oldest first, and leads to the earlier ones until the first', async () => {
    const { door } = gateway
    for (const word of ['one', 'two', 'three', 'four', 'five']) await ask(word)
    const newest = await door.turnWindow(folder, { of: 'main', limit: 2 })
    expect(newest.rows.map(({ query }) => query[0]?.content)).toEqual(['four', 'five'])
    expect(newest.rows.at(-1)).toMatchObject({
      response: { content: 'an answer' },
      sessions: ['main'],
      agent: 'general',
    })
    const middle = await door.turnWindow(folder, { of: 'main', limit: 2, after: newest.next ?? '' })
    expect(middle.rows.map(({ query }) => query[0]?.content)).toEqual(['two', 'three'])
    const first = await door.turnWindow(folder, { of: 'main', limit: 2, after: middle.next ?? '' })
    expect(first.rows.map(({ query, depth }) => [query[0]?.content, depth])).toEqual([['one', 1]])
    expect(first.next).toBeUndefined()
    // What was added since does not move what was seen.
    await ask('six')
    expect(await door.turnWindow(folder, { of: 'main', limit: 2, after: newest.next ?? '' })).toEqual(middle)
  })

  test('a session that has not begun has no turns, also while another folder has one of its name', async () => {
    const { door } = gateway
    expect(await door.turnWindow(folder, { session: 'alone' })).toEqual({ rows: [] })
    await ask('one', 'alone')
    expect((await door.turnWindow(folder, { session: 'alone' })).rows).toHaveLength(1)
    expect(await door.turnWindow('/elsewhere', { session: 'alone' })).toEqual({ rows: [] })
  })

  test('runs that failed, and runs of one agent, are found behind any number of others', async () => {
    const { door } = gateway
    const { runId } = await ask('break')
    const { itemId } = await door.submit(folder, { session: 'main', content: 'work', agent: 'writer' })
    const written = await door.answer(folder, itemId, never)
    for (const word of ['one', 'two', 'three']) await ask(word)
    const ids = async (filter: RunFilter) =>
      (await door.runs({ ...filter, all: true, folder, limit: 1 })).rows.map(({ id }) => id)
    expect(await ids({ failed: true })).toEqual([runId])
    expect(await ids({ agent: 'writer' })).toEqual([written.runId])
    expect(await ids({ agent: '@writer', failed: true })).toEqual([])
  })

  test('the tree has the newest turns of all sessions of a folder, with who wrote them and what they cost', async () => {
    const { door } = gateway
    await ask('one')
    await ask('two')
    await door.fork(folder, { turn: 'main', label: 'side' })
    await ask('three', 'side')
    const newest = await door.turnTree({ folder, limit: 2 })
    expect(newest.rows).toMatchObject([
      { preview: 'three', branch: 'side', session: 'side', answer: 'an answer', agent: 'general', depth: 3 },
      { preview: 'two', branch: 'main', session: 'main', hasChildren: true, depth: 2 },
    ])
    const rest = await door.turnTree({ folder, limit: 2, after: newest.next ?? '' })
    expect(rest.rows.map(({ preview }) => preview)).toEqual(['one'])
    expect(rest.next).toBeUndefined()
    expect((await door.turnTree({ folder: '/elsewhere' })).rows).toEqual([])
    expect((await door.turnTree({ kind: 'agent' })).rows).toEqual([])
  })

  test('the tree of one session has its own turns and those of its forks, however many newer ones others have', async () => {
    const { door } = gateway
    await ask('one')
    await ask('two')
    await door.fork(folder, { turn: 'main', label: 'side' })
    await ask('three', 'side')
    await ask('four')
    for (const word of ['five', 'six', 'seven', 'eight']) await ask(word, 'elsewhere')
    const words = async (query: { of: string; limit: number; after?: string }) => {
      const { rows, next } = await door.turnTree({ folder, ...query })
      return { words: rows.map(({ preview }) => preview), next }
    }
    const newest = await words({ of: 'side', limit: 3 })
    expect(newest.words).toEqual(['four', 'three', 'two'])
    expect(await words({ of: 'side', limit: 3, after: newest.next ?? '' })).toEqual({ words: ['one'], next: undefined })
    expect((await words({ of: 'elsewhere', limit: 9 })).words).toEqual(['eight', 'seven', 'six', 'five'])
    await expect(door.turnTree({ of: 'side' })).rejects.toMatchObject({ code: 'bad_request' })
    await expect(words({ of: 'nowhere', limit: 3 })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a run in a list says what was asked and when, and a request lists its runs', async () => {
    const { door } = gateway
    const { runId } = await ask(`what "is" 1 < 2\\?\n${'long '.repeat(1000)}`)
    await ask('another')
    const { rows } = await door.runs({ all: true, root: runId ?? '' })
    expect(rows).toMatchObject([
      { id: runId, createdAt: expect.any(String), finishedAt: expect.any(String), asked: expect.any(String) },
    ])
    expect(rows[0]?.asked).toMatch(/^what "is" 1 < 2\\\? long .*…$/)
    await expect(door.runs({ root: 'x' })).rejects.toMatchObject({ code: 'bad_cursor' })
  })

  test('the steps of a run have their words, and its calls what they cost', async () => {
    const { door } = gateway
    const { runId } = await ask('look it up')
    const { steps, calls } = await door.runSteps(`run:${runId}`)
    expect(steps).toMatchObject([
      { seq: 1, kind: 'reply', text: 'I look.' },
      { kind: 'begun', tool: 'recall', callId: expect.any(String), input: { query: 'x'.repeat(3000) } },
      { kind: 'ended', tool: 'recall', callId: steps[1]?.callId, status: expect.any(String) },
    ])
    expect(calls).toMatchObject([
      { call: 1, inputTokens: expect.any(Number), at: expect.any(String) },
      { call: 2, state: expect.any(String) },
    ])
    const [turn] = (await door.turnWindow(folder, {})).rows
    expect(turn?.toolCalls[0]?.input).toMatch(/^\{"query":"x+…$/)
  })

  test('a run that is stopped without a reason tells its user who stopped it', async () => {
    const { app, door } = gateway
    await app.addUser('mia', { folder: '/tmp', role: 'operator' })
    const mia = app.as(await app.identify((await app.createToken('mia')).token))
    const stops = [
      { of: mia, by: door },
      { of: mia, by: mia },
      { of: door, by: door },
    ]
    const told: (string | undefined)[] = []
    for (const { of, by } of stops) {
      const { itemId } = await of.submit('/tmp', { session: 'main', content: 'hold' })
      const { runId } = await of.answer('/tmp', itemId, AbortSignal.abort())
      await by.cancel(`run:${runId}`)
      told.push((await of.answer('/tmp', itemId, never)).error?.message)
    }
    expect(told).toEqual(['stopped by the owner', 'stopped by you', 'stopped by you'])
  })

  test('spending comes by day and model', async () => {
    const { door, app } = gateway
    await ask('one')
    const days = await door.usageByDay(7)
    expect(days).toEqual([{ ...(await app.usage('model')).total, day: expect.any(String), model: expect.any(String) }])
    for (const wrong of [0, 367, 1.5]) await expect(app.usageByDay(wrong)).rejects.toMatchObject({ code: 'bad_limit' })
  })

  test('another user sees none of it, and an admin not what memory tools were given', async () => {
    const { app } = gateway
    const { runId } = await ask('look it up')
    await app.addUser('eve', { folder: '/tmp', role: 'operator' })
    await app.addUser('ada', { folder: '/tmp', role: 'admin' })
    const [eve, ada] = await Promise.all(
      ['eve', 'ada'].map(async (id) => app.as(await app.identify((await app.createToken(id)).token))),
    )
    await expect(eve?.runSteps(runId ?? '')).rejects.toMatchObject({ code: 'not_found' })
    await expect(eve?.turnWindow(folder, { of: 'main' })).rejects.toMatchObject({ code: 'not_found' })
    expect(await eve?.turnWindow(folder, { session: 'main' })).toEqual({ rows: [] })
    await expect(eve?.turnWindow(folder, { session: 'owner:main' })).rejects.toMatchObject({ code: 'not_found' })
    expect(await eve?.turnTree()).toEqual({ rows: [] })
    await expect(eve?.turnTree({ folder, of: 'main' })).rejects.toMatchObject({ code: 'not_found' })
    expect(await eve?.usageByDay(7)).toEqual([])
    const steps = (await ada?.runSteps(runId ?? ''))?.steps ?? []
    expect(steps.flatMap(({ input, output }) => [input, output]).filter((each) => each !== undefined)).toEqual([
      '(private to the owner)',
      '(private to the owner)',
    ])
    const [turn] = (await ada?.turnWindow(folder, { of: 'owner:main' }))?.rows ?? []
    expect(turn?.toolCalls).toMatchObject([{ input: '(private to the owner)', output: '(private to the owner)' }])
  })
})
