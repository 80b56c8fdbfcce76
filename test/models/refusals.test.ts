import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { manualClock, type ProviderFaults } from '../../src/testing.ts'
import { asking, shape } from './asking.ts'

describe('an answer that is no reply says whether to ask again', () => {
  test.each([
    [401, 'provider_refused_key', 'never'],
    [403, 'provider_refused_key', 'never'],
    [404, 'model_unknown', 'never'],
    [400, 'provider_rejected', 'never'],
    [422, 'provider_rejected', 'never'],
    [402, 'provider_rejected', 'never'],
    [413, 'provider_rejected', 'never'],
    [418, 'provider_rejected', 'never'],
    [408, 'provider_busy', 'later'],
    [409, 'provider_busy', 'later'],
    [425, 'provider_busy', 'later'],
    [429, 'provider_busy', 'later'],
    [500, 'provider_failed', 'later'],
    [502, 'provider_failed', 'later'],
    [503, 'provider_busy', 'later'],
    [504, 'provider_failed', 'later'],
    [529, 'provider_busy', 'later'],
  ])('status %i is %s, retry %s', async (code, expected, retry) => {
    const { fail } = await asking({ faults: { status: { code } } })
    expect(shape(await fail())).toEqual({ code: expected, retry })
  })

  test.each([
    ['an empty body', ''],
    ['a page', '<html><body>502 Bad Gateway</body></html>'],
    ['JSON of another shape', { detail: 'no' }],
    ['broken JSON', '{"error": {"mess'],
    ['a megabyte', 'x'.repeat(1024 * 1024)],
  ])('%s in place of an error message changes nothing', async (_, body) => {
    const { fail } = await asking({ faults: { status: { code: 502, body } } })
    const failure = await fail()
    expect(shape(failure)).toEqual({ code: 'provider_failed', retry: 'later' })
    expect(failure.message.length).toBeLessThan(500)
  })

  test('the message names the model and the server, and quotes the provider on one line', async () => {
    const { fail, provider } = await asking({
      faults: { status: { code: 400, body: { error: { message: 'tools\nare \u001b[31mnot supported' } } } },
    })
    const { message, remedy } = await fail()
    expect(message).toBe(
      `model main (${new URL(provider.url).host}) rejects the request: 400 "tools are [31mnot supported"`,
    )
    expect(remedy).toBe('check models.main in heddle.yaml')
  })

  test('an unknown model names the setting to correct', async () => {
    const { fail } = await asking({ faults: { status: { code: 404 } } })
    const { message, remedy } = await fail()
    expect(message).toContain('does not know test-model')
    expect(remedy).toBe('correct models.main.model or models.main.baseURL')
  })

  test('a redirect is not followed: the owner chose where the conversation goes', async () => {
    const elsewhere = await asking({ text: 'from elsewhere' })
    const headers = { location: `${elsewhere.provider.url}/chat/completions` }
    const { fail } = await asking({ faults: { status: { code: 307, headers } } })
    expect(shape(await fail())).toEqual({ code: 'provider_rejected', retry: 'never' })
    expect(elsewhere.provider.log).toEqual([])
  })

  test.each(['text/html; charset=utf-8', 'application/json'])('a success with %s is no stream', async (contentType) => {
    const { fail } = await asking({
      faults: { status: { code: 200, headers: { 'content-type': contentType }, body: '<html>welcome</html>' } },
    })
    const failure = await fail()
    expect(shape(failure)).toEqual({ code: 'provider_rejected', retry: 'never' })
    expect(failure.remedy).toContain('models.main.baseURL')
  })
})

describe('a provider that asks to wait is heard, unless it cannot mean it', () => {
  const clock = manualClock(Date.UTC(2026, 0, 1, 12))
  test.each([
    ['in seconds', '20', 20_000],
    ['in parts of a second', '0.5', 500],
    ['not at all', '0', 0],
    ['until a date', 'Thu, 01 Jan 2026 12:01:30 GMT', 90_000],
    ['for an hour', '3600', 3_600_000],
    ['for more than an hour', '3601', undefined],
    ['for thirty years', '1000000000', undefined],
    ['for a negative time', '-5', undefined],
    ['until a date that is past', 'Thu, 01 Jan 2026 11:59:00 GMT', undefined],
    ['until a date years from now', 'Thu, 01 Jan 2032 12:00:00 GMT', undefined],
    ['in words', 'a while', undefined],
    ['with an empty value', '', undefined],
  ])('%s', async (_, value, retryAfter) => {
    const { fail } = await asking({ faults: { status: { code: 429, headers: { 'retry-after': value } } } }, { clock })
    expect(shape(await fail())).toEqual({
      code: 'provider_busy',
      retry: 'later',
      ...(retryAfter !== undefined && { retryAfter }),
    })
  })

  test.each([503, 529, 500])('%i may ask to wait too', async (code) => {
    const { fail } = await asking({ faults: { status: { code, headers: { 'retry-after': '7' } } } })
    expect((await fail()).retryAfter).toBe(7_000)
  })
})

