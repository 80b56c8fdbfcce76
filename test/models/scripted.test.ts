import { describe, expect, test } from 'vitest'
import { type Delta, gate, ModelFailure, type ScriptedModel, scriptedModel } from '../../src/testing.ts'
import { aRequest } from './asking.ts'

describe('a scripted model says what its script says', () => {
  test('a list, reply by reply', async () => {
    const model = scriptedModel([{ text: 'one' }, { calls: [{ name: 'a', input: { n: 1 } }, { name: 'b' }] }])
    expect(await say(model)).toMatchObject({ text: 'one', calls: [], finish: 'stop', model: 'scripted' })
    expect(await say(model)).toMatchObject({
      text: '',
      finish: 'calls',
      calls: [
        { id: 'call-2-1', name: 'a', input: { n: 1 } },
        { id: 'call-2-2', name: 'b', input: {} },
      ],
    })
  })

  test('a function of the request and its number', async () => {
    const model = scriptedModel(({ messages }, n) => ({ text: `${n}: ${messages[0]?.content}` }))
    await say(model)
    expect((await say(model)).text).toBe('2: hello')
  })

  test('a failure', async () => {
    const fail = new ModelFailure('provider_busy', 'Busy.', 'wait', { retry: 'later', retryAfter: 500 })
    const model = scriptedModel([{ fail }, { text: 'now' }])
    await expect(say(model)).rejects.toBe(fail)
    expect((await say(model)).text).toBe('now')
  })

  test('whatever else a provider can say', async () => {
    const metadata = { signature: 'x' }
    const model = scriptedModel([{ text: 'a', finish: 'length', calls: [{ name: 'a' }], model: 'real', metadata }])
    expect(await say(model)).toMatchObject({ finish: 'length', calls: [], model: 'real', metadata })
  })

  test('a script that is at its end says so', async () => {
    await expect(say(scriptedModel([]))).rejects.toMatchObject({ code: 'script_ended', retry: 'never' })
  })

  test('tokens are a quarter of the characters, and cost what the price says', async () => {
    const model = scriptedModel([{ text: 'x'.repeat(40) }, { text: 'a', usage: { inputTokens: 7, cachedTokens: 5 } }], {
      price: { input: 1, output: 2 },
    })
    const request = { system: 'y'.repeat(100), messages: [{ role: 'user' as const, content: 'z'.repeat(100) }] }
    expect((await say(model, request)).usage).toEqual({
      inputTokens: 50,
      outputTokens: 10,
      cachedTokens: 0,
      costUsd: 0.00007,
    })
    expect((await say(model, request)).usage).toMatchObject({ inputTokens: 7, outputTokens: 1, cachedTokens: 5 })
  })
})

test('it remembers every request as it was', async () => {
  const model = scriptedModel(() => ({ text: 'a' }))
  const messages = [{ role: 'user' as const, content: 'first' }]
  await say(model, { id: 'r/1/1', messages })
  messages.push({ role: 'user', content: 'later' })
  await say(model, { id: 'r/1/2', messages })
  expect(model.requests.map(({ id, messages }) => [id, messages.length])).toEqual([
    ['r/1/1', 1],
    ['r/1/2', 2],
  ])
})

describe('a test decides when it goes on', () => {
  test('at a gate before it says anything', async () => {
    const closed = gate()
    const deltas: Delta[] = []
    const model = scriptedModel([{ thinking: 'hm', text: 'a', gate: closed }])
    const reply = model.reply(aRequest(), (delta) => deltas.push(delta))
    await closed.reached
    expect(deltas).toEqual([])
    closed.open()
    expect((await reply).text).toBe('a')
    expect(deltas).toEqual([
      { kind: 'thinking', text: 'hm' },
      { kind: 'text', text: 'a' },
    ])
  })

  test('at a gate between two pieces', async () => {
    const closed = gate()
    const deltas: Delta[] = []
    const model = scriptedModel([{ pieces: ['one ', closed, 'two'] }])
    const reply = model.reply(aRequest(), (delta) => deltas.push(delta))
    await closed.reached
    expect(deltas.map(({ text }) => text)).toEqual(['one '])
    closed.open()
    expect((await reply).text).toBe('one two')
  })

  test.each(['gate', 'pieces'])('and a call that is aborted there ends with the reason: %s', async (where) => {
    const closed = gate()
    const model = scriptedModel([where === 'gate' ? { gate: closed } : { pieces: ['a', closed] }])
    const stop = new AbortController()
    const reply = say(model, { signal: stop.signal })
    const reason = new Error('cancelled')
    closed.reached.then(() => stop.abort(reason))
    await expect(reply).rejects.toBe(reason)
  })

  test('also when it was aborted just before it came to the gate', async () => {
    const stop = new AbortController()
    const reason = new Error('cancelled')
    const model = scriptedModel([{ pieces: ['a', gate()] }])
    const reply = model.reply(aRequest({ signal: stop.signal }), () => stop.abort(reason))
    await expect(reply).rejects.toBe(reason)
  })

  test('a call that was aborted before is not counted', async () => {
    const model = scriptedModel([{ text: 'a' }])
    await expect(say(model, { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
    expect(model.requests).toEqual([])
    expect((await say(model)).text).toBe('a')
  })
})

function say(model: ScriptedModel, request: Parameters<typeof aRequest>[0] = {}) {
  return model.reply(aRequest(request), () => undefined)
}
