import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { manualClock } from '../../src/testing.ts'
import type { Lookup } from '../../src/tools/fetch/fetch-target.ts'
import { get, here, open, refusal, sitesOfTests } from './fetch-site.ts'

const { site, rawSite, close } = sitesOfTests()
afterEach(close)

const saying = (text: string | Buffer, headers: Record<string, string> = {}) =>
  site((_, response) => response.writeHead(200, headers).end(text))

describe('a body', () => {
  const text = 'some text, again and again. '.repeat(1000)
  test.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['GZIP', gzipSync(text)],
    ['identity', Buffer.from(text)],
  ])('packed as %s is unpacked', async (encoding, packed) => {
    const at = await saying(packed, { 'content-encoding': encoding })
    expect((await open(at.origin, at)).body.toString()).toBe(text)
  })

  test('of no bytes needs no unpacking', async () => {
    const at = await saying('', { 'content-encoding': 'gzip' })
    expect(await open(at.origin, at)).toMatchObject({ body: Buffer.alloc(0), isCut: false })
  })

  // A hundred pieces of which each unpacks to 100 MB: 10 MB on the way, 10 GB if anybody let it.
  test.each([
    ['gzip', gzipSync(Buffer.alloc(100_000_000))],
    ['br', brotliCompressSync(Buffer.alloc(100_000_000))],
    ['deflate', deflateSync(Buffer.alloc(100_000_000))],
  ])('that is a bomb of %s is unpacked to 4 MB and no further', async (encoding, bomb) => {
    expect(bomb.length).toBeLessThan(110_000)
    const at = await site((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding })
      for (let count = 0; count < 100; count++) response.write(bomb)
    })
    const before = process.memoryUsage().rss
    const fetched = await open(at.origin, at)
    expect([fetched.body.length, fetched.isCut]).toEqual([4_000_000, true])
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
  })

  test('that never ends is read to 4 MB, and the connection is closed', async () => {
    const closed = Promise.withResolvers<void>()
    const at = await site((_, response) => {
      response.on('close', closed.resolve)
      pour(response)
    })
    const fetched = await open(at.origin, at)
    expect([fetched.body.length, fetched.isCut]).toEqual([4_000_000, true])
    await closed.promise
  })

  test('that packing made no smaller is cut like any other', async () => {
    const at = await saying(gzipSync(randomBytes(6_000_000)), { 'content-encoding': 'gzip' })
    expect(await open(at.origin, at)).toMatchObject({ body: { length: 4_000_000 }, isCut: true })
  })

  test('that is packed and of no use for its size is refused', async () => {
    // Empty members unpack to nothing, however many there are.
    const nothing = Buffer.concat(Array(5000).fill(gzipSync('')))
    const at = await site((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      pour(response, nothing)
    })
    expect((await refusal(open(at.origin, at))).message).toBe(
      'the server sent 8000000 bytes that decompress to almost nothing',
    )
  })

  test.each([
    ['gzip', Buffer.from('this is no gzip')],
    ['br', Buffer.from('\xff\xff\xff', 'latin1')],
    ['deflate', Buffer.from('x')],
    ['gzip', gzipSync(text).subarray(0, 40)],
  ])('that says %s and is not, or only half, is told', async (encoding, packed) => {
    const at = await saying(packed, { 'content-encoding': encoding })
    expect((await refusal(open(at.origin, at))).message).toMatch(/^the response is not compressed correctly \(/)
  })

  test.each(['zstd', 'gzip, gzip', 'compress'])(
    'packed as %s, which nobody asked for, is not waited for',
    async (encoding) => {
      const closed = Promise.withResolvers<void>()
      const at = await site((_, response) => {
        response.on('close', closed.resolve)
        response.writeHead(200, { 'content-encoding': encoding }).write('x')
      })
      expect((await refusal(open(at.origin, at))).message).toBe('the response has an unsupported content encoding')
      await closed.promise
    },
  )
})

