import { afterEach, beforeEach, describe, expect } from 'vitest'
import type { TurnView } from '../../src/api/views/turn.ts'
import type { TurnDraft } from '../../src/domain/draft.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { append } from '../../src/engine/turns/append.ts'
import { contextPath, diffPaths } from '../../src/engine/turns/history.ts'
import { routeToThread } from '../../src/engine/turns/route.ts'
import { show } from '../../src/engine/views/show.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { nobody } from './engine.ts'

const folder = '/here'

describe.each(databases)('turns on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  const plain = (text: string): TurnDraft => ({ query: [{ content: text }], response: { content: `${text}!` } })
  const add = (draft: TurnDraft, label = 'main', parentTurnId?: string) =>
    append(runtime, { folder, label, draft, ...(parentTurnId && { parentTurnId }) })
  const around = { now: 0, agents: nobody, protect: nothingProtected, limits: { usd: 5, tokens: 1000, steps: 20 } }
  const shown = (ref: string) => runtime.store.read((rows) => show(rows, ref, folder, around)) as Promise<TurnView>

  test('several inputs make one turn whose id is its answer’s', async () => {
    const { turnId } = await add({
      query: [{ content: 'one' }, { content: 'two', source: 'trigger' }],
      response: { content: 'both' },
    })
    const turn = await shown(turnId)
    expect(turn.query.map(({ role, source, content }) => [role, source, content])).toEqual([
      ['user', 'human', 'one'],
      ['user', 'trigger', 'two'],
    ])
    expect(turn.response).toMatchObject({ id: turnId, role: 'assistant', content: 'both' })
  })

  test('a tool call’s payload is kept once, in the journal, and shown with the turn', async () => {
    const call = { id: 'c1', name: 'read_file', input: { path: 'a.md' }, output: 'text', status: 'ok' as const }
    const { turnId } = await add({ ...plain('read it'), toolCalls: [call] })
    const turn = await shown(turnId)
    expect(turn.toolCalls).toEqual([call])
    const run = await runtime.store.read((rows) => show(rows, `run:${turn.runId}`, folder, around))
    expect(run).toMatchObject({
      kind: 'run',
      runKind: 'import',
      state: 'completed',
      session: 'main',
      steps: [
        { seq: 1, kind: 'begun', name: 'read_file' },
        { seq: 2, kind: 'ended', status: 'ok' },
      ],
    })
    const [row] = await runtime.store.read((rows) => rows.all(rows.build.selectFrom('turns').select('tool_calls_json')))
    expect(row?.tool_calls_json).not.toContain('a.md')
  })

  test('the thread of a turn tells its ancestry, tokens, key and prompt', async () => {
    const first = await add({ ...plain('first'), systemPrompt: 'You are brief.' })
    const second = await add({
      ...plain('second'),
      usage: { inputTokens: 7, outputTokens: 3, cachedTokens: 1, costUsd: 0.5 },
    })
    expect((await shown(first.turnId)).thread).toMatchObject({ systemPrompt: 'You are brief.', totalTokens: 3 })
    expect((await shown(second.turnId)).thread).toMatchObject({
      ancestry: [first.turnId, second.turnId],
      totalTokens: 13,
      systemPrompt: null,
      threadKey: expect.stringMatching(/^[0-9a-z]{20}\/2$/),
    })
  })

  test('one untrusted input makes the turn untrusted and names where it came from', async () => {
    const { turnId } = await add({
      query: [
        { content: 'mine', label: { integrity: 'trusted', sources: ['human'] } },
        { content: 'theirs', source: 'webhook', label: { integrity: 'untrusted', sources: ['url:https://x.example'] } },
      ],
      response: { content: 'ok' },
    })
    expect((await shown(turnId)).label).toEqual({ integrity: 'untrusted', sources: ['human', 'url:https://x.example'] })
  })

  test('the context begins at the nearest compaction, with the turns it keeps word for word', async () => {
    const ids = []
    for (const text of ['1', '2', '3', '4']) ids.push((await add(plain(text))).turnId)
    const summary = await add({ query: [], response: { content: '1 and 2' }, compactsTo: 2 })
    const after = await add(plain('6'))
    const context = await runtime.store.read(async (rows) =>
      contextPath(rows, await routeToThread(rows, 'main', folder)),
    )
    expect(context.map(({ turn }) => turn.id)).toEqual([summary.turnId, ids[2], ids[3], after.turnId])
    expect(await shown(summary.turnId)).toMatchObject({ type: 'compaction', compaction: { fromDepth: 1, toDepth: 2 } })

    const again = await add({ query: [], response: { content: 'all so far' }, compactsTo: 6 })
    expect((await shown(again.turnId)).compaction).toEqual({ fromDepth: 5, toDepth: 6 })
    await add(plain('elsewhere'), 'fork', ids[3])
    const forked = await runtime.store.read(async (rows) =>
      contextPath(rows, await routeToThread(rows, 'fork', folder)),
    )
    expect(forked).toHaveLength(5)
  })

  test('a compaction of turns that are not there is refused and leaves nothing', async () => {
    await expect(add({ query: [], response: { content: 's' }, compactsTo: 1 })).rejects.toMatchObject({
      code: 'bad_compaction',
    })
    await add(plain('1'))
    await expect(add({ query: [], response: { content: 's' }, compactsTo: 2 })).rejects.toMatchObject({
      code: 'bad_compaction',
    })
    expect(await shown('session:main')).toMatchObject({ depth: 1 })
  })

  test('a turn without an input is refused', async () => {
    await expect(add({ query: [], response: { content: 'a' } })).rejects.toMatchObject({ code: 'empty_turn' })
  })

  test('two paths differ in what they do not share', async () => {
    const [first, second] = [await add(plain('1')), await add(plain('2'))]
    const third = await add(plain('3'))
    const other = await add(plain('x'), 'b', first.turnId)
    const alone = await add(plain('y'), 'c')
    const diff = (a: string, b: string) =>
      runtime.store.read(async (rows) =>
        diffPaths(rows, await routeToThread(rows, a, folder), await routeToThread(rows, b, folder)),
      )
    expect(await diff('main', 'b')).toEqual({
      ancestor: first.turnId,
      a: [second.turnId, third.turnId],
      b: [other.turnId],
    })
    expect(await diff('main', 'main')).toEqual({ ancestor: third.turnId, a: [], b: [] })
    expect(await diff(second.turnId, 'main')).toEqual({ ancestor: second.turnId, a: [], b: [third.turnId] })
    expect(await diff('c', 'b')).toEqual({ ancestor: null, a: [alone.turnId], b: [first.turnId, other.turnId] })
  })

  test('a path through many forks is read in order from any depth', async () => {
    const ids = [(await add(plain('1'))).turnId]
    for (let i = 2; i <= 40; i++) ids.push((await add(plain(`${i}`), `s${i}`, ids.at(-1))).turnId)
    const view = await shown('s40')
    expect(view).toMatchObject({ kind: 'session', depth: 40 })
    expect((await shown(ids[39] ?? '')).thread.ancestry).toEqual(ids)
  })
})
