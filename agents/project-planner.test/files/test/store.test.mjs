import assert from 'node:assert'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

test('what was added is listed, in order', async () => {
  process.env.NOTES = join(mkdtempSync(join(tmpdir(), 'notes-')), 'notes.txt')
  const { add, list } = await import('../src/store.mjs')
  add('one')
  add('two')
  assert.deepEqual(list(), ['one', 'two'])
})
