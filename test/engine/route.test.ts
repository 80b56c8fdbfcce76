import { afterEach, beforeEach, describe, expect } from 'vitest'
import { shortId } from '../../src/domain/id.ts'
import { threadKey } from '../../src/domain/turn.ts'
import { append } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { routeToThread } from '../../src/engine/turns/route.ts'
import { setPersona } from '../../src/engine/turns/sessions.ts'
import { sessionsAt } from '../../src/store/rows/sessions.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const here = '/here'

describe.each(databases)('routing on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  const say = async (label: string, folder = here, personaId?: string) =>
    (
      await append(runtime, {
        folder,
        label,
        draft: { query: [{ content: 'q' }], response: { content: 'a' } },
        ...(personaId && { personaId }),
      })
    ).turnId
  const route = (text: string, folder = here) => runtime.store.read((rows) => routeToThread(rows, text, folder))
  const routed = async (text: string, folder = here) => (await route(text, folder)).turnId

  test('a turn is found by its id, by its head or tail, and by its structured key', async () => {
    const turn = await say('main')
    const key = threadKey(await route(turn))
    const texts = [turn, `turn:${turn}`, `turn:${shortId(turn)}`, turn.slice(0, 15), key, `turn:${key}`]
    expect(await Promise.all(texts.map((text) => routed(text)))).toEqual(texts.map(() => turn))
  })

  test('a part of an id that fits two turns is refused with both', async () => {
    const [first, second] = [await say('main'), await say('main')]
    const shared = first.slice(0, 5)
    expect(second.startsWith(shared)).toBe(true)
    await expect(route(shared)).rejects.toMatchObject({
      code: 'ambiguous',
      message: expect.stringMatching(new RegExp(`turn:${second}.*turn:${first}`)),
    })
  })

  test('a session leads to its head, wherever that has moved', async () => {
    await say('main')
    const second = await say('main')
    expect(await routed('main')).toBe(second)
    expect(await routed('session:main')).toBe(second)
  })

  test('a turn knows the session that wrote it last and those that begin at it, and no others', async () => {
    const [first, second] = [await say('main'), await say('main')]
    await fork(runtime, { folder: here, turnId: first, label: 'early' })
    await fork(runtime, { folder: here, turnId: second, label: 'late' })
    await fork(runtime, { folder: here, turnId: second, label: 'gone-on' })
    await say('gone-on')
    const at = async (turn: string) => {
      const thread = await route(turn)
      return (await runtime.store.read((rows) => sessionsAt(rows, thread))).map(({ label }) => label).sort()
    }
    expect([await at(first), await at(second)]).toEqual([['early'], ['late', 'main']])
  })

  test('a bare label means this folder’s session, else the only one of that name', async () => {
    const [ours, theirs] = [await say('main'), await say('main', '/there')]
    const alone = await say('alone', '/there')
    expect(await Promise.all([routed('main'), routed('main', '/there'), routed('alone')])).toEqual([
      ours,
      theirs,
      alone,
    ])
    await expect(route('main', '/nowhere')).rejects.toMatchObject({ code: 'ambiguous' })
  })

  test('a persona leads to its main session', async () => {
    await setPersona(runtime, { id: 'atlas', identity: { name: 'Atlas', soul: '' }, permissions: { tools: {} } })
    await expect(route('persona:atlas')).rejects.toMatchObject({ code: 'not_found' })
    const turn = await say('atlas:main', here, 'atlas')
    expect(await route('persona:atlas')).toMatchObject({ turnId: turn, personaId: 'atlas' })
    await expect(route('persona:nobody')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('every other kind and every unknown name is refused with what to do', async () => {
    for (const [text, code] of [
      ['task:1', 'wrong_kind'],
      ['turn:zzzzzz', 'not_found'],
      ['turn:%%%', 'not_found'],
      ['session:nowhere', 'not_found'],
      ['nothing', 'not_found'],
      ['turn:', 'bad_reference'],
    ] as const)
      await expect(route(text), text).rejects.toMatchObject({ code, remedy: expect.stringMatching(/./) })
  })

  test('a fork never moves the head it forked from, and two labels on one tip grow apart', async () => {
    const shared = await say('main')
    await fork(runtime, { folder: here, turnId: shared, label: 'b' })
    expect(await routed('b')).toBe(shared)
    const [onB, onMain] = [await say('b'), await say('main')]
    expect(await Promise.all([route('main'), route('b'), route(shared)])).toMatchObject([
      { turnId: onMain, parentTurnId: shared, depth: 2 },
      { turnId: onB, parentTurnId: shared, depth: 2 },
      { hasChildren: true },
    ])
  })

  test('a fork takes the persona of its turn, or the one it is given; an unknown one is refused', async () => {
    for (const id of ['atlas', 'nova'])
      await setPersona(runtime, { id, identity: { name: id, soul: '' }, permissions: { tools: {} } })
    const turnId = await say('main', here, 'atlas')
    const personas = [
      (await fork(runtime, { folder: here, turnId })).personaId,
      (await fork(runtime, { folder: here, turnId, personaId: 'nova' })).personaId,
    ]
    expect(personas).toEqual(['atlas', 'nova'])
    await expect(fork(runtime, { folder: here, turnId, personaId: 'nobody' })).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  test('forks without a label get labels of their own', async () => {
    const turnId = await say('main')
    const made = [await fork(runtime, { folder: here, turnId }), await fork(runtime, { folder: here, turnId })]
    expect(made.map(({ label }) => label)).toEqual([`fork-${shortId(turnId)}`, `fork-${shortId(turnId)}-2`])
  })
})
