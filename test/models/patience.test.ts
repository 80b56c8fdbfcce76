import { describe, expect, test } from 'vitest'
import { asking, failure, kinds, shape, watchedClock } from './asking.ts'

const times = { idleTimeout: 60_000, totalTimeout: 200_000 }

describe.each(kinds)('F25: a provider (%s) that takes too long is given up, and may be asked again', (kind) => {
  test('it never answers', async () => {
    const clock = watchedClock()
    const { fail, provider } = await asking(() => new Promise(() => undefined), { kind, clock, settings: times })
    const failed = fail()
    await provider.until(({ kind }) => kind === 'received')
    await clock.advance(60_000)
    expect(shape(await failed)).toEqual({ code: 'provider_timeout', retry: 'later' })
    expect((await failed).message).toContain('was silent for 60 s')
    await provider.until(({ kind }) => kind === 'lost')
  })

  test.each([
    ['after the header', 0],
    ['in the middle of an event', 300],
  ])('it falls silent %s', async (_, silentAt) => {
    const clock = watchedClock()
    const { fail, provider } = await asking({ text: 'never', faults: { silentAt } }, { kind, clock, settings: times })
    const failed = fail()
    await provider.until(({ kind }) => kind === 'received')
    await clock.advance(60_000)
    expect(shape(await failed)).toEqual({ code: 'provider_timeout', retry: 'later' })
    await provider.until(({ kind }) => kind === 'lost')
  })

  test('it falls silent after an error status', async () => {
    const clock = watchedClock()
    const status = { code: 500, headers: { 'content-length': '1000' }, body: 'x' }
    const { fail, provider } = await asking({ faults: { status } }, { kind, clock, settings: times })
    const failed = fail()
    await provider.until(({ kind }) => kind === 'refused')
    await clock.advance(60_000)
    expect(shape(await failed)).toEqual({ code: 'provider_timeout', retry: 'later' })
  })

  test('it sends comments for ever, which are no part of a reply', async () => {
    const clock = watchedClock()
    const { fail, provider } = await asking({ faults: { pings: 20_000 } }, { kind, clock, settings: times })
    const failed = fail()
    for (let n = 0; n < 3; n++) {
      await clock.sleepOf(20_000)
      await clock.advance(20_000)
    }
    expect((await failed).message).toContain('was silent for 60 s')
    await provider.until(({ kind }) => kind === 'lost')
  })

  test('it sends a byte now and then', async () => {
    const clock = watchedClock()
    const slow = { pieceBytes: 1, pause: 30_000 }
    const { fail } = await asking({ text: 'slow', faults: slow }, { kind, clock, settings: times })
    const failed = fail()
    for (let n = 0; n < 2; n++) {
      await clock.sleepOf(30_000)
      await clock.advance(30_000)
    }
    expect((await failed).message).toContain('was silent for 60 s')
  })
})

describe('F25: a provider that never ends is given up, and may be asked again', () => {
  test('it goes on, but for too long', async () => {
    const clock = watchedClock()
    const text = 'word '.repeat(8)
    const slow = { pieceBytes: 250, pause: 50_000 }
    const { ask, deltas, nextDelta, provider } = await asking({ text, faults: slow }, { clock, settings: times })
    const failed = failure(ask())
    for (let n = 0; n < 4; n++) {
      if (n > 0 && deltas.length < n) await nextDelta()
      await clock.sleepOf(50_000)
      await clock.advance(50_000)
    }
    expect(shape(await failed)).toEqual({ code: 'provider_timeout', retry: 'later' })
    expect((await failed).message).toContain('did not finish within 200 s')
    await provider.until(({ kind }) => kind === 'lost')
  })
})

describe('a provider that is slow but alive is waited for', () => {
  test('each part gives it the whole idle time again', async () => {
    const clock = watchedClock()
    const settings = { idleTimeout: 60_000, totalTimeout: 10_000_000 }
    const slow = { pieceBytes: 250, pause: 50_000 }
    const { ask, provider } = await asking({ text: 'word '.repeat(8), faults: slow }, { clock, settings })
    let isOver = false
    const reply = ask().finally(() => {
      isOver = true
    })
    const done = provider.until(({ kind }) => kind === 'answered')
    const moving = (async () => {
      while (!isOver) {
        await Promise.race([clock.sleepOf(50_000), reply])
        // The parts that were sent must be heard before time goes on, as they would be.
        await untilQuiet()
        if (!isOver) await clock.advance(50_000)
      }
    })()
    expect((await reply).text).toBe('word '.repeat(8))
    await Promise.all([moving, done])
  })

  test('when the reply is there nobody sleeps on for it', async () => {
    const clock = watchedClock()
    const { ask } = await asking({ text: 'a' }, { clock, settings: times })
    await ask()
    await clock.advance(1_000_000)
    expect((await ask()).text).toBe('a')
  })
})

describe('a call that is no longer wanted ends at once', () => {
  test('before it begins, without a request', async () => {
    const { ask, provider } = await asking({ text: 'a' })
    const reason = new Error('cancelled')
    await expect(ask({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(provider.log).toEqual([])
  })

  test.each([
    ['while the provider thinks', undefined],
    ['in the middle of the stream', 900],
  ])('%s, with the reason that was given and the socket closed', async (_, silentAt) => {
    const { ask, provider, nextDelta } = await asking(
      silentAt === undefined ? () => new Promise(() => undefined) : { text: 'never whole', faults: { silentAt } },
    )
    const reason = new Error('cancelled')
    const stop = new AbortController()
    const call = ask({ signal: stop.signal })
    await (silentAt === undefined ? provider.until(({ kind }) => kind === 'received') : nextDelta())
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    await provider.until(({ kind }) => kind === 'lost')
  })

  test('and a signal that outlives many calls keeps nothing of them', async () => {
    const { ask } = await asking({ text: 'a' })
    const { signal } = new AbortController()
    const listeners: number[] = []
    const watched = new Proxy(signal, {
      get(target, property) {
        const value = Reflect.get(target, property, target)
        if (typeof value !== 'function') return value
        if (property === 'addEventListener') listeners.push(1)
        if (property === 'removeEventListener') listeners.push(-1)
        return value.bind(target)
      },
    })
    for (let n = 0; n < 3; n++) await ask({ signal: watched })
    expect(listeners).toEqual([1, -1, 1, -1, 1, -1])
  })
})

/** A few turns of the event loop: enough for bytes on loopback to be read and parsed. */
async function untilQuiet(): Promise<void> {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
}
