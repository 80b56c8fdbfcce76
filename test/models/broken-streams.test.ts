import { describe, expect, test, vi } from 'vitest'
import type { ModelReply } from '../../src/domain/model.ts'
import { replyBytes } from '../../src/testing/provider-events.ts'
import { lastUserText } from '../../src/testing/provider-scripts.ts'
import { countTokens } from '../../src/testing/provider-wire.ts'
import type { ProviderAnswer, ProviderFaults } from '../../src/testing.ts'
import { firstOf, isLong } from '../setup/long.ts'
import { aRequest, asking, failure, kinds, shape } from './asking.ts'

// Many requests for each stream: one for every byte of it in the long form.
vi.setConfig({ testTimeout: 180_000 })

const atOnce = 64

const answer: ProviderAnswer = {
  text: 'sö',
  calls: [{ id: 'c1', name: 'write_file', input: { path: 'ä', n: 1 } }],
}
const whole: Pick<ModelReply, 'text' | 'calls' | 'finish'> = {
  text: 'sö',
  calls: [{ id: 'c1', name: 'write_file', input: { path: 'ä', n: 1 } }],
  finish: 'calls',
}

describe.each(kinds)('F26: a stream of %s (%s) that is cut at any byte brings no reply', (kind, wire) => {
  const usage = countTokens({ messages: [] }, answer)
  const recorded = replyBytes(wire, answer, 'test-model', usage)
  const cutAsAsked = (faults: ProviderFaults) =>
    asking((request) => ({ ...answer, usage, faults: { ...faults, cutAt: Number(lastUserText(request)) } }), { kind })

  test('when the connection is lost', async () => {
    const { ask } = await cutAsAsked({})
    const cuts = await atPlaces(placesIn(recorded), (at) => failure(ask(cutAt(at))))
    const failures = cuts.map(({ outcome }) => outcome)
    expect([...new Set(failures.map(({ code, retry }) => `${code} ${retry}`))]).toEqual(['stream_cut later'])
    // What was said stays in the turn and on the screen.
    expect(failures[0]?.remedy).toBe('ask again; what it said before that is not a whole answer')
    // What was told of the cost before the cut counts: nothing, the input, or all of it.
    for (const { usage: told } of failures) expect([undefined, 0, usage.outputTokens]).toContain(told?.outputTokens)
    const isTold = recorded.usageEnd < recorded.bytes.length
    expect(failures.at(-1)?.usage).toEqual(isTold ? { ...usage, costUsd: 0 } : undefined)
  })

  test('when the connection is closed as if all were said, unless the provider had said why it ends', async () => {
    const { ask } = await cutAsAsked({ cutQuietly: true })
    const outcomes = await atPlaces(placesIn(recorded), (at) => ask(cutAt(at)).catch((error) => error))
    for (const { at, outcome } of outcomes) {
      if (at < recorded.wholeEnd) expect({ at, ...shape(outcome) }).toEqual({ at, code: 'stream_cut', retry: 'later' })
      else expect(outcome).toMatchObject(whole)
    }
  })

  test('and what came of it was told as provisional only', async () => {
    const { fail, deltas } = await asking({ ...answer, faults: { cutAt: recorded.bytes.length - 20 } }, { kind })
    await fail()
    const said = deltas.filter(({ kind: what }) => what !== 'call')
    expect(said.map(({ text }) => text).join('')).toBe('sö')
  })

  test('but one that comes a byte at a time, so that every character is split, is whole', async () => {
    const { ask } = await asking({ ...answer, text: 'Grüße 世界 🌍', faults: { pieceBytes: 1 } }, { kind })
    expect(await ask()).toMatchObject({ ...whole, text: 'Grüße 世界 🌍' })
  })
})