describe('a provider that cannot be reached may be reached later', () => {
  test('nobody listens', async () => {
    const { fail, provider } = await asking({})
    await provider.close()
    expect(shape(await fail())).toEqual({ code: 'provider_unreachable', retry: 'later' })
  })

  test('the connection is reset before any answer', async () => {
    const { fail } = await asking({ faults: { reset: true } })
    const failure = await fail()
    expect(shape(failure)).toEqual({ code: 'provider_unreachable', retry: 'later' })
    expect(failure.message).toContain('ECONNRESET')
  })

  test('the name leads nowhere', async () => {
    const { fail } = await asking({}, { settings: { baseURL: 'http://nowhere.invalid/v1' } })
    expect(shape(await fail())).toEqual({ code: 'provider_unreachable', retry: 'later' })
  })

  test('the server does not speak TLS', async () => {
    const server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const { fail } = await asking({}, { settings: { baseURL: `https://127.0.0.1:${port}/v1` } })
    expect(shape(await fail())).toEqual({ code: 'provider_unreachable', retry: 'later' })
    server.close()
  })

  test.each(['not an address', 'http://127.0.0.1:9/v1', 'http://me:hunter2@127.0.0.1/v1', 'ftp://127.0.0.1/v1'])(
    'an address that cannot be asked is not tried again: %s',
    async (baseURL) => {
      const { fail } = await asking({}, { settings: { baseURL } })
      const failure = await fail()
      expect(shape(failure)).toEqual({ code: 'provider_unreachable', retry: 'never' })
      expect(failure.remedy).toContain('models.main.baseURL')
      expect(everything(failure)).not.toContain('hunter2')
    },
  )
})

describe('a key is never told', () => {
  const canary = 'sk-canary-4f9b2c77d1e05a3866ab'

  test('a wrong key is refused at once, with the model and the setting that holds it', async () => {
    const { fail, provider } = await asking({}, { key: 'another', settings: { apiKey: canary } })
    const failure = await fail()
    expect(shape(failure)).toEqual({ code: 'provider_refused_key', retry: 'never' })
    expect(failure.message).toContain('model main')
    expect(failure.message).toContain('Incorrect API key provided: [redacted]')
    expect(failure.remedy).toBe(
      'correct models.main.apiKey in heddle.yaml, or the variable or secret it names (heddle secret set NAME)',
    )
    expect(everything(failure)).not.toContain('canary')
    expect(provider.log.map(({ kind }) => kind)).toEqual(['received', 'refused'])
  })

  test('a missing key is asked for', async () => {
    const { fail } = await asking({}, { key: 'needed' })
    const failure = await fail()
    expect(failure.message).toContain('needs a key')
    expect(failure.remedy).toMatch(
      /^store a key: heddle secret set main; then set models\.main\.apiKey in heddle\.yaml to \$\{secret:main\}$/,
    )
  })

  test.each([
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    'prompt is too long: 210000 tokens > 200000 maximum',
    'Input exceeds the context window of this model.',
  ])('a request that does not fit is told with what to change: %s', async (message) => {
    const failure = await (await asking({ faults: { status: { code: 400, body: { error: { message } } } } })).fail()
    expect(shape(failure)).toEqual({ code: 'provider_rejected', retry: 'never' })
    expect(failure.message).toContain('says that the request is too long')
    expect(failure.remedy).toBe(
      'lower models.main.contextWindow to what the model has, ask for less, or start a new session',
    )
  })

  test('the right key is sent', async () => {
    const { ask } = await asking({ text: 'in' }, { key: canary, settings: { apiKey: canary } })
    expect((await ask()).text).toBe('in')
  })

  test.each<[string, ProviderFaults]>([
    ['an error message', { status: { code: 400, body: { error: { message: `bad ${canary} here` } } } }],
    [
      'a part of it in an error message',
      { status: { code: 400, body: { error: { message: `${canary.slice(0, 20)}…` } } } },
    ],
    ['an error message of another shape', { status: { code: 500, body: { detail: `Bearer ${canary}` } } }],
    ['an error without shape', { status: { code: 503, body: `key=${canary}` } }],
    [
      'the kind of content',
      { status: { code: 200, headers: { 'content-type': `text/html; x=${canary}` }, body: 'x' } },
    ],
    ['an error in the stream', { errorEvent: { message: `quota of ${canary}` } }],
    ['an error in the stream of another shape', { errorEvent: canary }],
  ])('although the provider quotes it in %s', async (_, faults) => {
    const { fail } = await asking({ text: 'abc', faults }, { settings: { apiKey: canary } })
    const told = everything(await fail())
    for (let at = 0; at + 8 <= canary.length; at++) expect(told).not.toContain(canary.slice(at, at + 8))
  })

  test('although no request can carry it', async () => {
    const { fail } = await asking({}, { settings: { apiKey: `${canary}\n${canary}` } })
    const failure = await fail()
    expect(shape(failure)).toEqual({ code: 'provider_refused_key', retry: 'never' })
    expect(everything(failure)).not.toContain('canary')
  })
})

/** All that a log or a row could hold of an error. */
function everything(error: Error): string {
  return [inspect(error, { depth: 10, showHidden: true }), JSON.stringify(error), String(error), error.stack].join('\n')
}
