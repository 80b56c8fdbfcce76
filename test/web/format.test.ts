import { expect, test } from 'vitest'
import { asSentence } from '../../web/src/text/format.ts'

test.each([
  ['there is no run of that name', 'There is no run of that name'],
  ['reload: it may have changed', 'Reload: it may have changed'],
  ['heddle ps lists them', 'heddle ps lists them'],
  ['run:2ayxt1 has ended', 'run:2ayxt1 has ended'],
  ['heddle.yaml cannot be read', 'heddle.yaml cannot be read'],
  ['@writer is gone', '@writer is gone'],
])('"%s" begins a sentence as "%s"', (text, sentence) => {
  expect(asSentence(text)).toBe(sentence)
})
