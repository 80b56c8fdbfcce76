import { describe, expect, test } from 'vitest'
import type { ModelMessage } from '../../src/domain/model.ts'
import { openAiCompatible } from '../../src/models/providers/openai-compatible.ts'
import { systemClock } from '../../src/system.ts'
import type { ProviderAnswer } from '../../src/testing.ts'
import { asking } from './asking.ts'

describe('a reply is what the provider said, whole', () => {
  test('its text, how it ended, what it cost and which model answered', async () => {
    const { ask } = await asking(
      {
        text: 'Grüße, 世界 🌍',
        usage: { inputTokens: 1_000, outputTokens: 20, cachedTokens: 600 },
        model: 'test-model-2026',
      },
      { settings: { price: { input: 3, output: 15 } } },
    )
    expect(await ask()).toEqual({
      text: 'Grüße, 世界 🌍',
      calls: [],
      finish: 'stop',
      usage: { inputTokens: 1_000, outputTokens: 20, cachedTokens: 600, costUsd: 0.0033 },
      model: 'test-model-2026',
    })
  })

  test('text and thinking are told while they come, in order, and thinking is no part of the text', async () => {
    const { ask, deltas } = await asking({ thinking: 'let me see', text: 'four' })
    const { text } = await ask()
    const told = (kind: string) =>
      deltas
        .filter((delta) => delta.kind === kind)
        .map((delta) => delta.text)
        .join('')
    expect(text).toBe('four')
    expect(told('thinking')).toBe('let me see')
    expect(told('text')).toBe('four')
    expect(deltas.length).toBeGreaterThan(4)
    expect(deltas.findIndex(({ kind }) => kind === 'text')).toBe(
      deltas.findLastIndex(({ kind }) => kind === 'thinking') + 1,
    )
  })

  test('tool calls come parsed and in order', async () => {
    const { ask } = await asking({
      text: 'I will look.',
      calls: [
        { id: 'a1', name: 'read_file', input: { path: 'a/b.txt', limit: 3 } },
        { id: 'a2', name: 'list_dir', input: { path: 'é' } },
      ],
    })
    expect(await ask()).toMatchObject({
      text: 'I will look.',
      finish: 'calls',
      calls: [
        { id: 'a1', name: 'read_file', input: { path: 'a/b.txt', limit: 3 } },
        { id: 'a2', name: 'list_dir', input: { path: 'é' } },
      ],
    })
  })

  test.each<[string, ProviderAnswer, string]>([
    ['stop', { text: 'a' }, 'stop'],
    ['stop although it calls', { calls: [{ name: 'a' }], finish: 'stop' }, 'calls'],
    ['tool calls although it calls nothing', { text: 'a', finish: 'tool_calls' }, 'stop'],
    ['length', { text: 'a', finish: 'length' }, 'length'],
    ['length by another name', { text: 'a', finish: 'max_tokens' }, 'length'],
    ['a filter', { text: 'a', finish: 'content_filter' }, 'refused'],
    ['a refusal', { refusal: 'I will not.' }, 'refused'],
    ['a word of the server', { text: 'a', finish: 'eos' }, 'stop'],
    ['nothing said', {}, 'stop'],
    ['only thinking', { thinking: 'hm' }, 'stop'],
  ])('it ends by %s', async (_, answer, finish) => {
    const { ask } = await asking(answer)
    const reply = await ask()
    expect(reply.finish).toBe(finish)
    expect(reply.text).toBe(answer.text ?? answer.refusal ?? '')
  })

  test('a server that counts nothing does not make a call look free', async () => {
    const { ask } = await asking(
      { text: 'x'.repeat(400), faults: { noUsage: true } },
      { settings: { price: { input: 1, output: 1 } } },
    )
    const { usage } = await ask({ system: '', messages: [{ role: 'user', content: 'y'.repeat(800) }] })
    expect(usage).toEqual({ inputTokens: 200, outputTokens: 100, cachedTokens: 0, costUsd: 0.0003, isEstimate: true })
  })
})

