import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Random } from '../../src/domain/clock.ts'
import { idPattern, idSource, shortId, shortIdLength } from '../../src/domain/id.ts'
import { manualClock, seededRandom } from '../../src/testing.ts'

/** A clock that can be set to any moment. */
function wildClock(start: number) {
  const clock = { ...manualClock(), moment: start, now: () => clock.moment }
  return clock
}

test('ids of one process sort in the order they were made, however the clock jumps', () => {
  const moments = fc.array(fc.integer({ min: 0, max: Date.UTC(2500, 0, 1) }), { minLength: 2, maxLength: 50 })
  fc.assert(
    fc.property(moments, fc.integer(), (jumps, seed) => {
      const clock = wildClock(0)
      const newId = idSource(clock, seededRandom(seed))
      const ids = jumps.map((moment) => {
        clock.moment = moment
        return newId()
      })
      expect(ids.every((id) => idPattern.test(id))).toBe(true)
      expect(new Set(ids).size).toBe(ids.length)
      expect(ids.toSorted()).toEqual(ids)
    }),
  )
})

test('ids of two processes sort by the millisecond in which they were made', () => {
  const clock = manualClock()
  const here = idSource(clock, seededRandom(1))
  const there = idSource(clock, seededRandom(2))
  const ids = []
  for (let count = 0; count < 20; count++) {
    ids.push(count % 2 === 0 ? here() : there())
    clock.advance(1)
  }
  expect(ids.toSorted()).toEqual(ids)
})

test('an id has 20 digits, and is shown by the last six', () => {
  const id = idSource(manualClock(), seededRandom(1))()
  expect(id).toHaveLength(20)
  expect(shortId(id)).toBe(id.slice(14))
  expect(shortId(id)).toHaveLength(shortIdLength)
})

test('ids made in one millisecond differ in the part that people see', () => {
  const newId = idSource(manualClock(), seededRandom(7))
  const ids = Array.from({ length: 2000 }, newId)
  expect(new Set(ids.map(shortId)).size).toBe(2000)
  expect(ids.toSorted()).toEqual(ids)
})

test('two processes that begin in the same millisecond do not make the same ids', () => {
  const clock = manualClock()
  const [here, there] = [1, 2].map((seed) => idSource(clock, seededRandom(seed)))
  const ids = Array.from({ length: 500 }, () => [here?.(), there?.()]).flat()
  expect(new Set(ids).size).toBe(1000)
})

test('when chance has used up a millisecond the next one is taken, and the order holds', () => {
  const highest: Random = { bytes: (count) => new Uint8Array(count).fill(0xff) }
  const newId = idSource(manualClock(), highest)
  const ids = Array.from({ length: 5 }, newId)
  expect(new Set(ids.map((id) => id.slice(0, 9))).size).toBe(5)
  expect(ids.toSorted()).toEqual(ids)
})
