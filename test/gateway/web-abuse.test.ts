import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AdmittedTokens } from '../../src/gateway/web/admitted-tokens.ts'
import { callerAddress, RateLimits } from '../../src/gateway/web/rate-limits.ts'
import { manualClock, scriptedModel } from '../../src/testing.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'
import { raw, send, signedIn, webSettings } from './web-client.ts'

let gateway: TestGateway
let url: string
let host: string
let cookie: string
/** What was answered to headers that never end. */
let unended: Promise<string>[]
beforeAll(async () => {
  gateway = await newGateway([scriptedModel(() => ({ text: 'yes' }))], {
    web: { ...webSettings, failuresPerMinute: 5, requestsPerSecond: 10 },
  })
  url = gateway.server.url ?? ''
  host = new URL(url).host
  cookie = await signedIn(gateway.app, url)
  // Both end only because the server ends them, after five seconds: other tests go on meanwhile.
  unended = [raw(url, `GET / HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `), raw(url, '')]
})
afterAll(() => gateway.remove())

const head = (line: string, ...headers: string[]) => `${[line, `Host: ${host}`, ...headers].join('\r\n')}\r\n\r\n`

test('a request that is refused by its headers gets its answer before it has sent its body, and its connection ends', async () => {
  const size = 'Content-Length: 1000000000'
  for (const [headers, status] of [
    [[size], 401],
    [[size, 'Authorization: Bearer hdl_wrong'], 401],
    [[size, `Cookie: ${cookie}`], 403],
    [[size, `Cookie: ${cookie}`, 'Origin: http://evil.example'], 403],
    [['Transfer-Encoding: chunked', `Cookie: ${cookie}`, 'Sec-Fetch-Site: cross-site'], 403],
    [[size, 'Content-Type: application/json', `Cookie: ${cookie}`, `Origin: ${url}`], 413],
  ] as const)
    expect(await raw(url, head('POST /v1/inputs HTTP/1.1', ...headers))).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('a body that no route reads is refused with its headers, so that none holds a connection for as long as it trickles', async () => {
  for (const [line, status] of [
    ['GET / HTTP/1.1', 400],
    ['GET /healthz HTTP/1.1', 400],
    ['GET /assets/none.js HTTP/1.1', 400],
    ['GET /v1/sign-in HTTP/1.1', 400],
    ['GET /v1/me HTTP/1.1', 400],
    ['POST / HTTP/1.1', 405],
    ['POST /readyz HTTP/1.1', 405],
    ['POST /v1/sign-in HTTP/1.1', 400],
  ] as const)
    for (const body of ['Content-Length: 1000000', 'Transfer-Encoding: chunked'])
      expect([line, await trickle(head(line, `Cookie: ${cookie}`, body))]).toEqual([
        line,
        expect.stringMatching(new RegExp(`^HTTP/1.1 ${status} `)),
      ])
})

/** Sends a byte of a body again and again until the server ends the connection, and gives its answer. */
function trickle(text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8')
  let answer = ''
  socket.on('data', (piece) => {
    answer += piece
  })
  socket.on('error', () => undefined)
  socket.write(text)
  const timer = setInterval(() => socket.write('1'), 100)
  return new Promise((resolve) =>
    socket.once('close', () => {
      clearInterval(timer)
      resolve(answer)
    }),
  )
}

test('nobody is asked to send a body before its headers were looked at', async () => {
  const expects = ['Expect: 100-continue', 'Content-Length: 10', 'Content-Type: application/json']
  expect(await raw(url, head('POST /v1/inputs HTTP/1.1', ...expects))).toMatch(/^HTTP\/1.1 401 /)
  const own = [`Cookie: ${cookie}`, `Origin: ${url}`]
  const asked = await raw(url, head('POST /v1/inputs HTTP/1.1', ...expects, ...own), /100 Continue/)
  expect(asked).toMatch(/^HTTP\/1.1 100 Continue/)
})

test('who sends a code may send little else', async () => {
  const body = { code: 'x'.repeat(5000) }
  expect(await send(url, '/v1/sign-in', { method: 'POST', headers: { origin: url }, body })).toMatchObject({
    status: 413,
  })
})

test('a browser that is signed out hears nothing more within a second', async () => {
  const own = await signedIn(gateway.app, url)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.setEncoding('utf8')
  let heard = ''
  const isOpen = Promise.withResolvers<void>()
  socket.on('data', (piece) => {
    heard += piece
    isOpen.resolve()
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(head('GET /v1/events HTTP/1.1', `Cookie: ${own}`, 'Connection: close'))
  await isOpen.promise
  const [newest] = await gateway.app.tokens()
  await gateway.app.revokeToken(newest?.id ?? 0)
  await closed
  expect(heard).toMatch(/event: failed\r?\ndata: .*unknown_token/)
  await gateway.door.submit(folder, { session: 'main', content: 'a secret' })
  expect(heard).not.toContain('a secret')
})

test('wrong tokens and codes are counted, on this machine too; who was good before goes on', async () => {
  const wrong = (n: number) => send(url, '/v1/me', { headers: { authorization: `Bearer hdl_guess${n}` } })
  const statuses: number[] = []
  for (let n = 0; n < 8; n++) statuses.push((await wrong(n)).status)
  expect(statuses.at(-1)).toBe(429)
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(5)
  const { code } = await gateway.app.createSignInLink()
  const sign = await send(url, '/v1/sign-in', { method: 'POST', headers: { origin: url }, body: { code } })
  expect(sign).toMatchObject({ status: 429, code: 'too_many_requests' })
  expect(sign.headers['retry-after']).toMatch(/^\d+$/)
  expect(await send(url, '/v1/me', { headers: { cookie } })).toMatchObject({ status: 200 })
})

test('many callers with names of their own need no more memory than a thousand of them', () => {
  const clock = manualClock()
  const limits = new RateLimits({ burst: 2, perSecond: 1 }, clock)
  limits.take('first')
  limits.take('first')
  expect(() => limits.take('first')).toThrow('too many requests')
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 200_000; n++) limits.take(`caller ${n}`)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50 * 1024 * 1024)
  // Forgotten meanwhile, as someone who was silent for long.
  limits.take('first')
})

test('an address counts as one however it is written, and a network of IPv6 as one caller', () => {
  expect(callerAddress('::ffff:127.0.0.1')).toBe(callerAddress('127.0.0.1'))
  expect(callerAddress('2001:db8:1:2:3:4:5:6')).toBe(callerAddress('2001:db8:1:2:ffff::1'))
  expect(callerAddress('2001:db8:1:3::1')).not.toBe(callerAddress('2001:db8:1:2::1'))
  expect(callerAddress('2001:db8::1')).toBe(callerAddress('2001:db8::2:0:0:7'))
  expect(callerAddress('2001:db8::1')).not.toBe(callerAddress('2001:db8:0:1::1'))
})

test('a token that is wrong stays wrong without being counted again, and may be sent as often as a good one', async () => {
  const clock = manualClock()
  const rate = { burst: 10, perSecond: 1 }
  const failures = new RateLimits({ burst: 2, perSecond: 0 }, clock)
  const tokens = new AdmittedTokens(gateway.app, { failures, requests: new RateLimits(rate, clock) })
  for (let n = 0; n < 10; n++)
    await expect(tokens.identify('hdl_old', '127.0.0.1')).rejects.toMatchObject({ code: 'unknown_token' })
  await expect(tokens.identify('hdl_old', '127.0.0.1')).rejects.toMatchObject({ code: 'too_many_requests' })
  const { token } = await gateway.app.createToken(null)
  expect(await tokens.identify(token, '127.0.0.1')).toMatchObject({ kind: 'owner' })
})

test('a thousand connections that say nothing leave room for those who ask', async () => {
  const idle: Socket[] = []
  await Promise.all(
    Array.from({ length: 1000 }, () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      idle.push(socket)
      socket.on('error', () => undefined)
      return new Promise((resolve) => socket.once('connect', resolve))
    }),
  )
  expect(await send(url, '/healthz')).toMatchObject({ status: 200 })
  for (const socket of idle) socket.destroy()
})

test('a client that asks too often is refused for a while, and others are not', async () => {
  const answers = await Promise.all(Array.from({ length: 60 }, () => send(url, '/v1/cursor', { headers: { cookie } })))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]))
  expect(await send(url, '/healthz')).toMatchObject({ status: 200 })
})

test('headers that are too long, or never end, end the connection', async () => {
  const long = await raw(url, head('GET / HTTP/1.1', `X: ${'y'.repeat(20_000)}`))
  expect(long).toMatch(/^HTTP\/1.1 431 /)
  const [slow] = await Promise.all(unended)
  expect(slow).toMatch(/^HTTP\/1.1 408 /)
})