describe('calls that a model got wrong are handed on so that it can be told', () => {
  test.each([
    ['arguments that are no JSON come as their text', '{"path": ', '{"path": '],
    ['no arguments are an empty object', '', {}],
    ['arguments that are no object come as they are', '[1]', [1]],
    [
      'arguments too deep to walk through come as their text',
      `${'['.repeat(600)}${']'.repeat(600)}`,
      expect.any(String),
    ],
  ])('%s', async (_, written, input) => {
    const { ask } = await asking({ calls: [{ id: 'c', name: 'read_file', arguments: written }] })
    expect((await ask()).calls).toEqual([{ id: 'c', name: 'read_file', input }])
  })

  test('a tool that nobody offered is handed on by its name', async () => {
    const { ask } = await asking({ calls: [{ name: 'launch_rocket', input: { to: 'moon' } }] })
    expect((await ask()).calls).toMatchObject([{ name: 'launch_rocket', input: { to: 'moon' } }])
  })

  test('calls with one id get different ones, and calls without an id get one', async () => {
    const { ask } = await asking({
      calls: [
        { id: 'same', name: 'a', input: { n: 1 } },
        { id: 'same', name: 'a', input: { n: 2 } },
        { id: '', name: 'a', input: { n: 3 } },
        { id: '', name: 'b', input: { n: 4 } },
      ],
    })
    const { calls } = await ask()
    expect(calls.map(({ input }) => input)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }])
    expect(calls[0]?.id).toBe('same')
    expect(new Set(calls.map(({ id }) => id)).size).toBe(4)
    expect(calls.every(({ id }) => id.trim() !== '')).toBe(true)
  })

  test('an id that the conversation already has gets another', async () => {
    const { ask } = await asking({ calls: [{ id: 'call_0', name: 'a' }] })
    const messages: ModelMessage[] = [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: '',
        calls: [
          { id: 'call_0', name: 'a', input: {} },
          { id: 'call_0-2', name: 'a', input: {} },
        ],
      },
      { role: 'tool', callId: 'call_0', name: 'a', content: 'done' },
      { role: 'tool', callId: 'call_0-2', name: 'a', content: 'done' },
    ]
    expect((await ask({ messages })).calls.map(({ id }) => id)).toEqual(['call_0-3'])
  })

  test.each(['length', 'content_filter'])('calls of a reply that ended by %s are dropped', async (finish) => {
    const { ask } = await asking({
      calls: [
        { name: 'exec', input: { command: 'ls' } },
        { name: 'exec', arguments: '{"command": "rm -r' },
      ],
      finish,
    })
    expect((await ask()).calls).toEqual([])
  })

  test('500 calls in one reply all come, each once', async () => {
    const calls = Array.from({ length: 500 }, (_, n) => ({ id: `c${n}`, name: 'a', input: { n } }))
    const { ask } = await asking({ calls })
    expect((await ask()).calls).toEqual(calls)
  })
})

