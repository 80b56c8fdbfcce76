import { afterEach, beforeEach, describe, expect } from 'vitest'
import { append } from '../../src/engine/turns/append.ts'
import type { ExportedTurn } from '../../src/engine/turns/exported-turn.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { routeToThread } from '../../src/engine/turns/route.ts'
import { listSessions, setPersona } from '../../src/engine/turns/sessions.ts'
import { exportTurns, importTurns } from '../../src/engine/turns/transfer.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const folder = '/here'

describe.each(databases)('export and import on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  let other: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
    other = await newTestRuntime(database === 'sqlite' ? 'postgres' : 'sqlite')
  })
  afterEach(async () => {
    await runtime.remove()
    await other.remove()
  })

  const add = async (label: string, text: string, parentTurnId?: string) =>
    (
      await append(runtime, {
        folder,
        label,
        draft: { query: [{ content: text }], response: { content: `${text}!` } },
        ...(parentTurnId && { parentTurnId }),
      })
    ).turnId

  async function lines(from: TestRuntime, session?: string): Promise<string[]> {
    const end = session && (await from.store.read((rows) => routeToThread(rows, session, folder)))
    const all: string[] = []
    for await (const turn of exportTurns(from.store, end ? { end } : {})) all.push(JSON.stringify(turn))
    return all
  }
  const bring = async (to: TestRuntime, all: string[]) =>
    importTurns(
      to,
      (async function* () {
        yield* all
      })(),
    )

  /** A tree with two branches, tool calls, prompts, a persona, a compaction and odd text. */
  async function grow() {
    await setPersona(runtime, {
      id: 'atlas',
      identity: { name: 'Atlas', soul: 'calm' },
      permissions: { tools: { deny: ['exec'] } },
    })
    const root = await add('main', 'nul \0 lone \ud800 emoji 🧵 ‮bidi')
    await append(runtime, {
      folder,
      label: 'atlas:main',
      personaId: 'atlas',
      draft: {
        query: [{ content: 'q', source: 'cron', label: { integrity: 'untrusted', sources: ['url:x'] } }],
        response: { content: 'a' },
        status: 'failed',
        model: { requested: 'big', actual: 'small' },
        thinkingConfig: { level: 'low' },
        usage: { inputTokens: 5, outputTokens: 6, cachedTokens: 2, costUsd: 0.25 },
        toolCalls: [{ id: 'c', name: 'exec', input: { command: 'ls' }, output: ['a', 1, null], status: 'error' }],
        systemPrompt: 'long prompt',
      },
    })
    await add('main', 'two')
    await add('b', 'other way', root)
    await append(runtime, { folder, label: 'b', draft: { query: [], response: { content: 'sum' }, compactsTo: 1 } })
    await fork(runtime, { folder, turnId: root, label: 'c' })
  }

  test('a tree that went through a file and another kind of database exports the same bytes', async () => {
    await grow()
    const before = await lines(runtime)
    expect(await bring(other, before)).toMatchObject({ imported: 5, skipped: 0 })
    expect((await lines(other)).sort()).toEqual(before.sort())
  })

  test('sessions come along with their heads, beside whatever has their label here', async () => {
    await grow()
    await append(other, { folder, label: 'main', draft: { query: [{ content: 'mine' }], response: { content: 'a' } } })
    const report = await bring(other, await lines(runtime))
    expect(report.sessions.map(({ label }) => label).sort()).toEqual(['atlas:main', 'b', 'c', 'main-2'])
    const heads = async (of: TestRuntime) =>
      new Map((await of.store.read((rows) => listSessions(rows))).rows.map((each) => [each.label, each.headTurnId]))
    const [from, to] = [await heads(runtime), await heads(other)]
    expect([to.get('main-2'), to.get('b'), to.get('c')]).toEqual([from.get('main'), from.get('b'), from.get('c')])
  })

  test('one session is its path alone', async () => {
    await grow()
    const exported = (await lines(runtime, 'b')).map((line) => JSON.parse(line) as ExportedTurn)
    expect(exported.map(({ turn }) => turn.queryMessages[0]?.content ?? turn.type)).toEqual([
      expect.stringContaining('emoji'),
      'other way',
      'compaction',
    ])
  })

  test('importing twice skips what is already here', async () => {
    await grow()
    const all = await lines(runtime)
    await bring(other, all)
    expect(await bring(other, [...all, '', '  '])).toEqual({ imported: 0, skipped: 5, sessions: [] })
  })

  test('a turn that is here with other content is refused; the lines before it stay', async () => {
    await grow()
    const all = await lines(runtime)
    await bring(other, all.slice(0, 1))
    const changed = JSON.parse(all[0] ?? '') as ExportedTurn
    changed.turn.responseMessage.content = 'forged'
    await expect(bring(other, [JSON.stringify(changed)])).rejects.toMatchObject({ code: 'turn_differs' })
    await expect(bring(other, [all[1] ?? '', JSON.stringify(changed), all[2] ?? ''])).rejects.toMatchObject({
      code: 'turn_differs',
    })
    expect(await bring(other, all)).toMatchObject({ imported: 3, skipped: 2 })
  })

  test('imported turns can be continued, and their segments belong to one session each', async () => {
    const head = await add('main', 'one')
    await bring(other, await lines(runtime))
    const next = await append(other, {
      folder,
      label: 'main',
      draft: { query: [{ content: 'on' }], response: { content: 'a' } },
    })
    expect(next.depth).toBe(2)
    expect(await other.store.read((rows) => routeToThread(rows, 'main', folder))).toMatchObject({ parentTurnId: head })
  })

  test('each kind of broken line is refused with its number, and what came before stays', async () => {
    await add('main', 'one')
    const [good = ''] = await lines(runtime)
    const broken = (change: (item: ExportedTurn) => void) => {
      const item = JSON.parse(good) as ExportedTurn
      change(item)
      return JSON.stringify(item)
    }
    const personaWith = (permissions: object) => ({ id: 'junk', identity: { name: 'Junk', soul: '' }, permissions })
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
    const bad: [string, string][] = [
      ['not json', 'bad_import'],
      ['{}', 'bad_import'],
      [deep, 'bad_import'],
      [broken((item) => Object.assign(item.turn, { id: 'short' })), 'bad_import'],
      [broken((item) => Object.assign(item.turn, { extra: 1 })), 'bad_import'],
      [broken((item) => Object.assign(item.turn, { tokenCount: -1 })), 'bad_import'],
      [broken((item) => Object.assign(item.run, { id: runtime.newId() })), 'bad_import'],
      [broken((item) => Object.assign(item, { personaId: 'a\0b' })), 'bad_import'],
      [broken((item) => Object.assign(item, { persona: personaWith({}) })), 'bad_import'],
      [broken((item) => Object.assign(item, { persona: personaWith({ tools: { allow: 'exec' } }) })), 'bad_import'],
      [good.replace('"turn":{', '"turn":{"__proto__":{"x":1},'), 'bad_import'],
    ]
    for (const [line, code] of bad)
      await expect(bring(other, ['', line]), line.slice(0, 60)).rejects.toMatchObject({
        code,
        message: expect.stringContaining('line 2'),
      })
    const orphan = broken((item) => {
      item.turn.parentTurnId = runtime.newId()
    })
    await expect(bring(other, [orphan])).rejects.toMatchObject({ code: 'parent_missing' })
    await expect(bring(other, [good, 'garbage'])).rejects.toMatchObject({ code: 'bad_import' })
    expect(await bring(other, [good])).toMatchObject({ imported: 0, skipped: 1 })
  })
})
