import { afterEach, describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { why } from '../../src/engine/why/why.ts'
import { databases } from '../setup/places.ts'
import { type Hands, newHands, planned, write } from './hands.ts'

const budget = { usd: 5, tokens: 1000 }

describe.each(databases)('a file whose name ends like a line, on %s', (database) => {
  let pool: Hands
  afterEach(() => pool.remove())

  test('is asked about by its name, and so are its lines; a line of another file stays one', async () => {
    pool = await newHands(
      database,
      planned({ go: [[write('notes:12', 'one\ntwo\nthree\n')], [write('list.md', 'a\nb\n')]] }),
    )
    await pool.work()
    const run = await pool.ask('go')
    const told = async (reference: string) => {
      const context = { store: pool.engine.store, protect: nothingProtected, budget }
      const { ref, chain, file } = await why(context, pool.folder, reference)
      return [ref, file?.text, chain.find(({ how }) => how === 'written by')?.id]
    }
    expect(await told('notes:12')).toEqual(['file:notes:12', undefined, run])
    expect(await told('file:notes:12')).toEqual(['file:notes:12', undefined, run])
    expect(await told('notes:12:3')).toEqual(['file:notes:12:3', 'three', run])
    expect(await told('list.md:2')).toEqual(['file:list.md:2', 'b', run])
    expect(await told('list.md:2:9')).toEqual(['file:list.md:2', 'b', run])
  })
})
