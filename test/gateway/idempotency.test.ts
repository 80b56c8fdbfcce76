import { request } from 'node:http'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import { owner, type Principal } from '../../src/domain/access/principal.ts'
import { gate, scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'

let gateway: TestGateway
let token: string
afterEach(() => gateway.remove())

interface Sent {
  key?: string
  token?: string
}

function post(path: string, body: object, { key, token }: Sent = {}) {
  return new Promise<{ status: number | undefined; body: Record<string, unknown> }>((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
    const sent = request({ socketPath: gateway.server.path, method: 'POST', path, headers }, async (response) => {
      let text = ''
      for await (const piece of response.setEncoding('utf8')) text += piece
      resolve({ status: response.statusCode, body: JSON.parse(text) })
    })
    sent.on('error', reject).end(JSON.stringify(body))
  })
}

const reused = { status: 409, body: { ok: false, error: { code: 'key_reused', remedy: expect.any(String) } } }

describe.each(databases)('a key on %s', (database) => {
  const test = testOn(database)
  beforeEach(async () => {
    gateway = await newGateway([scriptedModel((_, n) => ({ text: `answer ${n}` }))], { database })
    await gateway.app.addUser('mia', { folder: gateway.runFolder.replace(/[^/]*\/[^/]*$/, ''), role: 'operator' })
    ;({ token } = await gateway.app.createToken('mia', {}))
  })

  test('answers the same request again with its first answer, and refuses another', async () => {
    const memory = { content: 'tea at four', tags: ['tea'] }
    const first = await post('/v1/memories', memory, { key: 'k' })
    expect(first).toMatchObject({ status: 200, body: { ok: true, isMerged: false } })
    expect(await post('/v1/memories', { tags: ['tea'], content: 'tea at four' }, { key: 'k' })).toEqual(first)
    expect(await post('/v1/memories', { content: 'tea at five' }, { key: 'k' })).toMatchObject(reused)
    expect(await post('/v1/events/prune', {}, { key: 'k' })).toMatchObject(reused)
    expect(await gateway.app.memories({ limit: 10 })).toHaveLength(1)
    expect(await post('/v1/memories', memory, { key: 'other' })).toMatchObject({ body: { isMerged: true } })
  })

  test('of an input is its dedupe key, and counts with other words as another input', async () => {
    const input = { folder, session: 'main', content: 'once' }
    const first = await post('/v1/inputs', input, { key: 'k' })
    expect(first.status).toBe(202)
    expect(await post('/v1/inputs', input, { key: 'k' })).toEqual(first)
    expect(await post('/v1/inputs', { ...input, dedupeKey: 'k' })).toEqual(first)
    expect(await post('/v1/inputs', { ...input, content: 'twice', dedupeKey: 'k' })).toMatchObject(reused)
    expect((await gateway.app.runs({ all: true })).rows).toHaveLength(1)
  })

  test('belongs to its principal', async () => {
    const input = { folder, session: 'main', content: 'hello' }
    const own = await post('/v1/inputs', input, { key: 'k' })
    const hers = await post('/v1/inputs', { ...input, content: 'other words' }, { key: 'k', token })
    expect(hers).toMatchObject({ status: 202 })
    expect(hers.body['itemId']).not.toBe(own.body['itemId'])
  })

  test('of a refused request is free again, and one with a secret answer takes none', async () => {
    const change = { content: 'tea at five' }
    expect(await post('/v1/memories/1', change, { key: 'k' })).toMatchObject({ status: 404 })
    await gateway.app.remember({ content: 'tea at four' })
    expect(await post('/v1/memories/1', change, { key: 'k' })).toMatchObject({ status: 200 })
    expect(await post('/v1/tokens', { user: 'mia' }, { key: 'token' })).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request' } },
    })
    expect(await post('/v1/memories', change, { key: 'x'.repeat(201) })).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_key' } },
    })
  })

  test('is not carried out twice at once, nor again when its outcome is not known', async () => {
    const { app } = gateway
    const hold = gate()
    let acts = 0
    const act = async () => {
      acts++
      await hold.pass(new AbortController().signal)
      return { ok: true }
    }
    const asked = { key: 'k', hash: 'h', isRepeatable: false }
    const both = Promise.all([app.once(owner, asked, act), app.once(owner, asked, act)])
    await hold.reached
    hold.open()
    expect([await both, acts]).toEqual([[{ ok: true }, { ok: true }], 1])
    const broken = () => app.once(owner, { ...asked, key: 'broken' }, () => Promise.reject(new Error('a bug')))
    await expect(broken()).rejects.toThrow('a bug')
    await expect(broken()).rejects.toMatchObject({ code: 'outcome_unknown' })
    const mia: Principal = { kind: 'user', id: 'mia', role: 'operator' }
    expect(await app.once(mia, { ...asked, hash: 'another' }, async () => 'hers')).toBe('hers')
  })
})
