import { describe, expect, test } from 'vitest'
import { callTools, findScript, followRules, type ProviderRequest, type WireMessage } from '../../src/testing.ts'

describe('the script `tools` does what the user text says', () => {
  test.each([
    [
      'call a({"x":1}) and b({})',
      [
        ['a', { x: 1 }],
        ['b', {}],
      ],
    ],
    ['please call read_file({"path":"a (1).txt"}) now', [['read_file', { path: 'a (1).txt' }]]],
    ['call a()', [['a', {}]]],
    [
      'call a([1,2]), b("text) and more")',
      [
        ['a', [1, 2]],
        ['b', 'text) and more'],
      ],
    ],
  ])('%s', (text, calls) => {
    expect(callTools(asked(user(text))).calls?.map(({ name, input }) => [name, input])).toEqual(calls)
  })

  test('and answers with what the tools said', () => {
    const request = asked(user('call a({}) and b({})'), called('c1 a', 'c2 b'), told('c2', 'B!'), told('c1', 'A!'))
    expect(callTools(request)).toEqual({ text: 'results: b: B!; a: A!' })
  })

  test('in as many rounds as `then` makes', () => {
    const text = user('call a({}) then b({}) and c({})')
    expect(callTools(asked(text)).calls).toMatchObject([{ id: 'call_1', name: 'a' }])
    const second = [text, called('call_1 a'), told('call_1', 'A!')]
    expect(callTools(asked(...second)).calls).toMatchObject([
      { id: 'call_2', name: 'b' },
      { id: 'call_3', name: 'c' },
    ])
  })

  test('with ids that the conversation does not have yet', () => {
    const earlier = [user('call a({})'), called('call_1 a'), told('call_1', 'A!'), user('call a({})')]
    expect(callTools(asked(...earlier)).calls).toMatchObject([{ id: 'call_2', name: 'a' }])
  })

  test.each(['hello', 'call a({"x":) please'])('and answers plainly when there is nothing to call: %s', (text) => {
    expect(callTools(asked(user(text)))).toEqual({ text: `answer to: ${text}` })
  })

  test('the same request always gets the same answer', () => {
    const request = asked(user('call a({"x":1}) and b({})'))
    expect(callTools(request)).toEqual(callTools(request))
  })
})

describe('scripts by name', () => {
  test('plain says back the last user text', () => {
    const request = asked(user('first'), { ...user('x'), role: 'assistant' }, user('second'))
    expect(findScript('plain')?.(request)).toEqual({ text: 'answer to: second' })
  })

  test.each([
    ['fail-then-answer', 2],
    ['fail-then-answer:5', 5],
    ['fail-then-answer:0', 0],
  ])('%s fails %i times', (name, failures) => {
    const script = findScript(name)
    const failed = { faults: { status: { code: 503 } } }
    for (let attempt = 0; attempt < failures; attempt++)
      expect(script?.({ ...asked(user('a')), attempt })).toEqual(failed)
    expect(script?.({ ...asked(user('a')), attempt: failures })).toEqual({ text: 'answer to: a' })
  })

  test.each(['', 'plainly', 'fail-then-answer:x'])('"%s" is none', (name) => {
    expect(findScript(name)).toBeUndefined()
  })
})

test('written rules: the first that fits answers, and a plain answer is left for the rest', () => {
  const rule = followRules([
    { when: 'slow', attempts: 1, answer: { faults: { reset: true } } },
    { when: 'slow', after: 'tools', answer: { text: 'after tools' } },
    { when: 'slow', answer: { text: 'fast now' } },
  ])
  expect(rule(asked(user('be slow')))).toEqual({ faults: { reset: true } })
  expect(rule({ ...asked(user('be slow')), attempt: 1 })).toEqual({ text: 'fast now' })
  expect(rule({ ...asked(user('be slow'), called('c a'), told('c', 'x')), attempt: 1 })).toEqual({
    text: 'after tools',
  })
  expect(rule(asked(user('other')))).toEqual({ text: 'answer to: other' })
})

function asked(...messages: WireMessage[]): ProviderRequest {
  return { wire: 'chat', model: 'm', messages, tools: [], maxTokens: null, attempt: 0 }
}

function user(content: string): WireMessage {
  return { role: 'user', content, calls: [], callId: null }
}

/** An assistant's message with calls, each given as `id name`. */
function called(...calls: string[]): WireMessage {
  const made = calls.map((call) => ({ id: call.split(' ')[0] ?? '', name: call.split(' ')[1] ?? '', arguments: '{}' }))
  return { role: 'assistant', content: '', calls: made, callId: null }
}

function told(callId: string, content: string): WireMessage {
  return { role: 'tool', content, calls: [], callId }
}
