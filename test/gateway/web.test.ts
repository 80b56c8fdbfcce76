import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scriptedModel } from '../../src/testing.ts'
import { newGateway, type TestGateway } from './gateway.ts'
import { raw, send, signedIn, webSettings } from './web-client.ts'

const checkout = mkdtempSync(join(tmpdir(), 'heddle-page-'))
const page = join(checkout, 'dist/web')
let gateway: TestGateway
let url: string
let host: string
let cookie: string

beforeAll(async () => {
  mkdirSync(join(page, 'assets'), { recursive: true })
  writeFileSync(join(page, 'index.html'), '<!doctype html><body><p>the page')
  writeFileSync(join(page, 'assets/main-Ab3_-9xZ.js'), 'let a = 1')
  writeFileSync(join(page, 'assets/main-Ab3_-9xZ.js.gz'), gzipSync('let a = 1'))
  gateway = await newGateway([scriptedModel(() => ({ text: 'yes' }))], { web: { ...webSettings, pageFolder: page } })
  url = gateway.server.url ?? ''
  host = new URL(url).host
  cookie = await signedIn(gateway.app, url)
})
afterAll(async () => {
  await gateway.remove()
  rmSync(checkout, { recursive: true })
})

const post = (path: string, headers: Record<string, string>, body: unknown = {}) =>
  send(url, path, { method: 'POST', headers, body })

