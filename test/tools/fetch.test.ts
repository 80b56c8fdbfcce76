import type { IncomingMessage } from 'node:http'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Lookup } from '../../src/tools/fetch/fetch-target.ts'
import { certificate } from './fetch-certificate.ts'
import { get, open, refusal, sitesOfTests } from './fetch-site.ts'

const { site, close } = sitesOfTests()
afterEach(close)

const saying = (text: string | Buffer, headers: Record<string, string> = {}) =>
  site((_, response) => response.writeHead(200, headers).end(text))
const redirecting = (to: (request: IncomingMessage) => string, status = 302) =>
  site((request, response) => response.writeHead(status, { location: to(request) }).end())

describe('a request', () => {
  test('goes to the address that was looked up, under the name that was asked for, and tells nothing else', async () => {
    const { origin, port, requests } = await saying('hello', { 'content-type': 'text/plain', 'set-cookie': 'a=b' })
    const fetched = await get(`${origin}/path?q=1#part`, { allow: [origin] })
    expect(fetched).toEqual({
      url: `${origin}/path?q=1`,
      status: 200,
      contentType: 'text/plain',
      body: Buffer.from('hello'),
      isCut: false,
    })
    expect(requests.map(({ method, url, headers }) => ({ method, url, headers }))).toEqual([
      {
        method: 'GET',
        url: '/path?q=1',
        headers: {
          host: `site.test:${port}`,
          'user-agent': 'heddle (web_fetch)',
          accept: expect.any(String),
          'accept-encoding': 'gzip, deflate, br',
          connection: 'close',
        },
      },
    ])
  })

  test('looks a name up once: what it says a moment later is not asked for', async () => {
    const first = await site((_, response) => response.end('first'), { host: '127.0.0.2' })
    const second = await site((_, response) => response.end('second'), { port: first.port })
    const answers = [['127.0.0.2'], ['127.0.0.1'], ['127.0.0.1']]
    const lookup: Lookup = async () => answers.shift() ?? []
    expect((await open(first.origin, first, { lookup })).body.toString()).toBe('first')
    expect(answers).toHaveLength(2)
    expect(second.connections).toEqual([])
  })

  test('tries the next of the checked addresses when one does not answer', async () => {
    const there = await saying('hello')
    const lookup: Lookup = async () => ['127.0.0.3', '127.0.0.1']
    expect((await open(there.origin, there, { lookup })).body.toString()).toBe('hello')
  })

  test('gets to a private server only by the origin that the owner opened', async () => {
    const there = await saying('private')
    const { port } = there
    const allow = [`http://127.0.0.1:${port}`]
    expect((await get(`http://127.0.0.1:${port}/a`, { allow })).body.toString()).toBe('private')
    expect((await get(`http://2130706433:${port}/a`, { allow })).body.toString()).toBe('private')
    const others = [
      `http://127.0.0.2:${port}`,
      `http://site.test:${port}`,
      `https://127.0.0.1:${port}`,
      'http://127.0.0.1',
    ]
    for (const url of [...others, `http://localhost:${port}`, `http://[::1]:${port}`, `http://127.0.0.1:${port + 1}`])
      expect(await refusal(get(url, { allow }))).toMatchObject({ code: 'forbidden' })
    expect(there.connections).toHaveLength(2)
  })
})

describe('a server that must prove who it is', () => {
  beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), certificate]))

  test('is asked by its name, and believed', async () => {
    const there = await site((_, response) => response.end('safe'), { secure: true })
    expect((await open(there.origin, there)).body.toString()).toBe('safe')
    expect(there.requests.map(({ socket }) => (socket as TLSSocket & { servername: string }).servername)).toEqual([
      'site.test',
    ])
  })

  test('is refused under another name, whatever the environment says', async () => {
    const there = await site((_, response) => response.end('safe'), { secure: true })
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      for (const host of ['other.test', '127.0.0.1']) {
        const origin = `https://${host}:${there.port}`
        expect(await refusal(get(origin, { allow: [origin] }))).toEqual({
          code: 'fetch_failed',
          message: 'the server has no valid certificate (ERR_TLS_CERT_ALTNAME_INVALID)',
        })
      }
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    }
    expect(there.requests).toEqual([])
  })
})

