import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HeddleError } from '../../src/domain/errors.ts'
import { httpEmbedder } from '../../src/models/embedder/http-embedder.ts'
import { systemClock } from '../../src/system.ts'
import {
  answerPlainly,
  manualClock,
  type ProviderOptions,
  startProvider,
  type TestEmbeddings,
} from '../../src/testing.ts'

const still = new AbortController().signal

async function embedding(embeddings: TestEmbeddings = {}, more: Partial<ProviderOptions> & { apiKey?: string } = {}) {
  const { apiKey, clock = systemClock, ...options } = more
  const provider = await startProvider({ answer: answerPlainly, embeddings, ...options })
  onTestFinished(provider.close)
  const place = { baseURL: provider.url, model: 'small', ...(apiKey !== undefined && { apiKey }) }
  const embedder = httpEmbedder(place, clock)
  const fail = async (texts = ['a']) => {
    const error = await embedder.embed(texts, { signal: still }).catch((thrown: unknown) => thrown)
    if (!(error instanceof HeddleError)) throw new Error(`no failure of ours: ${inspect(error)}`)
    return error
  }
  return { provider, embedder, fail }
}

const vector = (...numbers: unknown[]) => ({ embedding: numbers })

test('each text has its vector, in their order, however they come back', async () => {
  const { embedder } = await embedding({
    faults: () => ({
      body: {
        data: [
          { index: 1, ...vector(0, 2) },
          { index: 0, ...vector(1, 0) },
        ],
      },
    }),
  })
  const vectors = await embedder.embed(['a', 'b'], { signal: still })
  expect(vectors).toEqual([Float32Array.of(1, 0), Float32Array.of(0, 2)])
})

test('many texts go in requests of 32, each cut to 2,000 characters', async () => {
  const { provider, embedder } = await embedding()
  const texts = Array.from({ length: 70 }, (_, at) => `${at} ${'x'.repeat(3000)}`)
  expect(await embedder.embed(texts, { signal: still })).toHaveLength(70)
  const sent = provider.log.flatMap((line) => (line.kind === 'received' ? [line.body as { input: string[] }] : []))
  expect(sent.map(({ input }) => input.length)).toEqual([32, 32, 6])
  expect(Math.max(...sent.flatMap(({ input }) => input.map(({ length }) => length)))).toBe(2000)
})

test('its name tells address and model and no secret of the address', () => {
  const { name } = httpEmbedder({ baseURL: 'https://me:pass@h:1/v1/?token=t', model: 'small' }, systemClock)
  expect(name).toBe('h:1/v1/ small')
})

describe('what is no answer to the question says so', () => {
  test.each([
    ['a page', '<html></html>', 'something other than a list of vectors'],
    ['nothing', '', 'something other than a list of vectors'],
    ['another shape', { vectors: [] }, 'something other than a list of vectors'],
    ['null', 'null', 'something other than a list of vectors'],
    ['too few', { data: [vector(1)] }, '1 vectors for 2 texts'],
    [
      'the same text twice',
      {
        data: [
          { index: 0, ...vector(1) },
          { index: 0, ...vector(1) },
        ],
      },
      'no vector for one',
    ],
    [
      'a text that was not sent',
      {
        data: [
          { index: 5, ...vector(1) },
          { index: 0, ...vector(1) },
        ],
      },
      'no vector for one',
    ],
    ['different lengths', { data: [vector(1, 2), vector(1)] }, 'different lengths'],
    ['no numbers', { data: [vector(), vector()] }, 'without numbers'],
    ['too many numbers', { data: [vector(...Array(5000).fill(1)), vector(1)] }, 'more than 4096'],
    ['a word for a number', { data: [vector('1'), vector(1)] }, 'not a number'],
    ['NaN', '{"data":[{"embedding":[NaN]},{"embedding":[1]}]}', 'something other than a list of vectors'],
    ['null for a number', { data: [vector(null), vector(1)] }, 'not a number'],
    ['zeros', { data: [vector(0, 0), vector(1, 0)] }, 'cannot be normalized'],
    ['numbers without end', '{"data":[{"embedding":[1e300]},{"embedding":[1]}]}', 'cannot be normalized'],
  ])('%s', async (_, body, said) => {
    const { fail } = await embedding({ faults: () => ({ body }) })
    const { code, message, remedy } = await fail(['a', 'b'])
    expect([code, message]).toEqual(['embedder_malformed', expect.stringContaining(said)])
    expect(remedy).toContain('memory.embedder')
  })

  test('more than vectors need is not read to its end', async () => {
    const { fail } = await embedding({ faults: () => ({ body: `{"data":[${'1,'.repeat(9_000_000)}1]}` }) })
    expect(await fail()).toMatchObject({
      code: 'embedder_malformed',
      message: expect.stringContaining('too large an answer'),
    })
  })
})

test.each([
  [401, 'embedder_refused_key', 'never'],
  [404, 'embedder_unknown_model', 'never'],
  [400, 'embedder_rejected', 'never'],
  [302, 'embedder_rejected', 'never'],
  [429, 'embedder_failed', 'later'],
  [503, 'embedder_failed', 'later'],
])('status %i is %s, retry %s', async (code, expected, retry) => {
  const headers = { location: 'http://127.0.0.1:1/elsewhere' }
  const { fail } = await embedding({ faults: () => ({ status: { code, headers } }) })
  const failure = await fail()
  expect({ code: failure.code, retry: failure.retry }).toEqual({ code: expected, retry })
  expect(failure.remedy).not.toBe('')
})

test('a server that is not there, and one that hangs up, cannot be reached', async () => {
  const { provider, fail } = await embedding({ faults: () => ({ reset: true }) })
  expect(await fail()).toMatchObject({ code: 'embedder_unreachable', retry: 'later' })
  await provider.close()
  expect((await fail()).message).toContain('ECONNREFUSED')
})

test('one that never answers is given up after 30 s', async () => {
  const clock = manualClock()
  const { provider, fail } = await embedding({ faults: () => ({ silent: true }) }, { clock })
  const failing = fail()
  await provider.until(({ kind }) => kind === 'received')
  await clock.advance(30_000)
  expect(await failing).toMatchObject({ code: 'embedder_slow', message: expect.stringContaining('30 s') })
})

test('whoever asks can give up at any moment', async () => {
  const { provider, embedder } = await embedding({ faults: () => ({ silent: true }) })
  const stop = new AbortController()
  const asked = embedder.embed(['a'], { signal: stop.signal })
  await provider.until(({ kind }) => kind === 'received')
  stop.abort(new Error('enough'))
  await expect(asked).rejects.toThrow('enough')
  await provider.until(({ kind }) => kind === 'lost')
})

test('no failure shows the key, not even one that the server quotes', async () => {
  const apiKey = 'sk-canary-0123456789abcdef'
  const { fail } = await embedding({}, { apiKey, key: 'another' })
  const failure = await fail()
  expect(failure.code).toBe('embedder_refused_key')
  expect(inspect(failure, { depth: 9 })).not.toMatch(/canary|456789abcd/)
  const odd = await embedding({}, { apiKey: 'with a\nbreak-canary' })
  const unsent = await odd.fail()
  expect(unsent.code).toBe('embedder_refused_key')
  expect(inspect(unsent, { depth: 9 })).not.toContain('canary')
})

test('the key goes with each request', async () => {
  const { embedder } = await embedding({}, { apiKey: 'right', key: 'right' })
  expect(await embedder.embed(['a'], { signal: still })).toHaveLength(1)
})