describe('signing in', () => {
  test('a code signs one browser in, with a cookie that no script and no other site can use', async () => {
    const { code } = await gateway.app.createSignInLink()
    const first = await post('/v1/sign-in', { origin: url }, { code })
    expect({ status: first.status, text: first.text }).toEqual({ status: 200, text: '{"ok":true}' })
    expect(first.headers['set-cookie']).toEqual([
      expect.stringMatching(/^heddle-\d+=hdl_[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/),
    ])
    expect(await post('/v1/sign-in', { origin: url }, { code })).toMatchObject({ status: 401, code: 'bad_code' })
  })

  test('of ten browsers that use one code at once, one gets in', async () => {
    const { code } = await gateway.app.createSignInLink()
    const answers = await Promise.all(Array.from({ length: 10 }, () => post('/v1/sign-in', { origin: url }, { code })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('the audit tells who signed in and out, once each, and with which browser', async () => {
    await gateway.app.addUser('ada', { folder: '/here' })
    const own = await signedIn(gateway.app, url)
    const { code } = await gateway.app.createSignInLink('ada')
    await post('/v1/sign-in', { origin: url }, { code })
    await post('/v1/sign-in', { origin: url }, { code })
    await post('/v1/sign-out', { cookie: own, origin: url })
    const { rows } = await gateway.app.audit({ limit: 20 })
    const told = rows.filter(({ action }) => action.startsWith('browser.')).slice(0, 3)
    const browser = expect.stringMatching(/^token:\d+$/)
    expect(told.map(({ at: _, ...line }) => line)).toEqual([
      { principal: 'owner', action: 'browser.sign-out', resource: browser, outcome: 'ok', detail: null },
      { principal: 'user:ada', action: 'browser.sign-in', resource: browser, outcome: 'ok', detail: null },
      { principal: 'owner', action: 'browser.sign-in', resource: browser, outcome: 'ok', detail: null },
    ])
    expect(told[0]?.resource).toBe(told[2]?.resource)
  })

  test('a code is no token, and a token is no code', async () => {
    const { code } = await gateway.app.createSignInLink()
    const { token } = await gateway.app.createToken(null)
    expect(await send(url, '/v1/me', { headers: { authorization: `Bearer ${code}` } })).toMatchObject({ status: 401 })
    expect(await post('/v1/sign-in', { origin: url }, { code: token })).toMatchObject({ code: 'bad_code' })
    expect(await send(url, '/v1/me', { headers: { authorization: `Bearer ${token}` } })).toMatchObject({ status: 200 })
  })

  test('signing out ends the cookie for good', async () => {
    const own = await signedIn(gateway.app, url)
    expect(await post('/v1/sign-out', { cookie: own, origin: url })).toMatchObject({ status: 200 })
    expect(await send(url, '/v1/me', { headers: { cookie: own } })).toMatchObject({ code: 'unknown_token' })
  })

  test('a browser is in the list of tokens, and ends when it is revoked or its user is removed', async () => {
    await gateway.app.addUser('mia', { folder: '/tmp', role: 'operator' })
    const own = await signedIn(gateway.app, url, 'mia')
    expect(JSON.parse((await send(url, '/v1/me', { headers: { cookie: own } })).text)).toMatchObject({
      principal: 'user:mia',
      rank: 'operator',
      folder: '/tmp',
      name: 'test',
      home: null,
    })
    const [newest] = await gateway.app.tokens()
    expect(newest).toMatchObject({ user: 'mia', kind: 'browser', state: 'valid' })
    await gateway.app.revokeToken(newest?.id ?? 0)
    expect(await send(url, '/v1/me', { headers: { cookie: own } })).toMatchObject({ code: 'unknown_token' })
    const other = await signedIn(gateway.app, url, 'mia')
    const { code } = await gateway.app.createSignInLink('mia')
    await gateway.app.removeUser('mia')
    expect(await send(url, '/v1/me', { headers: { cookie: other } })).toMatchObject({ code: 'unknown_token' })
    expect(await post('/v1/sign-in', { origin: url }, { code })).toMatchObject({ code: 'bad_code' })
  })
})

describe('what comes over TCP needs a token or a cookie', () => {
  test.each(['/v1/me', '/v1/health', '/v1/openapi.json', '/v1/sessions', '/v1/events', '/v1/nothing', '/metrics'])(
    '%s',
    async (path) => {
      expect(await send(url, path)).toMatchObject({ status: 401, code: 'no_token' })
      expect(await send(url, path, { headers: { authorization: 'Bearer undefined' } })).toMatchObject({ status: 401 })
      expect(await send(url, path, { headers: { cookie: cookie.split('=')[0] ?? '' } })).toMatchObject({ status: 401 })
    },
  )

  test('two cookies of one name are none: a page of another port may have set one', async () => {
    const [name] = cookie.split('=')
    expect(await send(url, '/v1/me', { headers: { cookie: `${name}=other; ${cookie}` } })).toMatchObject({
      status: 401,
    })
    expect(await send(url, '/v1/me', { headers: { cookie: `a=b; ${cookie}` } })).toMatchObject({ status: 200 })
  })
})

describe('requests that another page caused are refused', () => {
  test.each([
    ...['evil.example', 'localhost', '127.0.0.1', '127.0.0.1.:PORT', 'rebind.example:PORT', 'localhost:1'],
    ...['127.0.0.1:PORT@evil.example', '[::1]', '127.1:PORT', '0.0.0.0:PORT'],
  ])('for another name of this server: %s', async (name) => {
    const asked = name.replace('PORT', new URL(url).port)
    for (const path of ['/', '/v1/me', '/healthz', '/assets/main-Ab3_-9xZ.js'])
      expect(await send(url, path, { headers: { host: asked, cookie } })).toMatchObject({ status: 421 })
  })

  test('and accepted for its own names, however they are written', async () => {
    const { port } = new URL(url)
    for (const name of [`127.0.0.1:${port}`, `localhost:${port}`, `LocalHost:${port}`, `[::1]:${port}`])
      expect(await send(url, '/v1/me', { headers: { host: name, cookie } })).toMatchObject({ status: 200 })
  })

  test('two names are none, and so is an empty one', async () => {
    for (const names of [`Host: ${host}\r\nHost: evil.example`, `Host: evil.example\r\nHost: ${host}`, 'Host:'])
      expect(await raw(url, `GET /healthz HTTP/1.1\r\n${names}\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 421/)
  })

  test.each([
    ...['null', 'http://evil.example', 'http://localhost:1', 'http://127.0.0.1', 'http://x.localhost:PORT'],
    ...['http://LOCALHOST.:PORT', 'file://', 'chrome-extension://abc', 'ws://127.0.0.1:PORT', 'http://127.0.0.1:PORT/'],
  ])('from the origin %s', async (origin) => {
    const from = origin.replace('PORT', new URL(url).port)
    for (const path of ['/', '/v1/me', '/v1/events', '/healthz'])
      expect(await send(url, path, { headers: { origin: from, cookie } })).toMatchObject({ status: 403 })
    expect(await post('/v1/inputs', { origin: from, cookie })).toMatchObject({ status: 403, code: 'foreign_page' })
    expect(await post('/v1/sign-in', { origin: from }, { code: 'x' })).toMatchObject({ status: 403 })
  })

  test.each(['cross-site', 'same-site', 'CROSS-SITE', 'none, cross-site'])('with Sec-Fetch-Site: %s', async (site) => {
    const headers = { cookie, 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' }
    for (const path of ['/v1/me', '/v1/events', '/', '/assets/main-Ab3_-9xZ.js'])
      expect(await send(url, path, { headers })).toMatchObject({ status: 403, code: 'foreign_page' })
    const navigation = { cookie, 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' }
    expect(await send(url, '/v1/me', { headers: navigation })).toMatchObject({ status: 403 })
    // A link may open the page: it holds nothing before its own requests.
    expect(await send(url, '/runs/abc', { headers: navigation })).toMatchObject({ status: 200 })
  })

  test('a change by cookie needs proof that our page asked; one by token does not', async () => {
    expect(await post('/v1/events/prune', { cookie })).toMatchObject({ status: 403, code: 'foreign_page' })
    expect(await post('/v1/events/prune', { cookie, origin: url })).toMatchObject({ status: 200 })
    expect(await post('/v1/events/prune', { cookie, 'sec-fetch-site': 'same-origin' })).toMatchObject({ status: 200 })
    const { token } = await gateway.app.createToken(null)
    expect(await post('/v1/events/prune', { authorization: `Bearer ${token}` })).toMatchObject({ status: 200 })
  })

  test('a form of another page cannot post, and no preflight is answered', async () => {
    const form = { cookie, origin: url, 'content-type': 'text/plain' }
    expect(await send(url, '/v1/events/prune', { method: 'POST', headers: form, body: '{}' })).toMatchObject({
      status: 400,
    })
    for (const method of ['OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE'])
      expect(await send(url, '/v1/me', { method, headers: { cookie } })).toMatchObject({ status: 405 })
  })

  test('what a proxy may claim of the sender changes nothing', async () => {
    const claims = {
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': host,
      'x-real-ip': '127.0.0.1',
      forwarded: 'for=::1',
    }
    expect(await send(url, '/v1/me', { headers: claims })).toMatchObject({ status: 401 })
    expect(await send(url, '/v1/me', { headers: { ...claims, host: 'evil.example' } })).toMatchObject({ status: 421 })
  })
})

describe('the page', () => {
  test('every address that is no route and no file is the page; a missing asset is missing', async () => {
    for (const path of ['/', '/runs/abc', '/why/REPORT.md:7', '/welcome', '/v1x', '/../../etc/passwd', '/%2e%2e/x'])
      expect(await raw(url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toMatch(/the page$/)
    expect(await send(url, '/assets/gone.js')).toMatchObject({ status: 404 })
    expect(await send(url, '/?gatewayUrl=ws://127.0.0.1:9999&token=x')).toMatchObject({ status: 200 })
  })

  test('hashed files are kept for ever and come as they were compressed; the page itself is asked for each time', async () => {
    const plain = await send(url, '/assets/main-Ab3_-9xZ.js')
    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'accept-encoding',
    })
    const packed = await fetch(`${url}/assets/main-Ab3_-9xZ.js`, { headers: { 'accept-encoding': 'gzip, br' } })
    expect({ encoding: packed.headers.get('content-encoding'), text: await packed.text() }).toEqual({
      encoding: 'gzip',
      text: gunzipSync(gzipSync('let a = 1')).toString(),
    })
    const html = await send(url, '/')
    expect(html.headers['cache-control']).toBe('no-cache')
    const again = await send(url, '/', { headers: { 'if-none-match': html.headers.etag ?? '' } })
    expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' })
  })

  test('a page that a checkout built before its sources were changed says so, and how to build it', async () => {
    const source = join(checkout, 'web/src/pages/chat.tsx')
    const words = 'This page is older than its sources'
    expect((await send(url, '/')).text).not.toContain(words)
    mkdirSync(dirname(source), { recursive: true })
    writeFileSync(source, '')
    const changeAll = (at: Date) => {
      for (const path of [source, dirname(source), join(checkout, 'web/src')]) utimesSync(path, at, at)
    }
    changeAll(new Date(Date.now() - 60_000))
    expect((await send(url, '/s/main')).text).not.toContain(words)
    const shared = join(checkout, 'src/api/words/word.ts')
    mkdirSync(dirname(shared), { recursive: true })
    writeFileSync(shared, '')
    utimesSync(shared, new Date(), new Date(Date.now() + 60_000))
    expect((await send(url, '/s/main')).text).toContain(words)
    rmSync(join(checkout, 'src'), { recursive: true })
    expect((await send(url, '/s/main')).text).not.toContain(words)
    changeAll(new Date(Date.now() + 60_000))
    const outdated = await send(url, '/s/main', { headers: { 'accept-encoding': 'gzip' } })
    expect(outdated.text).toContain(words)
    expect(outdated.text).toContain('npm run build:web')
    expect(outdated.text).toContain('<p>the page')
    expect(outdated.headers['cache-control']).toBe('no-store')
    rmSync(join(checkout, 'web'), { recursive: true })
  })

  test('every answer has the headers that let nothing run, load or be framed', async () => {
    const answers = await Promise.all([
      ...['/', '/healthz', '/assets/gone.js', '/v1/me'].map((path) => send(url, path)),
      send(url, '/v1/me', { headers: { cookie } }),
      send(url, '/', { headers: { host: 'evil.example' } }),
      send(url, '/v1/events/page?limit=x', { headers: { cookie } }),
    ])
    for (const { headers } of answers)
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringMatching(
          /^default-src 'none';.*frame-ancestors 'none'.*require-trusted-types-for 'script'; trusted-types 'none'$/,
        ),
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      })
  })
})

describe('listening', () => {
  test('an address that others reach needs TLS or the word of the owner', async () => {
    for (const bind of ['0.0.0.0', '::', '192.0.2.1'])
      await expect(newGateway([], { web: { ...webSettings, bind } })).rejects.toMatchObject({ code: 'plain_bind' })
  })

  test('a port that is taken is refused if the owner chose it, and else a free one is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as { port: number }
    await expect(newGateway([], { web: { ...webSettings, port, allowOtherPort: false } })).rejects.toMatchObject({
      code: 'port_taken',
    })
    const free = await newGateway([], { web: { ...webSettings, port } })
    expect(Number(new URL(free.server.url ?? '').port)).not.toBe(port)
    await free.remove()
    other.close()
  })
})
