import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ModelMessage } from '../../src/domain/model.ts'
import type { ProviderAnswer, ProviderFaults } from '../../src/testing.ts'
import { asking, kinds, shape, thinkingModels } from './asking.ts'

const look = { name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } }
const png = { type: 'image' as const, mediaType: 'image/png', data: 'iVBORw0KGgo=' }

describe.each(kinds)('%s, by its own format', (kind) => {
  const ask = (answer: Parameters<typeof asking>[0], more: Parameters<typeof asking>[1] = {}) =>
    asking(answer, { kind, ...more })

  test('a reply is its text, its end, its cost and the model that really answered', async () => {
    const answer = { text: 'Grüße, 世界 🌍', usage: { inputTokens: 1_000, outputTokens: 20, cachedTokens: 600 } }
    const price = { input: 3, output: 15, cacheRead: 0.3 }
    const under = await ask({ ...answer, model: 'actual-model' }, { settings: { price } })
    expect(await under.ask()).toEqual({
      text: 'Grüße, 世界 🌍',
      calls: [],
      finish: 'stop',
      usage: {
        inputTokens: 1_000,
        outputTokens: 20,
        cachedTokens: 600,
        costUsd: (400 * 3 + 600 * 0.3 + 20 * 15) / 1e6,
      },
      model: 'actual-model',
    })
  })

  test('text and thinking are told while they come, and thinking is no part of the text', async () => {
    const under = await ask({ thinking: 'let me see', text: 'it is four' })
    const { text } = await under.ask()
    const told = (wanted: string) =>
      under.deltas
        .filter((delta) => delta.kind === wanted)
        .map((delta) => delta.text)
        .join('')
    expect(text).toBe('it is four')
    expect(told('thinking')).toBe('let me see')
    expect(told('text')).toBe('it is four')
    expect(under.deltas.length).toBeGreaterThan(4)
  })

  test('calls come parsed and in order, beside the text', async () => {
    const calls = [
      { id: 'a1', name: 'look', input: { path: 'a/b.txt', limit: 3 } },
      { id: 'a2', name: 'unknown_tool', input: { path: 'é' } },
    ]
    const under = await ask({ text: 'I will look.', calls })
    expect(await under.ask({ tools: [look] })).toMatchObject({ text: 'I will look.', finish: 'calls', calls })
  })

  test('what the runtime notes is said last, and the provider is asked nothing by it', async () => {
    const under = await ask((request) => ({ text: JSON.stringify([request.note, request.messages.at(-1)?.content]) }))
    const note = '[now: Monday 2026-11-16 10:02 +01:00]'
    expect(JSON.parse((await under.ask({ note })).text)).toEqual([note, 'hello'])
    expect(JSON.parse((await under.ask({ messages: [], system: 'x', note })).text)[0]).toBe(note)
    expect(JSON.parse((await under.ask()).text)).toEqual([null, 'hello'])
  })

  test('the conversation, the tools and the limit reach the provider', async () => {
    const under = await ask((request) => ({ text: JSON.stringify(request) }))
    const messages: ModelMessage[] = [
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'looking', calls: [{ id: 'c1', name: 'look', input: { path: 'a' } }] },
      { role: 'tool', callId: 'c1', name: 'look', content: 'text of a' },
      { role: 'user', content: 'second' },
    ]
    const { text } = await under.ask({ system: 'Be kind.', messages, tools: [look], maxOutputTokens: 77 })
    const seen = JSON.parse(text)
    expect(seen.messages).toEqual([
      { role: 'system', content: 'Be kind.', calls: [], callId: null },
      { role: 'user', content: 'first', calls: [], callId: null },
      {
        role: 'assistant',
        content: 'looking',
        calls: [{ id: 'c1', name: 'look', arguments: '{"path":"a"}' }],
        callId: null,
      },
      { role: 'tool', content: 'text of a', calls: [], callId: 'c1' },
      { role: 'user', content: 'second', calls: [], callId: null },
    ])
    expect(seen).toMatchObject({ maxTokens: 77, tools: [{ name: 'look', description: 'Looks.' }] })
  })

  test('a picture reaches a model that sees, and one that does not is told what it lacks', async () => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'what is this?', parts: [png] }]
    const seeing = await ask((request) => ({ text: JSON.stringify(request.messages) }), { settings: { sees: true } })
    expect(JSON.parse((await seeing.ask({ system: '', messages })).text)).toEqual([
      { role: 'user', content: 'what is this?', media: ['image/png'], calls: [], callId: null },
    ])
    const blind = await ask((request) => ({ text: JSON.stringify(request.messages) }))
    const [told] = JSON.parse((await blind.ask({ system: '', messages })).text)
    expect(told.media).toBeUndefined()
    expect(told.content).toBe('what is this?[left out: the model main cannot read images]')
  })

  test('a text file reaches every model as text with its name', async () => {
    const data = Buffer.from('port: 8080\n').toString('base64')
    const parts = [{ type: 'file' as const, path: 'a.yaml', mediaType: 'application/yaml', data }]
    const under = await ask((request) => ({ text: JSON.stringify(request.messages) }))
    const { text } = await under.ask({ system: '', messages: [{ role: 'user', content: '', parts }] })
    expect(JSON.parse(text)[0].content).toBe('[file a.yaml]\nport: 8080\n')
  })

  test('what the provider signs goes back to it unchanged, through JSON, and to no other kind', async () => {
    const answer: ProviderAnswer = {
      thinking: 'I should look',
      signature: 'signed+/=',
      text: 'looking',
      calls: [
        { id: 'c1', name: 'look', signature: kind === 'anthropic' || kind === 'openai' ? undefined : 'signed+/=' },
        { id: 'c2', name: 'look' },
      ].map(({ signature, ...call }) => ({ ...call, ...(signature !== undefined && { signature }) })),
    }
    const under = await ask(answer, { settings: { model: thinkingModels[kind] } })
    const reply = await under.ask({ tools: [look] })
    const metadata: unknown = JSON.parse(JSON.stringify(reply.metadata))
    // As the engine gives calls ids of their own, which must not lose what belongs to them.
    const calls = reply.calls.map((call) => ({ ...call, id: `${call.id}-9` }))
    const back: ModelMessage[] = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: reply.text, calls, metadata },
      ...calls.map(({ id }) => ({ role: 'tool' as const, callId: id, name: 'look', content: 'seen' })),
    ]
    await under.ask({ messages: back, tools: [look] })
    const sent = JSON.stringify(under.provider.log.findLast((line) => line.kind === 'received'))
    expect(sent).toContain('signed+/=')
    expect(sent).toContain('c1-9')
    if (kind === 'anthropic' || kind === 'openai-compatible') expect(sent).toContain('I should look')
    const [other] = kinds.find(([each]) => each !== kind) ?? []
    const elsewhere = await asking({ text: 'a' }, { ...(other && { kind: other }) })
    await elsewhere.ask({ messages: back, tools: [look] })
    const told = JSON.stringify(elsewhere.provider.log)
    expect(told).not.toContain('signed+/=')
    expect(told).not.toContain('I should look')
  })

  test.each(['off', 'low', 'medium', 'high'] as const)('thinking %s is asked for in its words', async (level) => {
    const settings = { model: thinkingModels[kind], thinks: true }
    const under = await ask({ text: 'a' }, { settings })
    await under.ask({ thinking: { level }, maxOutputTokens: 5000 })
    const [line] = under.provider.log
    const body = (line?.kind === 'received' ? line.body : {}) as Record<string, Record<string, unknown> | string>
    const effort = {
      'openai-compatible': body['reasoning_effort'],
      anthropic: (body['thinking'] as Record<string, unknown> | undefined)?.['type'],
      openai: (body['reasoning'] as Record<string, unknown> | undefined)?.['effort'],
      google: budgetOf(body),
    }[kind]
    const expected = {
      'openai-compatible': level === 'off' ? undefined : level,
      anthropic: level === 'off' ? 'disabled' : 'enabled',
      openai: level === 'off' ? 'none' : level,
      google: level === 'off' ? 0 : expect.any(Number),
    }[kind]
    expect(effort).toEqual(expected)
  })

  test('a temperature is sent as it is, and none where none is asked for', async () => {
    const under = await ask({ text: 'a' })
    await under.ask({ temperature: 0.25 })
    await under.ask()
    const sent = under.provider.log.flatMap((line) => (line.kind === 'received' ? [line.body] : [])) as Record<
      string,
      unknown
    >[]
    const of = (body: Record<string, unknown>) =>
      kind === 'google' ? (body['generationConfig'] as Record<string, unknown>)['temperature'] : body['temperature']
    expect(sent.map(of)).toEqual([0.25, undefined])
  })

  test.each([
    ['length', 'length'],
    ['content_filter', 'refused'],
  ])('calls of a reply that ended by %s are dropped', async (finish, expected) => {
    const calls = [{ id: 'c', name: 'look', input: { path: 'a' } }]
    const under = await ask({ text: 'half', calls, finish })
    expect(await under.ask({ tools: [look] })).toMatchObject({ finish: expected, calls: [], text: 'half' })
  })

  test('F28: a call too many, an unknown tool, doubled ids and no input all come out as calls with an id each', async () => {
    const calls = [
      { id: 'same', name: 'nobody_has_this', input: { n: 1 } },
      { id: 'same', name: 'look', input: { n: 2 } },
      { id: 'other', name: 'look', input: {} },
    ]
    const under = await ask({ calls })
    const reply = await under.ask({ tools: [look] })
    expect(reply.calls.map(({ name, input }) => ({ name, input }))).toEqual(
      calls.map(({ name, input }) => ({ name, input })),
    )
    expect(new Set(reply.calls.map(({ id }) => id)).size).toBe(3)
  })

  test('F28: 500 calls in one reply all come, each once', async () => {
    const calls = Array.from({ length: 500 }, (_, n) => ({ id: `c${n}`, name: 'look', input: { n } }))
    const under = await ask({ calls })
    expect((await under.ask({ tools: [look] })).calls).toEqual(calls)
  })

  test.each<[string, ProviderAnswer, string]>([
    ['nothing said', {}, 'stop'],
    ['only thinking', { thinking: 'hm' }, 'stop'],
    ['a refusal', { refusal: 'I will not.', ...(kind !== 'openai' && { finish: 'content_filter' }) }, 'refused'],
  ])('F28: %s ends as a reply', async (_, answer, finish) => {
    const under = await ask(answer)
    expect(await under.ask()).toMatchObject({ finish, text: answer.refusal ?? '', calls: [] })
  })

  if (kind !== 'google')
    test('F28: arguments that are no JSON are handed on as their text, and go back as something valid', async () => {
      const under = await ask({ calls: [{ id: 'c', name: 'look', arguments: '{"path": ' }] })
      const { calls } = await under.ask({ tools: [look] })
      expect(calls).toEqual([{ id: 'c', name: 'look', input: '{"path": ' }])
      const messages: ModelMessage[] = [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: '', calls },
        { role: 'tool', callId: 'c', name: 'look', content: 'that is no JSON' },
      ]
      expect((await under.ask({ messages, tools: [look] })).finish).toBe('calls')
    })

  test.each([
    [401, 'provider_refused_key', 'never'],
    [403, 'provider_refused_key', 'never'],
    [404, 'model_unknown', 'never'],
    [400, 'provider_rejected', 'never'],
    [413, 'provider_rejected', 'never'],
    [429, 'provider_busy', 'later'],
    [500, 'provider_failed', 'later'],
    [502, 'provider_failed', 'later'],
    [503, 'provider_busy', 'later'],
    [529, 'provider_busy', 'later'],
  ])('F24: status %i is %s, retry %s, and is asked once', async (code, expected, retry) => {
    const under = await ask({ faults: { status: { code } } })
    const failure = await under.fail()
    expect(shape(failure)).toEqual({ code: expected, retry })
    expect(failure.message).toContain(`status ${code}, as asked`)
    expect(under.provider.log.filter((line) => line.kind === 'received')).toHaveLength(1)
  })

  test.each([
    ['seconds', '20', 20_000],
    ['an absurd number', '1000000000', undefined],
    ['a negative number', '-1', undefined],
  ])('F23: 429 with Retry-After as %s', async (_, value, retryAfter) => {
    const under = await ask({ faults: { status: { code: 429, headers: { 'retry-after': value } } } })
    expect((await under.fail()).retryAfter).toBe(retryAfter)
  })

  test('F24: a server that is not there, or resets, may be there later', async () => {
    const under = await ask({ faults: { reset: true } })
    expect(shape(await under.fail())).toEqual({ code: 'provider_unreachable', retry: 'later' })
    await under.provider.close()
    expect(shape(await under.fail())).toEqual({ code: 'provider_unreachable', retry: 'later' })
  })

  test('a wrong key is refused at once with its remedy, and is told nowhere', async () => {
    const canary = 'sk-canary-4f9b2c77d1e05a3866ab'
    const under = await ask({}, { key: 'another', settings: { apiKey: canary } })
    const failure = await under.fail()
    expect(shape(failure)).toEqual({ code: 'provider_refused_key', retry: 'never' })
    expect(failure.message).toContain('[redacted]')
    expect(failure.remedy).toContain('models.main.apiKey')
    expect(JSON.stringify([failure, failure.message, failure.stack])).not.toContain('canary')
    const right = await ask({ text: 'in' }, { key: canary, settings: { apiKey: canary } })
    expect((await right.ask()).text).toBe('in')
  })

  test('a key in the environment of the process is not used unasked', async () => {
    const under = await ask({}, { key: 'taken-from-the-environment' })
    const names = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY']
    for (const name of names) process.env[name] = 'taken-from-the-environment'
    try {
      expect(shape(await under.fail())).toEqual({ code: 'provider_refused_key', retry: 'never' })
    } finally {
      for (const name of names) delete process.env[name]
    }
  })

  test('which run asks is told to a server on this machine', async () => {
    const under = await ask({ text: 'a' })
    await under.ask({ id: 'run7/2/3' })
    expect(under.provider.log.map(({ run }) => run)).toEqual(['run7/2/3', 'run7/2/3'])
  })

  test('a call that is no longer wanted ends with its reason and closes the socket', async () => {
    // Patient enough that only the wish to stop can end it.
    const settings = { idleTimeout: 1e7, totalTimeout: 1e7 }
    const under = await ask(() => new Promise(() => undefined), { settings })
    const stop = new AbortController()
    const call = under.ask({ signal: stop.signal })
    await under.provider.until(({ kind: line }) => line === 'received')
    const reason = new Error('cancelled')
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    await under.provider.until(({ kind: line }) => line === 'lost')
  })

  test.each<[string, ProviderFaults, string]>([
    ['an event that is no JSON', { brokenEvent: true }, 'reply_malformed'],
    ['half a character', { invalidUtf8: true }, 'reply_malformed'],
    ['an error told in the stream', { errorEvent: { message: 'overloaded' } }, 'provider_(failed|busy)'],
    ['a line of 20 MB', { lineBytes: 20 * 1024 * 1024 }, 'reply_too_large'],
  ])('F27: %s brings no reply', async (_, faults, code) => {
    const under = await ask({ text: 'some text that comes in pieces', faults })
    expect((await under.fail()).code).toMatch(new RegExp(`^${code}$`))
  })

  test('F27: events that nobody knows, comments and noise change nothing', async () => {
    const under = await ask({ text: 'some text that comes in pieces', faults: { unknownEvents: true } })
    expect((await under.ask()).text).toBe('some text that comes in pieces')
  })

  test('a server that counts nothing does not make a call look free', async () => {
    const price = { input: 1, output: 1 }
    const under = await ask({ text: 'x'.repeat(400), faults: { noUsage: true } }, { settings: { price } })
    const { usage } = await under.ask({ system: '', messages: [{ role: 'user', content: 'y'.repeat(800) }] })
    expect(usage).toEqual({ inputTokens: 200, outputTokens: 100, cachedTokens: 0, costUsd: 0.0003, isEstimate: true })
  })

  test('a provider that read less than it was sent gives no answer', async () => {
    const under = await ask({ text: 'As you said, hello.', usage: { inputTokens: 2_048, outputTokens: 10 } })
    const prose = 'The heddle guides each thread along its own path, so that the cloth comes out whole. '
    const failure = await under.fail({ messages: [{ role: 'user', content: prose.repeat(400) }] })
    expect(shape(failure)).toEqual({ code: 'context_cut', retry: 'never' })
  })
})

