import { expect, test } from 'vitest'
import { maxTimer, sleepInParts } from '../src/system.ts'

/** A clock whose waits pass at once and are noted. */
function timers() {
  let time = 0
  const waits: number[] = []
  return {
    waits,
    monotonic: () => time,
    async wait(part: number) {
      waits.push(part)
      time += part
    },
  }
}

test('a sleep longer than a timer can hold takes several timers, and no less time', async () => {
  const clock = timers()
  await sleepInParts(maxTimer * 2 + 5, undefined, clock)
  expect(clock.waits).toEqual([maxTimer, maxTimer, 5])
})

test('an aborted long sleep starts no further timer', async () => {
  const clock = timers()
  const stop = new AbortController()
  const wait = async (part: number) => {
    await clock.wait(part)
    stop.abort()
  }
  await sleepInParts(maxTimer * 3, stop.signal, { ...clock, wait })
  expect(clock.waits).toEqual([maxTimer])
})

test('a short sleep is one timer', async () => {
  const clock = timers()
  await sleepInParts(0, undefined, clock)
  await sleepInParts(20, undefined, clock)
  expect(clock.waits).toEqual([0, 20])
})
