import { afterEach, describe, expect } from 'vitest'
import type { Message } from '../../src/domain/message.ts'
import type { PlacedTurn } from '../../src/domain/turn.ts'
import { append } from '../../src/engine/turns/append.ts'
import { exportTurns, importTurns } from '../../src/engine/turns/transfer.ts'
import { scriptedModel } from '../../src/testing.ts'
import { databases, newTestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'
import { family } from './family.ts'

describe.each(databases)('messages of turns on %s', (database) => {
  const test = testOn(database)
  let engine: TestEngine
  afterEach(() => engine.remove())

  test('each follows the one before it, across turns, and an answer names its model and how it thought', async () => {
    engine = await newEngine(
      database,
      scriptedModel(() => ({ text: 'well' })),
    )
    await engine.work()
    await engine.say('one', { thinking: { level: 'high' } })
    const [first] = await engine.turns(1)
    await append(engine.runtime, {
      folder,
      label: 'main',
      draft: {
        query: [{ content: 'two' }, { content: 'three' }],
        response: { content: 'by hand' },
        model: { actual: 'm-1' },
        thinkingConfig: { level: 'low' },
      },
    })
    await append(engine.runtime, {
      folder,
      label: 'main',
      draft: { query: [], response: { content: 'sum' }, compactsTo: 1 },
    })
    const [, byHand, summary] = await engine.turns(3)
    const model = first?.turn.model.actual ?? ''
    expect(messagesOf(first)).toEqual([
      { id: expect.any(String), role: 'user', source: 'human', content: 'one', timestamp: expect.any(Number) },
      {
        ...{ id: first?.turn.id, parentId: first?.turn.queryMessages[0]?.id, role: 'assistant', content: 'well' },
        ...{ timestamp: first?.turn.timestamp, model, thinkingConfig: { level: 'high' } },
      },
    ])
    const [two, three] = byHand?.turn.queryMessages ?? []
    expect(messagesOf(byHand).map(linksOf)).toEqual([
      { parentId: first?.turn.id },
      { parentId: two?.id },
      { parentId: three?.id, model: 'm-1', thinkingConfig: { level: 'low' } },
    ])
    expect(messagesOf(summary).map(linksOf)).toEqual([{ parentId: byHand?.turn.id }])
  })

  test('a result names the call that started its agent', async () => {
    const { model, tools } = family(2, () => engine)
    engine = await newEngine(database, model, { tools })
    await engine.work()
    await engine.say('go')
    const [asking, told] = await engine.turns(2)
    const calls = asking?.turn.toolCalls.map(({ id }) => id)
    expect(calls).toHaveLength(2)
    const named = told?.turn.queryMessages.flatMap(({ toolCallId }) => toolCallId ?? [])
    expect(named?.sort()).toEqual(calls?.sort())
    // The news that all have ended answers no call.
    expect(told?.turn.queryMessages).toHaveLength(3)
  })

  test('an export keeps the links, and one of an earlier version, which has none, comes and goes as it is', async () => {
    const { model, tools } = family(1, () => engine)
    engine = await newEngine(database, model, { tools })
    await engine.work()
    await engine.say('go')
    await engine.turns(2)
    const now = await exported(engine.runtime.store)
    const old = now.map((line) => JSON.stringify(JSON.parse(line, withoutLinks)))
    expect(now.join()).toMatch(/"parentId":.*"toolCallId":|"toolCallId":.*"parentId":/)
    expect(old.join()).not.toMatch(/"parentId"|"toolCallId"/)
    for (const lines of [now, old]) {
      const other = await newTestRuntime(database === 'sqlite' ? 'postgres' : 'sqlite')
      try {
        expect(await importTurns(other, eachOf(lines))).toMatchObject({ imported: lines.length, skipped: 0 })
        expect(await exported(other.store)).toEqual(lines)
        expect(await importTurns(other, eachOf(lines))).toMatchObject({ imported: 0, skipped: lines.length })
      } finally {
        await other.remove()
      }
    }
  })
})

function messagesOf(placed: PlacedTurn | undefined): Message[] {
  return placed ? [...placed.turn.queryMessages, placed.turn.responseMessage] : []
}

function linksOf({ parentId, model, thinkingConfig }: Message) {
  return { ...(parentId && { parentId }), ...(model && { model }), ...(thinkingConfig && { thinkingConfig }) }
}

/** A message as earlier versions wrote it. */
function withoutLinks(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('role' in value) || !('timestamp' in value)) return value
  const { parentId: _p, model: _m, toolCallId: _t, ...message } = value as Message
  return message
}

async function exported(store: Parameters<typeof exportTurns>[0]): Promise<string[]> {
  const lines: string[] = []
  for await (const turn of exportTurns(store)) lines.push(JSON.stringify({ ...turn, sessions: [] }))
  return lines
}

async function* eachOf(lines: string[]): AsyncIterable<string> {
  yield* lines
}
