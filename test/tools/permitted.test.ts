import { expect, test } from 'vitest'
import { permitted } from '../../src/tools/permitted.ts'

const names = ['read_file', 'read_result', 'list_dir', 'exec', 'mcp__srv__x']

test.each([
  ['without a list all are allowed', {}, names],
  ['an empty list allows none', { allow: [] }, []],
  ['a name allows one', { allow: ['exec'] }, ['exec']],
  ['a wildcard allows what fits', { allow: ['read_*'] }, ['read_file', 'read_result']],
  ['a star allows all', { allow: ['*'] }, names],
  ['what is denied is out', { deny: ['exec'] }, ['read_file', 'read_result', 'list_dir', 'mcp__srv__x']],
  ['a denied wildcard takes out what fits', { deny: ['mcp__srv__*', 'read_*'] }, ['list_dir', 'exec']],
  ['what is denied is out although it is allowed', { allow: ['read_*'], deny: ['read_file'] }, ['read_result']],
  ['a part of a name is not the name', { allow: ['read', 'file', 'READ_FILE'] }, []],
])('%s', (_, rules, left) => {
  expect(permitted(names, { deny: [], ...rules })).toEqual(left)
})