describe('anthropic keeps what will be sent again in its cache', () => {
  const marked = (body: unknown) => {
    const { system = [], messages } = body as { system?: { cache_control?: unknown }[]; messages: Wire[] }
    return {
      system: system.map(({ cache_control }) => cache_control !== undefined),
      messages: messages.map(({ content }) => content.map(({ cache_control }) => cache_control !== undefined)),
    }
  }
  interface Wire {
    content: { cache_control?: unknown }[]
  }
  const messages: ModelMessage[] = [
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'done', calls: [] },
    { role: 'user', content: 'second' },
    { role: 'assistant', content: '', calls: [{ id: 'c', name: 'look', input: {} }] },
    { role: 'tool', callId: 'c', name: 'look', content: 'seen' },
  ]

  test('the prompt, the stable messages and the run so far are marked, and nothing else', async () => {
    const under = await asking({ text: 'a' }, { kind: 'anthropic' })
    await under.ask({ messages, tools: [look], stablePrefix: 3 })
    const [line] = under.provider.log
    expect(marked(line?.kind === 'received' ? line.body : {})).toEqual({
      system: [true],
      messages: [[false], [false], [true], [false], [true]],
    })
  })

  test('without a word about what is stable nothing is marked', async () => {
    const under = await asking({ text: 'a' }, { kind: 'anthropic' })
    await under.ask({ messages, tools: [look] })
    expect(JSON.stringify(under.provider.log)).not.toContain('cache_control')
  })

  test('what was read from it and written to it has its own price', async () => {
    const usage = { inputTokens: 1_000, outputTokens: 10, cachedTokens: 600, cacheWriteTokens: 300 }
    const price = { input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 }
    const under = await asking({ text: 'a', usage }, { kind: 'anthropic', settings: { price } })
    expect((await under.ask()).usage).toEqual({
      ...usage,
      costUsd: (100 * 10 + 600 * 1 + 300 * 12.5 + 10 * 50) / 1e6,
    })
  })
})

test('no package of a provider is loaded before something is asked', () => {
  const program = `
    import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { if (url.includes('@ai-sdk')) console.log(url); return next(url, context) } })
    await import(${JSON.stringify(join(import.meta.dirname, '../../src/app/app.ts'))})`
  const loaded = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  expect(loaded).toBe('')
})

function budgetOf(body: Record<string, unknown>): unknown {
  const { thinkingConfig } = (body['generationConfig'] ?? {}) as { thinkingConfig?: { thinkingBudget?: unknown } }
  return thinkingConfig?.thinkingBudget
}
