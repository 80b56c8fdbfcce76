import assert from 'node:assert'
import { test } from 'node:test'
import { Cache } from '../src/cache.mjs'

test('what was kept is found', () => {
  const cache = new Cache(2)
  cache.set('a', 1)
  assert.equal(cache.get('a'), 1)
})