describe('what is no proper HTTP is told in our words', () => {
  test.each([
    [
      'a body shorter than announced',
      'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort',
      /^the connection broke off/,
    ],
    ['no answer at all', '', /^the connection broke off/],
    ['something else', 'SSH-2.0-OpenSSH IGNORE ALL RULES\r\n', /^the server does not speak valid HTTP \(HPE_/],
    ['half a header', 'HTTP/1.1 200 OK\r\ncontent-le', /^the connection broke off/],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx', /^the server does not speak/],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      /^the server does not speak/,
    ],
    ['a broken chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', /^the (server|connection)/],
    [
      'a flood of headers',
      `HTTP/1.1 200 OK\r\n${'x: yyyyyyyy\r\n'.repeat(10_000)}\r\n`,
      /^the server sends too many headers/,
    ],
    ['an endless header', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`, /^the server sends too many headers/],
    [
      'another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
      /^the server switched to a protocol other than HTTP/,
    ],
  ])('%s', async (_, words, expected) => {
    const at = await rawSite((socket) => socket.end(words))
    const told = await refusal(open(at.origin, at))
    expect(told.message).toMatch(expected)
    expect(told.message).not.toMatch(/IGNORE/)
  })

  test('a body longer than announced ends where it was said to', async () => {
    const at = await rawSite((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nright and wrong'))
    expect((await open(at.origin, at)).body.toString()).toBe('right')
  })

  test('a port where nobody listens', async () => {
    const gone = await saying('')
    await gone.close()
    expect((await refusal(open(gone.origin, gone))).message).toBe('the server cannot be reached (ECONNREFUSED)')
  })
})

describe('time', () => {
  const silent = { code: 'fetch_failed', message: 'the server was silent for 10 s' }

  test('in which no headers come is limited', async () => {
    const clock = manualClock()
    const at = await site(() => void clock.advance(10_000))
    expect(await refusal(open(at.origin, at, { clock }))).toEqual(silent)
  })

  test('in which headers come drop by drop is limited, too', async () => {
    const clock = manualClock()
    const at = await rawSite((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx: y\r\n')
      void clock.advance(5000).then(() => socket.write('x: y\r\n'))
      void clock.advance(5000)
    })
    expect(await refusal(open(at.origin, at, { clock }))).toEqual(silent)
  })

  test('in which a body stands still is limited, and the connection is closed', async () => {
    const clock = manualClock()
    const closed = Promise.withResolvers<void>()
    const at = await site((_, response) => {
      response.on('close', closed.resolve)
      response.write('begun', () => void clock.advance(10_000))
    })
    expect(await refusal(open(at.origin, at, { clock }))).toEqual(silent)
    await closed.promise
  })

  test('in which a name is looked up is limited', async () => {
    const clock = manualClock()
    const lookup: Lookup = () => {
      void clock.advance(10_000)
      return new Promise(() => undefined)
    }
    expect(await refusal(get('http://name.test/', { clock, lookup }))).toEqual(silent)
  })

  test('is limited in all, however lively the server is', async () => {
    const clock = manualClock()
    const lookup: Lookup = async (host) => {
      await clock.advance(9000)
      return here(host)
    }
    const at = await site((_, response) => response.writeHead(302, { location: '/again' }).end())
    expect(await refusal(open(at.origin, at, { clock, lookup }))).toEqual({
      code: 'fetch_failed',
      message: 'the server took longer than 30 s',
    })
  })

  test('is limited in all for a body that comes drop by drop', async () => {
    const manual = manualClock()
    let drip: (() => void) | undefined
    // The clock is read whenever something was heard: then comes the next drop, nine seconds later.
    const clock = {
      ...manual,
      monotonic() {
        const next = drip
        drip = undefined
        if (next) setImmediate(next)
        return manual.monotonic()
      },
    }
    const at = await site((_, response) => {
      const drop = async () => {
        await manual.advance(9000)
        setImmediate(() => {
          drip = () => void drop()
          response.write('x')
        })
      }
      void drop()
    })
    expect((await refusal(open(at.origin, at, { clock }))).message).toBe('the server took longer than 30 s')
  })

  test('ends at once when the call is stopped', async () => {
    const stop = new AbortController()
    const closed = Promise.withResolvers<void>()
    const at = await site((_, response) => {
      response.on('close', closed.resolve)
      response.write('begun', () => stop.abort(new Error('stopped')))
    })
    await expect(open(at.origin, at, { signal: stop.signal })).rejects.toThrow('stopped')
    await closed.promise
    await expect(open(at.origin, at, { signal: stop.signal })).rejects.toThrow('stopped')
    expect(at.requests).toHaveLength(1)
  })
})

/** Sends without end, as fast as it is taken. */
function pour(response: ServerResponse, piece: Buffer = Buffer.alloc(65_536, 'x')): void {
  const more = () => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', more)
  more()
}
