import { expect, test } from 'vitest'
import { withRemedy } from '../../src/domain/errors.ts'

test.each([
  ['it broke off', 'ask again', 'it broke off. Ask again'],
  ['it broke off.', 'ask again', 'it broke off. Ask again'],
  ['@x is gone', 'heddle agents lists them', '@x is gone. heddle agents lists them'],
  ['it is locked', '"main" is free', 'it is locked. "main" is free'],
])('"%s" with what helps, "%s", is two sentences, and a command keeps its letters', (message, remedy, whole) => {
  expect(withRemedy({ message, remedy })).toBe(whole)
})
