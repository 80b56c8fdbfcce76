import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sqlite } from '../../src/store/dialect.ts'
import { TransactionMisuse } from '../../src/store/failures.ts'
import { SqliteConnection } from '../../src/store/sqlite/connection.ts'
import { lockOrder } from '../../src/store/store.ts'
import { Transaction } from '../../src/store/transaction.ts'

function newTransaction(): Transaction {
  return new Transaction('append', sqlite, new SqliteConnection(':memory:'), (error) => error)
}

test('rows are locked in one order: a level may be skipped or repeated, never gone back to', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...lockOrder)), (levels) => {
      const tx = newTransaction()
      const positions = levels.map((level) => lockOrder.indexOf(level))
      const back = positions.findIndex((position, index) => position < Math.max(0, ...positions.slice(0, index)))
      for (const level of back < 0 ? levels : levels.slice(0, back)) tx.locking(level)
      if (back >= 0) expect(() => tx.locking(levels[back] ?? 'runs')).toThrow(TransactionMisuse)
    }),
  )
})

test('the refusal names what should have been locked first', () => {
  const tx = newTransaction()
  tx.locking('runs')
  expect(() => tx.locking('sessions')).toThrow('append: sessions must be locked before runs')
  // A job is the last: what it starts is locked before it.
  tx.locking('jobs')
  expect(() => tx.locking('runs')).toThrow('append: runs must be locked before jobs')
})
