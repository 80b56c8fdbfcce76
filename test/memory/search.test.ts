import { afterEach, beforeEach, describe, expect } from 'vitest'
import { searchMemories } from '../../src/store/knowledge/memory-search.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

/** So many that a word in thousands of them is still not common. */
const total = 1_000_000

describe.each(databases)('searching memories on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  const index = (word: string, ids: number[]) =>
    runtime.store.write('submit', async (tx) => {
      for (let at = 0; at < ids.length; at += 1000) {
        const rows = ids.slice(at, at + 1000).map((id) => ({ word, memory_id: id, hits: 1 }))
        await tx.run(tx.build.insertInto('memory_words').values(rows))
      }
    })
  const search = async (...words: string[]) =>
    (
      await runtime.store.read((rows) =>
        searchMemories(
          rows,
          words.map((word) => ({ forms: [word] })),
          total,
          10,
        ),
      )
    ).map(({ id, words }) => ({ id, words }))

  test('each hit tells exactly the words that it has, however many are asked for', async () => {
    const words = Array.from({ length: 24 }, (_, at) => `word${at}`)
    for (const [at, word] of words.entries()) await index(word, [1, 100 + at])
    await index('word23', [7])
    await index('word0', [7])
    const [all, both, ...others] = await search(...words)
    expect(all).toEqual({ id: 1, words: expect.arrayContaining(words) })
    expect(both).toEqual({ id: 7, words: expect.arrayContaining(['word0', 'word23']) })
    expect([both?.words.length, others.map((each) => each.words.length)]).toEqual([2, others.map(() => 1)])
  })

  test('a word that only ranks tells apart what others find, and finds nothing', async () => {
    await index('work', [1, 3])
    await index('anna', [1, 2])
    const found = (...words: string[]) =>
      runtime.store.read((rows) =>
        searchMemories(
          rows,
          words.map((word) => ({ forms: [word], importance: 0.1, onlyRanks: word === 'work' })),
          total,
          10,
        ),
      )
    expect((await found('anna', 'work')).map(({ id, words }) => ({ id, words }))).toEqual([
      { id: 1, words: ['anna', 'work'] },
      { id: 2, words: ['anna'] },
    ])
    expect(await found('work', 'zither')).toEqual([])
  })

  test('a word that is in too many to lead anywhere still tells those apart that rarer words lead to', async () => {
    await index('rare', [1, 2])
    await index('wide', [1, ...Array.from({ length: 4100 }, (_, at) => 3 + at)])
    expect(await search('wide', 'rare')).toEqual([
      { id: 1, words: ['rare', 'wide'] },
      { id: 2, words: ['rare'] },
    ])
  })
})
