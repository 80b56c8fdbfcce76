import { afterEach, expect, test } from 'vitest'
import { connectPool } from '../../src/store/postgres/store.ts'
import { emptySchema } from './ready-places.ts'
import { countStatements } from './statement-counter.ts'

let end = () => Promise.resolve()
afterEach(() => end())

test('what an operation leads to is counted, though its connection has to be made first', async () => {
  const pool = connectPool(emptySchema().place)
  end = () => pool.end()
  const { statements } = await countStatements(async () => void pool.query('SELECT 1'))
  expect(statements).toEqual(['SELECT 1'])
})