describe('a stream may come in any pieces', () => {
  test('without [DONE]', async () => {
    const { ask } = await asking({ ...answer, faults: { noDone: true } })
    expect(await ask()).toMatchObject(whole)
  })

  test('with events and fields that nobody knows, and comments', async () => {
    const { ask } = await asking({ ...answer, faults: { unknownEvents: true } })
    expect(await ask()).toMatchObject(whole)
  })

  test('with calls that come last first', async () => {
    const calls = [1, 2, 3].map((n) => ({ id: `c${n}`, name: `t${n}`, input: { n } }))
    const { ask } = await asking({ calls, faults: { indexes: 'reversed' } })
    expect((await ask()).calls.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(calls)
  })

  test('with every call at the same index, each whole or handed on as text, none mixed with another', async () => {
    const calls = [1, 2, 3].map((n) => ({ id: `c${n}`, name: `t${n}`, input: { n } }))
    const { ask } = await asking({ calls, faults: { indexes: 'same' } })
    const told = (await ask()).calls
    expect(told.map(({ id, name }) => ({ id, name }))).toEqual(calls.map(({ id, name }) => ({ id, name })))
    for (const [i, { input }] of told.entries()) {
      if (typeof input !== 'string') expect([calls[i]?.input, {}]).toContainEqual(input)
    }
  })
})

describe('a stream that is broken brings no reply, and may be asked for again', () => {
  test.each<[string, ProviderAnswer, string]>([
    ['an event that is no JSON', { ...answer, faults: { brokenEvent: true } }, 'reply_malformed'],
    ['half a character', { ...answer, faults: { invalidUtf8: true } }, 'reply_malformed'],
    [
      'an error told in the stream',
      { ...answer, faults: { errorEvent: { message: 'overloaded' } } },
      'provider_failed',
    ],
    ['an error told as a text', { ...answer, faults: { errorEvent: 'overloaded' } }, 'provider_failed'],
    [
      'an error told with a number',
      { ...answer, faults: { errorEvent: { message: 'a', code: 429 } } },
      'provider_busy',
    ],
    ['an end by an error', { ...answer, finish: 'error' }, 'provider_failed'],
    ['an end because it was aborted', { ...answer, finish: 'abort' }, 'provider_failed'],
    ['an end without a reason', { ...answer, finish: '' }, 'stream_cut'],
    ['nothing at all', { faults: { cutAt: 0, cutQuietly: true } }, 'stream_cut'],
  ])('%s', async (_, given, code) => {
    const { fail } = await asking(given)
    expect(shape(await fail())).toEqual({ code, retry: 'later' })
  })

  test('an error in the stream that would come again is not asked for again', async () => {
    const { fail } = await asking({ ...answer, faults: { errorEvent: { message: 'too long', code: 400 } } })
    expect(shape(await fail())).toEqual({ code: 'provider_rejected', retry: 'never' })
  })
})

describe('a reply of any size is stopped before it fills the memory', () => {
  test('a line of 100 MB', async () => {
    const { fail, provider } = await asking({ faults: { lineBytes: 100 * 1024 * 1024 } })
    const before = process.memoryUsage().rss
    expect(shape(await fail())).toEqual({ code: 'reply_too_large', retry: 'never' })
    await provider.until(({ kind }) => kind === 'lost')
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
  })

  test('a text of more than 16 MB', async () => {
    const { fail } = await asking({ text: 'x'.repeat(17 * 1024 * 1024) })
    expect(shape(await fail())).toEqual({ code: 'reply_too_large', retry: 'never' })
  })

  test('arguments of more than 16 MB', async () => {
    const { fail } = await asking({ calls: [{ name: 'a', input: 'x'.repeat(17 * 1024 * 1024) }] })
    expect((await fail()).code).toBe('reply_too_large')
  })

  test.each([
    [1_000, undefined],
    [1_001, 'reply_too_large'],
  ])('%i calls: %s', async (length, code) => {
    const { ask } = await asking({ calls: Array.from({ length }, () => ({ name: 'a' })) })
    const outcome = await ask().catch((error) => error)
    expect(outcome.code).toBe(code)
    if (code === undefined) expect(outcome.calls).toHaveLength(length)
  })
})

function cutAt(at: number) {
  return aRequest({ messages: [{ role: 'user', content: String(at) }] })
}

/** What happens at each place, in order; many at a time, so that it does not take for ever. */
async function atPlaces<T>(
  places: number[],
  attempt: (at: number) => Promise<T>,
): Promise<{ at: number; outcome: T }[]> {
  const outcomes: { at: number; outcome: T }[] = []
  for (let from = 0; from < places.length; from += atOnce) {
    const some = places.slice(from, from + atOnce)
    outcomes.push(...(await Promise.all(some.map(async (at) => ({ at, outcome: await attempt(at) })))))
  }
  return outcomes
}

/**
 * Every byte; or every thirtieth, those around the ends of what counts, and each sixth end of a line or of a character,
 * others each day.
 */
function placesIn({ bytes, usageEnd, wholeEnd }: ReturnType<typeof replyBytes>): number[] {
  const ends = [0, usageEnd, wholeEnd, bytes.length]
  const isClose = (at: number) => ends.some((end) => Math.abs(end - at) < 8)
  const [first, firstEdge] = [firstOf(30) - 1, firstOf(6) - 1]
  const isEdge = (at: number) => bytes[at] === 10 || bytes[at - 1] === 10 || (bytes[at] ?? 0) > 127
  return [...bytes.keys()].filter(
    (at) => isLong || at % 30 === first || isClose(at) || (isEdge(at) && at % 6 === firstEdge),
  )
}