describe('a redirect', () => {
  test('that may not leave its host gets to the same one, to www., and to origins that the owner opened', async () => {
    const there = await saying('here')
    const origins = ['site.test', 'www.site.test', 'opened.test'].map((host) => `http://${host}:${there.port}`)
    const from = await redirecting(({ url = '' }) => decodeURIComponent(url.slice(1)))
    const follow = (to: string) =>
      get(`${from.origin}/${encodeURIComponent(to)}`, { allow: [from.origin, ...origins], staysOnHost: true })
    for (const origin of origins) expect((await follow(`${origin}/`)).body.toString()).toBe('here')
    expect(await refusal(follow('http://evil.test/?q=secret'))).toMatchObject({
      code: 'forbidden',
      message: 'the URL leads to another site: http://evil.test/?q=secret',
    })
  })

  test.each([301, 302, 303, 307, 308])('by %d is followed, relative to where it stands', async (status) => {
    const there = await site((request, response) => {
      const location = Buffer.from('../ünï?x#y', request.url === '/a/utf8' ? 'utf8' : 'latin1').toString('latin1')
      if (request.url?.startsWith('/a/')) response.writeHead(status, { location }).end('moved')
      else response.end('here')
    })
    for (const path of ['/a/utf8', '/a/latin1']) {
      const fetched = await open(`${there.origin}${path}`, there)
      expect([fetched.url, fetched.body.toString()]).toEqual([`${there.origin}/%C3%BCn%C3%AF?x`, 'here'])
    }
  })

  test.each([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://localhost:PORT/',
    '//127.0.0.1:PORT/',
    'http://evil.test:PORT/',
    'https://evil.test:PORT/',
    'http://user:pass@site.test:SITE/',
    'http://site.test:22/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'http://[broken',
  ])('to %s is refused, and nothing gets there', async (target) => {
    const secret = await saying('secret')
    const at = await redirecting(({ url }) =>
      url === '/' ? target.replace('PORT', String(secret.port)).replace('SITE', at.origin.split(':')[2] ?? '') : '/',
    )
    const { code, message } = await refusal(open(`${at.origin}/`, at))
    expect(['forbidden', 'fetch_unusable']).toContain(code)
    expect(message).not.toMatch(/evil|user|passwd/)
    expect(secret.connections).toEqual([])
    expect(at.requests).toHaveLength(1)
  })

  test('to the same name is looked up and checked again', async () => {
    const secret = await saying('secret')
    const at = await redirecting(() => `http://site.test:${secret.port}/`)
    const asked: string[] = []
    const lookup: Lookup = async (host) => {
      asked.push(host)
      return ['127.0.0.1']
    }
    expect(await refusal(open(at.origin, at, { lookup }))).toMatchObject({ code: 'forbidden' })
    expect(asked).toEqual(['site.test', 'site.test'])
    expect(secret.connections).toEqual([])
  })

  test('is followed five times, and in a circle no longer', async () => {
    const count = (url = '') => Number(url.slice(1))
    const at = await site(({ url }, response) => {
      if (count(url) === 5) response.end('the end')
      else response.writeHead(302, { location: `/${count(url) + 1}` }).end()
    })
    expect((await open(`${at.origin}/0`, at)).body.toString()).toBe('the end')
    const circle = await redirecting(() => '/')
    expect(await refusal(open(circle.origin, circle))).toEqual({
      code: 'fetch_failed',
      message: 'the URL redirects more than 5 times',
    })
    expect(circle.requests).toHaveLength(6)
  })

  test('carries no cookie, no credentials and no word of where it came from', async () => {
    const last = await saying('last')
    const first = await site((_, response) => {
      const headers = {
        location: `${last.origin}/`,
        'set-cookie': 'session=1; Domain=site.test',
        authorization: 'Basic eA==',
      }
      response.writeHead(302, { ...headers, 'www-authenticate': 'Basic' }).end()
    })
    await get(`${first.origin}/?token=1`, { allow: [first.origin, last.origin] })
    expect(Object.keys(last.requests[0]?.headers ?? {}).sort()).toEqual(
      ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'].sort(),
    )
  })

  test('without a place to go is an answer like any other', async () => {
    const at = await site((_, response) => response.writeHead(302).end('lost'))
    expect(await open(at.origin, at)).toMatchObject({ status: 302, body: Buffer.from('lost') })
  })

  test('does not wait for its own body', async () => {
    const at = await site((request, response) => {
      if (request.url === '/') response.writeHead(302, { location: '/next' }).write('endless')
      else response.end('next')
    })
    expect((await open(at.origin, at)).body.toString()).toBe('next')
  })
})
