import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HeddleError, UsageError } from '../../src/domain/errors.ts'
import { isDaemonGone } from '../../src/gateway/daemon-request.ts'
import { gate, scriptedModel } from '../../src/testing.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'

let gateway: TestGateway
beforeEach(async () => {
  gateway = await newGateway([scriptedModel((_, n) => ({ text: `answer ${n}` }))])
})
afterEach(() => gateway.remove())

const never = new AbortController().signal
const ask = async (content: string) => {
  const accepted = await gateway.door.submit(folder, { session: 'main', content })
  return { accepted, answer: await gateway.door.answer(folder, accepted.itemId, never) }
}

function* chunks(): Iterable<string> {
  for (let sent = 0; sent < 520; sent++) yield ' '.repeat(64 * 1024)
}

/** A request as anyone may make it. */
function send(method: string, path: string, body?: string | Readable, headers: Record<string, string> = {}) {
  return new Promise<{ status: number | undefined; body: unknown }>((resolve, reject) => {
    const type = { 'content-type': 'application/json' }
    const sent = request({ socketPath: gateway.server.path, method, path, headers: { ...type, ...headers } })
    sent.on('error', reject)
    sent.on('response', async (response) => {
      let text = ''
      for await (const piece of response.setEncoding('utf8')) text += piece
      resolve({ status: response.statusCode, body: JSON.parse(text) })
    })
    if (body instanceof Readable) body.pipe(sent)
    else sent.end(body)
  })
}

test('through the socket everything is answered as by the heddle itself', async () => {
  const { app, door } = gateway
  const { accepted, answer } = await ask('one')
  expect(answer).toEqual(await app.answer(folder, accepted.itemId, never))
  expect(answer).toMatchObject({ ok: true, status: 'completed', text: 'answer 1', folder })
  const view = await door.run(`run:${answer.runId}`)
  expect({ ...view, silentForSeconds: 0 }).toMatchObject({ kind: 'run', state: 'completed', turnId: answer.turnId })
  expect((await door.runs({ all: true })).rows).toMatchObject([
    { id: answer.runId, folder, model: { actual: 'scripted' } },
  ])
  expect(await door.usage('agent', { today: true })).toEqual(await app.usage('agent', { today: true }))
  expect(await door.status(folder, 0)).toEqual(await app.status(folder, 0))
  expect(await door.cursor()).toBe(await app.cursor())
  const nothing = { ok: true, restored: [], unchanged: [], refused: [], cannotUndo: [] }
  expect(await door.undo(`run:${answer.runId}`, { dryRun: true })).toEqual(nothing)
  const { runId } = await door.retry(answer.runId ?? '')
  expect(await door.run(runId ?? '')).toMatchObject({ via: 'retry' })
})

test('a yes must name what it is for: without the hash of a question only a no is heard', async () => {
  for (const answer of ['once', 'session', 'agent'])
    expect(await send('POST', '/v1/approvals/1', JSON.stringify({ answer }))).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request', remedy: expect.stringContaining('GET /v1/approvals tell the hash') } },
    })
  for (const said of [{ answer: 'no' }, { answer: 'once', hash: '0123456789abcdef' }])
    expect(await send('POST', '/v1/approvals/1', JSON.stringify(said))).toMatchObject({ status: 404 })
})

test('the same question handed in twice is one', async () => {
  const question = { session: 'main', content: 'once', dedupeKey: 'k' }
  const [first, second] = [await gateway.door.submit(folder, question), await gateway.door.submit(folder, question)]
  expect(second.itemId).toBe(first.itemId)
})

test('a question that takes long is waited for, stopped and told as cancelled', async () => {
  await gateway.remove()
  const hold = gate()
  gateway = await newGateway([scriptedModel(() => ({ gate: hold, text: 'late' }))])
  const { itemId, runId } = await gateway.door.submit(folder, { session: 'main', content: 'slow' })
  await hold.reached
  expect(await gateway.door.answer(folder, itemId, AbortSignal.abort())).toMatchObject({ status: 'waiting' })
  await gateway.door.cancel(runId ?? '', 'enough')
  expect(await gateway.door.answer(folder, itemId, never)).toMatchObject({ status: 'cancelled', ok: false })
})