describe('a request carries what the provider needs and nothing else', () => {
  test('the whole conversation, the tools and the limit, streamed, with usage', async () => {
    const { ask, provider } = await asking({ text: 'a' })
    const call = { id: 'c1', name: 'read_file', input: { path: 'a' } }
    await ask({
      system: 'Be kind.',
      messages: [
        { role: 'user', content: 'first' },
        { role: 'assistant', content: 'looking', calls: [call] },
        { role: 'tool', callId: 'c1', name: 'read_file', content: 'text of a' },
        { role: 'assistant', content: 'done', calls: [] },
        { role: 'user', content: 'second' },
      ],
      tools: [{ name: 'read_file', description: 'Reads.', inputSchema: { type: 'object' } }],
      maxOutputTokens: 77,
    })
    expect(bodies(provider)).toEqual([
      {
        model: 'test-model',
        max_tokens: 77,
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'first' },
          {
            role: 'assistant',
            content: 'looking',
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: 'text of a' },
          { role: 'assistant', content: 'done' },
          { role: 'user', content: 'second' },
        ],
        tools: [
          { type: 'function', function: { name: 'read_file', description: 'Reads.', parameters: { type: 'object' } } },
        ],
        stream: true,
        stream_options: { include_usage: true },
      },
    ])
  })

  test('a call whose arguments were no JSON goes back as valid JSON', async () => {
    const { ask, provider } = await asking({ text: 'a' })
    const calls = [{ id: 'c1', name: 'a', input: '{"path": ' }]
    await ask({
      messages: [
        { role: 'assistant', content: '', calls },
        { role: 'tool', callId: 'c1', name: 'a', content: 'that is no JSON' },
      ],
    })
    const [body] = bodies(provider) as { messages: { tool_calls?: { function: { arguments: string } }[] }[] }[]
    expect(JSON.parse(body?.messages[1]?.tool_calls?.[0]?.function.arguments ?? '')).toBe('{"path": ')
  })

  test.each([
    ['off', undefined],
    ['high', 'high'],
  ] as const)('thinking %s asks for effort %s', async (level, effort) => {
    const { ask, provider } = await asking({ text: 'a' })
    await ask({ thinking: { level } })
    expect((bodies(provider)[0] as { reasoning_effort?: string }).reasoning_effort).toBe(effort)
  })

  test('what a provider signs comes back to it unchanged, with the call it belongs to', async () => {
    const { ask, provider } = await asking({ calls: [{ id: 'c1', name: 'a', signature: 'signed+/=' }, { name: 'b' }] })
    const { calls, metadata } = await ask()
    const stored: unknown = JSON.parse(JSON.stringify(metadata))
    await ask({ messages: [{ role: 'assistant', content: '', calls, metadata: stored }] })
    const sent = JSON.stringify(bodies(provider)[1])
    expect(sent).toContain('"extra_content":{"google":{"thought_signature":"signed+/="}}')
    expect(sent.match(/extra_content/g)).toHaveLength(1)
  })

  test('thoughts go back within their turn, and not in later ones', async () => {
    const { ask, provider } = await asking({ thinking: 'let me see', calls: [{ id: 'c1', name: 'a' }] })
    const { calls, metadata } = await ask()
    const messages: ModelMessage[] = [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: '', calls, metadata },
      { role: 'tool', callId: 'c1', name: 'a', content: 'seen' },
    ]
    await ask({ messages, stablePrefix: 1 })
    await ask({ messages: [...messages, { role: 'user', content: 'and?' }], stablePrefix: 4 })
    const [, within, later] = bodies(provider).map((body) => JSON.stringify(body))
    expect(within).toContain('let me see')
    expect(later).not.toContain('let me see')
    expect(later).toContain('"c1"')
  })

  test('one call is one request', async () => {
    const { fail, provider } = await asking({ faults: { status: { code: 503 } } })
    await fail()
    expect(bodies(provider)).toHaveLength(1)
  })
})

describe('which run a request belongs to is told to this machine only', () => {
  test('a server on loopback gets the header', async () => {
    const { ask, provider } = await asking({ text: 'a' })
    await ask({ id: 'run7/2/3' })
    expect(provider.log.map(({ run }) => run)).toEqual(['run7/2/3', 'run7/2/3'])
  })

  test.each([
    ['http://127.0.0.1:11434/v1', true],
    ['http://127.8.8.8/v1', true],
    ['http://localhost:1234/v1', true],
    ['http://[::1]:8000/v1', true],
    ['https://api.example.com/v1', false],
    ['http://127.0.0.1.example.com/v1', false],
    ['http://localhost.example.com/v1', false],
    ['http://10.0.0.1/v1', false],
    ['http://user@127.0.0.1@example.com/v1', false],
    ['no address', false],
  ])('%s gets it: %s', async (baseURL, isTold) => {
    const sent = await headersSentTo(baseURL)
    expect(sent?.has('x-heddle-run') ?? false).toBe(isTold)
  })
})

function bodies(provider: { log: readonly { kind: string; body?: unknown }[] }): unknown[] {
  return provider.log.filter(({ kind }) => kind === 'received').map(({ body }) => body)
}

/** What would go to an address that no test may really ask. */
async function headersSentTo(baseURL: string): Promise<Headers | undefined> {
  const original = globalThis.fetch
  let headers: Headers | undefined
  globalThis.fetch = async (_, init) => {
    headers = new Headers(init?.headers)
    return new Response('', { status: 500 })
  }
  try {
    const settings = {
      name: 'm',
      model: 'm',
      window: 1,
      price: { input: 0, output: 0 },
      idleTimeout: 1e4,
      totalTimeout: 1e4,
    }
    const model = openAiCompatible({ ...settings, baseURL }, systemClock)
    const { signal } = new AbortController()
    const request = { id: 'r/1/1', system: '', messages: [], tools: [], maxOutputTokens: 1, signal }
    await model.reply(request, () => undefined).catch(() => undefined)
    return headers
  } finally {
    globalThis.fetch = original
  }
}
