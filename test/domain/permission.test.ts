import { expect, test } from 'vitest'
import { isAllowed } from '../../src/domain/tools/permission.ts'

test.each([
  ['read_file', {}, true],
  ['read_file', { allow: [] }, false],
  ['read_file', { allow: ['read_file'] }, true],
  ['read_file', { allow: ['read_*'] }, true],
  ['read_file', { allow: ['*'], deny: ['read_file'] }, false],
  ['read_file', { deny: ['*_file'] }, false],
  ['read_file', { allow: ['reader'] }, false],
  ['read_file', { allow: ['Read'] }, true],
  ['exec', { deny: ['Bash'] }, false],
  ['edit_file', { allow: ['Write', 'MultiEdit'] }, true],
  ['exec', { allow: ['*'], deny: ['e*c'] }, false],
  ['ec', { deny: ['e*c*ec'] }, true],
  ['aXbYc', { allow: ['a*b*c'] }, true],
  ['abab', { allow: ['ab*ab'] }, true],
  ['aba', { allow: ['ab*ba'] }, false],
])('%s under %j: %s', (name, lists, allowed) => {
  expect(isAllowed(name, lists)).toBe(allowed)
})