test('an answer that is there is given without waiting', async () => {
  const { accepted, answer } = await ask('one')
  const query = `folder=${encodeURIComponent(folder)}`
  expect(await send('GET', `/v1/inputs/${accepted.itemId}/answer?${query}`)).toEqual({ status: 200, body: answer })
  expect(await gateway.door.answer(folder, accepted.itemId, AbortSignal.abort())).toEqual(answer)
})

test('errors come back as what they were: code, message, remedy, and whether it was misuse', async () => {
  const failure = async (asked: Promise<unknown>) =>
    asked.then(
      () => undefined,
      (error) => error,
    )
  for (const act of [
    (door: Pick<typeof gateway.door, 'submit' | 'cancel'>) => door.submit(folder, { session: 'a b', content: 'x' }),
    (door: Pick<typeof gateway.door, 'submit' | 'cancel'>) =>
      door.submit(folder, { session: 'main', content: 'x', model: 'nobody' }),
    (door: Pick<typeof gateway.door, 'submit' | 'cancel'>) => door.cancel('zzzzzz', 'x'),
  ]) {
    const [there, here] = [await failure(act(gateway.door)), await failure(act(gateway.app))]
    expect(there).toBeInstanceOf(here instanceof UsageError ? UsageError : HeddleError)
    expect({ ...there, message: there.message }).toEqual({ ...here, message: here.message })
  }
})

test('an unknown input is refused at once, not waited for', async () => {
  const { door } = gateway
  await expect(door.answer(folder, 'zzzzzzzzzzzzzzzzzzzz', never)).rejects.toMatchObject({ code: 'not_found' })
})

describe('what is not as it must be is refused, and told what is wrong', () => {
  const good = { folder, session: 'main', content: 'x' }
  const cursorElsewhere = Buffer.from('another.7.7').toString('base64url')
  test.each([
    ['no JSON', 'POST', '/v1/inputs', '{', 'bad_request', 400],
    ['no object', 'POST', '/v1/inputs', '[]', 'bad_request', 400],
    ['nothing', 'POST', '/v1/inputs', '', 'bad_request', 400],
    ['an unknown field', 'POST', '/v1/inputs', JSON.stringify({ ...good, modle: 'x' }), 'bad_request', 400],
    ['no folder', 'POST', '/v1/inputs', JSON.stringify({ session: 'main', content: 'x' }), 'bad_request', 400],
    ['half a folder', 'POST', '/v1/inputs', JSON.stringify({ ...good, folder: 'here' }), 'bad_request', 400],
    ['a wrong kind', 'POST', '/v1/inputs', JSON.stringify({ ...good, kind: 'join' }), 'bad_request', 400],
    ['a wrong type', 'POST', '/v1/inputs', JSON.stringify({ ...good, priority: 'high' }), 'bad_request', 400],
    ['a body for retry', 'POST', '/v1/runs/abcdef/retry', '{"now":true}', 'bad_request', 400],
    ['an id with a path in it', 'GET', '/v1/runs/..%2f..', undefined, 'misuse', 400],
    ['an unknown query', 'GET', '/v1/runs?al=true', undefined, 'bad_request', 400],
    ['an unknown way to sum up', 'GET', '/v1/usage?by=colour', undefined, 'bad_request', 400],
    ['too long a wait', 'GET', '/v1/inputs/abcdef/answer?folder=/here&wait=9999', undefined, 'bad_request', 400],
    ['an unknown route', 'GET', '/v1/secrets', undefined, 'no_route', 404],
    ['an unknown method', 'DELETE', '/v1/runs/abcdef', undefined, 'no_route', 404],
    ['an unknown run', 'GET', '/v1/runs/abcdef', undefined, 'not_found', 404],
    ['what never was a cursor', 'GET', '/v1/events?after=AAAA', undefined, 'bad_cursor', 400],
    ['a cursor of another home', 'GET', `/v1/events?after=${cursorElsewhere}`, undefined, 'cursor_expired', 410],
    ['5 MB of unknown length', 'POST', '/v1/inputs', Readable.from(chunks()), 'too_large', 413],
    ['33 MB', 'POST', '/v1/inputs', JSON.stringify({ ...good, content: 'x'.repeat(33.6e6) }), 'too_large', 413],
  ])('%s', async (_, method, path, body, code, status) => {
    expect(await send(method, path, body)).toEqual({
      status,
      body: { ok: false, error: { code, message: expect.any(String), remedy: expect.any(String), retry: 'never' } },
    })
    expect((await gateway.app.runs({ all: true })).rows).toEqual([])
  })

  test('what a page in a browser could send without asking', async () => {
    const sent = await send('POST', '/v1/inputs', JSON.stringify(good), { 'content-type': 'text/plain' })
    expect(sent).toMatchObject({ status: 400, body: { error: { code: 'bad_request' } } })
  })
})

