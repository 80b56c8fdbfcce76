import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import type { StreamItem } from '../../src/gateway/api.ts'
import { daemonClient } from '../../src/gateway/client.ts'
import { systemClock } from '../../src/system.ts'
import { scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'

const never = new AbortController().signal
const refused = { code: 'forbidden' }
const gone = { code: 'not_found' }

let gateway: TestGateway
afterEach(() => gateway.remove())

describe.each(databases)('a public token on the socket of a daemon on %s', (database) => {
  const test = testOn(database)
  beforeEach(async () => {
    const model = scriptedModel(({ messages }) => ({ text: `heard: ${messages.at(-1)?.content}` }))
    gateway = await newGateway([model], { database })
  })

  const asPublic = async () => {
    const { app, server } = gateway
    await app.addUser('pia', { role: 'public', folder })
    const { token, id } = await app.createToken('pia')
    return { id, token, pia: daemonClient({ socket: server.path, token }, systemClock) }
  }

  test('can ask, sees only its own sessions and nothing private, cannot steer, approve or list anything else', async () => {
    const { door: owner } = gateway
    await owner.remember({ content: 'the safe opens with 1234' })
    const first = await owner.submit(folder, { session: 'main', content: 'the owner asks' })
    const { runId, turnId } = await owner.answer(folder, first.itemId, never)
    const { pia } = await asPublic()

    const { itemId } = await pia.submit('/anywhere', { session: 'main', content: 'may I ask how the safe opens?' })
    const answered = await pia.answer(folder, itemId, never)
    expect(answered).toMatchObject({ status: 'completed', session: 'user:pia:main', folder })
    expect(answered.text).toContain('may I ask')

    expect((await pia.sessions()).rows.map(({ label }) => label)).toEqual(['user:pia:main'])
    expect((await pia.runs({ all: true })).rows.map(({ id }) => id)).toEqual([answered.runId])
    expect([await pia.plans(), await pia.results(), await pia.tasks()]).toEqual([[], [], []])
    const told = JSON.stringify([await pia.events({}), await pia.show(folder, `turn:${answered.turnId}`)])
    expect(told).not.toMatch(/1234|the owner asks/)

    for (const reference of [`run:${runId}`, `turn:${turnId}`, 'session:owner:main']) {
      await expect(pia.show(folder, reference), reference).rejects.toMatchObject(gone)
      await expect(pia.log(folder, { of: reference }), reference).rejects.toMatchObject(gone)
    }
    await expect(pia.answer(folder, first.itemId, never)).rejects.toMatchObject(gone)
    await expect(pia.cancel(`run:${runId}`, 'x')).rejects.toMatchObject(gone)
    const steering = pia.submit(folder, { session: 'owner:main', kind: 'steer', content: 'x' })
    await expect(steering).rejects.toMatchObject(refused)
    await expect(pia.submit(folder, { session: 'owner:main', content: 'x' })).rejects.toMatchObject(gone)
    await expect(pia.approvals()).rejects.toMatchObject(refused)
    await expect(pia.decide('1', { answer: 'no' })).rejects.toMatchObject(refused)
    const lists = [
      () => pia.memories({ limit: 5 }),
      () => pia.narratives({ limit: 5 }),
      () => pia.grants(),
      () => pia.users(),
      () => pia.tokens(),
    ]
    for (const list of lists) await expect(list()).rejects.toMatchObject(refused)
    await expect(pia.searchMemories('safe', { limit: 5 })).rejects.toMatchObject(refused)
    await expect(pia.audit()).rejects.toMatchObject(refused)
    await expect(pia.backup('/tmp/x')).rejects.toMatchObject(refused)
  })

  test('hears the events and words of its own runs only, and nothing more within a second of its end', async () => {
    const { app, door: owner } = gateway
    const { pia, id } = await asPublic()
    const heard: StreamItem[] = []
    const isOver = Promise.withResolvers<void>()
    const isEnd = (item: StreamItem) => item.kind === 'event' && item.event.kind === 'run.ended'
    const ended = (async () => {
      for await (const item of pia.stream({ signal: never })) {
        heard.push(item)
        if (isEnd(item)) isOver.resolve()
      }
    })().then(
      () => 'closed',
      (error) => error.code,
    )
    const others = await owner.submit(folder, { session: 'main', content: 'of the owner' })
    await owner.answer(folder, others.itemId, never)
    const own = await pia.submit(folder, { session: 'main', content: 'of pia' })
    const { runId } = await pia.answer(folder, own.itemId, never)
    await isOver.promise
    expect(JSON.stringify(heard)).not.toContain('of the owner')
    // A short answer may be over before the stream has asked whose it is: what it hears is its own in any case.
    const runs = heard.flatMap((item) => (item.kind === 'live' ? item.delta.runId : []))
    expect(runs.filter((id) => id !== runId)).toEqual([])
    await app.revokeToken(id)
    expect(await ended).toBe('unknown_token')
    await expect(pia.sessions()).rejects.toMatchObject({ code: 'unknown_token' })
  })

  test('ends its stream when its user gets another role: an admin of yesterday hears nothing of others', async () => {
    const { app } = gateway
    const { pia } = await asPublic()
    await app.setUser('pia', { role: 'admin' })
    const stream = pia.stream({ signal: never })[Symbol.asyncIterator]()
    await app.submit(folder, { session: 'main', content: 'of the owner' })
    expect(await stream.next()).toMatchObject({ done: false })
    await app.setUser('pia', { role: 'public' })
    const ended = (async () => {
      while (!(await stream.next()).done);
    })()
    await expect(ended).rejects.toMatchObject({ code: 'rights_changed' })
  })

  test('gets lists of runs and sessions in parts, each with the cursor of the next, which another list refuses', async () => {
    const { server } = gateway
    const { pia, token } = await asPublic()
    for (const session of ['one', 'two', 'three']) {
      const { itemId } = await pia.submit(folder, { session, content: session })
      await pia.answer(folder, itemId, never)
    }
    const get = (path: string) => getJson(server.path, path, token)
    for (const [list, query] of [
      ['runs', 'all=true&limit=2'],
      ['sessions', 'limit=2'],
    ] as const) {
      const first = await get(`/v1/${list}?${query}`)
      expect([first['status'], (first[list] as unknown[]).length], list).toEqual([200, 2])
      const rest = await get(`/v1/${list}?${query}&after=${encodeURIComponent(String(first['next']))}`)
      expect((rest[list] as unknown[]).length, list).toBe(1)
      expect(rest).not.toHaveProperty('next')
      const other = list === 'runs' ? 'sessions' : 'runs'
      const misused = await get(`/v1/${other}?after=${encodeURIComponent(String(first['next']))}`)
      expect(misused, other).toMatchObject({ status: 400, error: { code: 'bad_cursor' } })
    }
  })
})

/** What a program without our client gets. */
function getJson(socketPath: string, path: string, token: string): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
  const headers = { host: 'localhost', authorization: `Bearer ${token}` }
  request({ socketPath, path, headers }, async (response) => {
    resolve({ status: response.statusCode, ...((await json(response)) as object) })
  })
    .on('error', reject)
    .end()
  return promise
}
