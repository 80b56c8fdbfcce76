import { afterEach, describe, expect } from 'vitest'
import { owner, type Principal, type UserRole } from '../../src/domain/access/principal.ts'
import type { User } from '../../src/domain/access/user.ts'
import { itemsOfPrincipal } from '../../src/domain/inbox.ts'
import { newRun } from '../../src/domain/run.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { insertUser } from '../../src/store/rows/access/users.ts'
import { bindItems, itemsOfRun, waitingItems } from '../../src/store/rows/inbox.ts'
import { findRun, insertRun, runsOf } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine } from './engine.ts'
import { spawnTool } from './family.ts'

describe.each(databases)('principals on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const user = async (id: string, role: UserRole, more: Partial<User> = {}): Promise<Principal> => {
    const made: User = {
      ...{ id, role, isTrusted: false, tools: null, folder: '/here', perDayUsd: null, createdAt: 1, removedAt: null },
      ...more,
    }
    await under.runtime.store.write('access', (tx) => insertUser(tx, made))
    return { kind: 'user', id, role }
  }
  const run = (id: string | null) => under.runtime.store.read((rows) => findRun(rows, id ?? ''))

  test('a run has exactly one: each sender is answered apart, in order, with the options of that sender only', async () => {
    const hold = gate()
    const model = scriptedModel((_, n) => ({ text: `${n}`, ...(n === 1 && { gate: hold }) }))
    under = await newEngine(database, model)
    await under.work()
    const ada = await user('ada', 'admin')
    await under.say('first')
    await hold.reached
    const high = { thinking: { level: 'high' as const } }
    await under.say('owner 1')
    expect(await under.say('ada 1', { principal: ada, ...high })).toMatchObject({ runId: null })
    await under.say('ada 2', { principal: ada })
    await under.say('owner 2')
    hold.open()
    const turns = await under.turns(4)
    expect(turns.map(({ turn }) => turn.queryMessages.map(({ content }) => content))).toEqual([
      ['first'],
      ['owner 1'],
      ['ada 1', 'ada 2'],
      ['owner 2'],
    ])
    const runs = await Promise.all(turns.map(({ turn }) => run(turn.runId)))
    expect(runs.map((each) => each?.principal)).toEqual(['owner', 'owner', 'user:ada', 'owner'])
    expect(turns.map(({ turn }) => turn.thinkingConfig)).toEqual([null, null, { level: 'high' }, null])
  })

  test('an input behind that of another sender is not promised to the queued run', async () => {
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'ok' })),
    )
    const ada = await user('ada', 'admin')
    const first = await under.say('owner 1')
    expect(await under.say('owner 2')).toMatchObject({ runId: first.runId })
    expect(await under.say('ada', { principal: ada })).toMatchObject({ runId: null, queuedBehind: first.runId })
    expect(await under.say('owner 3')).toMatchObject({ runId: null, queuedBehind: first.runId })
  })

  test('what a run takes is the same in SQL as in the program, for any order of senders', async () => {
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'ok' })),
    )
    const { store } = under.runtime
    const senders = { o: owner, a: await user('ada', 'admin') }
    for (const [index, order] of ['o', 'oa', 'ao', 'oao', 'aoa', 'ooaa', 'aaoo'].entries()) {
      const label = order.startsWith('o') ? `talk${index}` : `user:ada:talk${index}`
      const told = []
      for (const who of order) told.push(await under.say(who, { label, principal: senders[who as 'o' | 'a'] }))
      const sessionId = told[0]?.session.id ?? ''
      const waiting = await store.read((rows) => waitingItems(rows, sessionId))
      for (const principal of ['owner', 'user:ada']) {
        const id = `${label}${principal}`
        const bound = await store
          .write('submit', async (tx) => {
            await insertRun(tx, newRun({ id, kind: 'turn', via: 'user', sessionId: null, now: 1, principal }))
            await bindItems(tx, { id, principal }, sessionId)
            throw { bound: await itemsOfRun(tx, id) }
          })
          .catch((stop: { bound: { id: string }[] }) => stop.bound)
        expect(bound.map((item) => item.id)).toEqual(itemsOfPrincipal(waiting, principal).map((item) => item.id))
      }
    }
  })

  test('steering and interrupting need the right to the run under way', async () => {
    const hold = gate()
    under = await newEngine(
      database,
      scriptedModel((_, n) => ({ text: `${n}`, ...(n === 1 && { gate: hold }) })),
    )
    await under.work()
    const [pia, omar, ada] = [await user('pia', 'public'), await user('omar', 'operator'), await user('ada', 'admin')]
    await under.say('hello', { label: 'user:pia:main', principal: pia })
    await hold.reached
    for (const kind of ['steer', 'interrupt'] as const) {
      await expect(under.say('x', { label: 'user:pia:main', kind, principal: pia })).rejects.toMatchObject({
        code: 'forbidden',
      })
      await expect(under.say('x', { label: 'user:pia:main', kind, principal: omar })).rejects.toMatchObject({
        code: 'not_found',
      })
    }
    await under.say('stop', { label: 'user:pia:main', kind: 'interrupt', principal: ada })
    const turns = await under.turns(2, 'user:pia:main')
    expect(turns.map(({ turn }) => turn.status)).toEqual(['cancelled', 'completed'])
    expect((await run(turns[1]?.turn.runId ?? ''))?.principal).toBe('user:ada')
  })

  test('words of others are untrusted unless the owner vouched for the user, also when they steer', async () => {
    const tools = [spawnTool(() => under)]
    const hold = gate()
    const model = scriptedModel(({ messages }, n) => {
      if (n === 1) return { gate: hold, calls: [{ name: 'spawn', input: 'plain' }] }
      return { text: messages.at(-1)?.role === 'tool' ? 'again' : 'done' }
    })
    under = await newEngine(database, model, { tools })
    await under.work()
    const vera = await user('vera', 'admin', { isTrusted: true })
    const ada = await user('ada', 'admin')
    const asked = await under.say('begin')
    await hold.reached
    await under.say('and this', { kind: 'steer', principal: ada })
    hold.open()
    await under.turns(1)
    expect((await run(asked.runId))?.label).toEqual({ integrity: 'untrusted', sources: ['user:ada'] })
    const vouched = await under.say('hello', { label: 'user:vera:main', principal: vera })
    await under.turns(1, 'user:vera:main')
    expect((await run(vouched.runId))?.label.integrity).toBe('trusted')
  })

  test('children, wakes and retries keep the principal of their request', async () => {
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return { text: 'started' }
      return last?.content === 'go' ? { calls: [{ name: 'spawn', input: 'child' }] } : { text: 'fine' }
    })
    under = await newEngine(database, model, { tools: [spawnTool(() => under)] })
    await under.work()
    const ada = await user('ada', 'admin')
    const { runId } = await under.say('go', { label: 'user:ada:main', principal: ada })
    await under.turns(2, 'user:ada:main')
    await retry(under.runtime, runId ?? '')
    await under.turns(4, 'user:ada:main')
    const { store } = under.runtime
    const runs = await store.read((rows) => runsOf(rows, {}))
    expect([runs.length, ...new Set(runs.map(({ principal }) => principal))]).toEqual([6, 'user:ada'])
    const sessions = await store.read((rows) => findSessions(rows))
    expect(new Set(sessions.map(({ principalId }) => principalId))).toEqual(new Set(['user:ada']))
  })

  test('a removed user is not heard', async () => {
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'ok' })),
    )
    const gone = await user('gone', 'admin', { removedAt: 2 })
    await expect(under.say('hello', { principal: gone })).rejects.toMatchObject({ code: 'forbidden' })
  })
})
