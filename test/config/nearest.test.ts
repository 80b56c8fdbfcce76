import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nearest } from '../../src/domain/text/nearest.ts'

const words = ['agent', 'agents', 'models', 'maxConcurrent', 'plans', 'name']

test.each([
  ['agnets', 'agents'],
  ['agetn', 'agent'],
  ['model', 'models'],
  ['MAXCONCURRENT', 'maxConcurrent'],
  ['maxConcurent', 'maxConcurrent'],
  ['max-concurrent', 'maxConcurrent'],
  ['plnas', 'plans'],
  ['nam', 'name'],
])('%s was meant to be %s', (typed, meant) => {
  expect(nearest(typed, words)).toBe(meant)
})

test.each(['zzz', '', 'workspace', 'x'.repeat(10_000)])('nothing is guessed for %.20s', (typed) => {
  expect(nearest(typed, words)).toBeUndefined()
})

test('a word with one letter dropped, doubled or swapped finds its way back', () => {
  const word = fc.stringMatching(/^[a-z]{4,12}$/)
  fc.assert(
    fc.property(word, fc.nat(), fc.constantFrom('drop', 'double', 'swap'), (right, place, slip) => {
      const at = place % (right.length - 1)
      const [head, tail] = [right.slice(0, at), right.slice(at)]
      const typed = {
        drop: head + tail.slice(1),
        double: head + tail[0] + tail,
        swap: head + tail[1] + tail[0] + tail.slice(2),
      }
      expect(nearest(typed[slip], ['0123456789', right])).toBe(right)
    }),
  )
})
