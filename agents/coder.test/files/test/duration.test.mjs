import assert from 'node:assert'
import { test } from 'node:test'
import { duration } from '../src/duration.mjs'

test('less than an hour', () => {
  assert.equal(duration(0), '0 s')
  assert.equal(duration(59), '59 s')
  assert.equal(duration(123), '2 min 3 s')
  assert.equal(duration(300), '5 min')
})

test('an hour and more', () => {
  assert.equal(duration(3600), '1 h')
  assert.equal(duration(3900), '1 h 5 min')
})
