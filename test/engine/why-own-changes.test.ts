import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { why } from '../../src/engine/why/why.ts'
import { databases } from '../setup/places.ts'
import { edit, type Hands, newHands, planned, read, write } from './hands.ts'

const budget = { usd: 5, tokens: 1000 }

describe.each(databases)('files that a run read, on %s', (database) => {
  let pool: Hands
  afterEach(() => pool.remove())

  test('have not changed since if the run itself changed them, and have if somebody else did', async () => {
    pool = await newHands(
      database,
      planned({ go: [[read('a.txt')], [read('b.txt')], [edit('a.txt', 'one', 'two')], [write('out.md', 'done\n')]] }),
    )
    pool.put('a.txt', 'one\n')
    pool.put('b.txt', 'one\n')
    await pool.work()
    await pool.ask('go')
    const readBy = async () => {
      const context = { store: pool.engine.store, protect: nothingProtected, budget }
      const { chain } = await why(context, pool.folder, 'out.md')
      return chain.find((link) => link.read)?.read
    }
    expect(await readBy()).toEqual({ count: 2, under: '.', changed: [], unknown: 0 })
    writeFileSync(join(pool.folder, 'b.txt'), 'other\n')
    expect(await readBy()).toMatchObject({ changed: ['b.txt'] })
  })
})