test('a client that hangs up in the middle of its body is no trouble', async () => {
  for (let count = 0; count < 5; count++) {
    const sent = request({
      socketPath: gateway.server.path,
      method: 'POST',
      path: '/v1/inputs',
      headers: { 'content-type': 'application/json', 'content-length': 1000 },
    })
    sent.on('error', () => undefined)
    const gone = new Promise((resolve) => sent.once('close', resolve))
    await new Promise<void>((resolve) => sent.write('{"folder":', () => resolve()))
    sent.destroy()
    await gone
  }
  // The server hears of the end of a connection before it answers a request that was made after it.
  await gateway.door.cursor()
  await gateway.server.stop()
})

describe('agents work in no folder that is not made for it, whichever way it is spelled', () => {
  const unfit = ['/', '//', '/tmp/..', '/proc', '/proc/self', '/sys', '/dev/shm', homedir(), `${homedir()}/`, 'HOME']
  test.each([...unfit, 'HOME/memory', 'LINK', 'a/b', '', 'FILE', 'FILE/below', '/LONG', '/a\0b'])(
    'not in %j',
    async (spelled) => {
      const home = join(gateway.runFolder, '..')
      const [link, file] = [join(home, '..', 'link'), join(home, '..', 'file')]
      symlinkSync(home, link)
      writeFileSync(file, '')
      const place = spelled
        .replace('HOME', home)
        .replace('LINK', link)
        .replace('FILE', file)
        .replace('LONG', 'x'.repeat(4000))
      const question = { session: 'main', content: 'x' }
      const code = expect.stringMatching(/^bad_(folder|request)$/)
      await expect(gateway.door.submit(place, question)).rejects.toMatchObject({ code })
      await expect(gateway.app.submit(place, question)).rejects.toMatchObject({ code: 'bad_folder' })
      const draft = { query: [{ content: 'q' }], response: { content: 'a' } }
      await expect(gateway.app.append(place, { session: 'main', draft })).rejects.toMatchObject({ code: 'bad_folder' })
      expect((await gateway.app.sessions()).rows).toEqual([])
    },
  )

  test('and a folder has one name', async () => {
    const place = realpathSync(join(gateway.runFolder, '..', '..'))
    const [real, link] = [join(place, 'project'), join(place, 'linked')]
    mkdirSync(real)
    symlinkSync(real, link)
    for (const spelled of [real, `${real}/`, `${place}/./x/../project`, link]) {
      const { itemId } = await gateway.door.submit(spelled, { session: 'main', content: 'x' })
      expect(await gateway.door.answer(spelled, itemId, never)).toMatchObject({ folder: real })
      expect((await gateway.app.log(spelled, {})).length).toBeGreaterThan(0)
    }
    expect((await gateway.app.sessions()).rows).toMatchObject([{ folder: real, label: 'main' }])
    expect((await gateway.app.sessions({ folder: `${link}/` })).rows).toHaveLength(1)
  })
})

test('a model with the name of what every object has is unknown', async () => {
  for (const model of ['__proto__', 'constructor', 'toString'])
    await expect(gateway.door.submit(folder, { session: 'main', content: 'x', model })).rejects.toMatchObject({
      code: 'model_unknown',
    })
})

test('when the server is gone, whoever waits is told so', async () => {
  await gateway.remove()
  const hold = gate()
  gateway = await newGateway([scriptedModel(() => ({ gate: hold, text: 'late' }))])
  const { itemId } = await gateway.door.submit(folder, { session: 'main', content: 'slow' })
  const answer = gateway.door.answer(folder, itemId, never).catch((error) => error)
  await hold.reached
  await gateway.server.stop()
  expect(isDaemonGone(await answer)).toBe(true)
  expect(isDaemonGone(await gateway.door.cursor().catch((error) => error))).toBe(true)
})
