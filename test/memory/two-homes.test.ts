import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { homePaths } from '../../src/home/home.ts'
import { homeFiles } from '../../src/home/home-files.ts'
import { homeId } from '../../src/home/home-id.ts'
import { recallPassages } from '../../src/memory/recall-passages.ts'
import { knownFiles } from '../../src/store/knowledge/home-files.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { type Notebook, newNotebook, rowsIn } from './notebook.ts'

describe.each(databases)('two homes on one %s database', (database) => {
  const test = testOn(database)
  let one: Notebook
  let other: Notebook
  beforeEach(async () => {
    one = await newNotebook(database)
    other = await newNotebook('sqlite')
  })
  afterEach(async () => {
    await one.remove()
    await other.remove()
  })

  const look = (notes: Notebook, id: string) => one.look({ files: homeFiles(notes.home, id), store: one.runtime.store })
  const found = (home: string, question: string) =>
    one.runtime.store.read(async (rows) =>
      (await recallPassages(rows, question, { home, now: one.clock.now(), limit: 10 })).map(
        ({ passage }) => passage.text,
      ),
    )

  test('keep their own rows, whichever looks when, and find their own files', async () => {
    one.put('memory/a.md', 'the tomatoes are red')
    one.put('memory/b.md', 'the beans are green')
    other.put('memory/a.md', 'the tomatoes are yellow')
    for (let round = 0; round < 2; round++) {
      expect(await look(one, 'one')).toEqual([])
      expect(await look(other, 'other')).toEqual([])
    }
    expect((await rowsIn(one.runtime.store)).files.map(({ path }) => path)).toEqual([
      'one:memory/a.md',
      'one:memory/b.md',
      'other:memory/a.md',
    ])
    const known = await one.runtime.store.read((rows) => knownFiles(rows, 'one', { after: '', limit: 10 }))
    expect(known.map(({ path }) => path)).toEqual(['memory/a.md', 'memory/b.md'])
    expect(await found('one', 'tomatoes')).toEqual(['the tomatoes are red'])
    expect(await found('other', 'tomatoes')).toEqual(['the tomatoes are yellow'])
    one.drop('memory/a.md')
    await look(one, 'one')
    expect(await found('one', 'tomatoes')).toEqual([])
    expect(await found('other', 'tomatoes')).toEqual(['the tomatoes are yellow'])
  })

  test('rows from before homes had an identity go to the first that looks', async () => {
    one.put('memory/a.md', 'the tomatoes are red')
    other.put('memory/c.md', 'the peas are round')
    await look(one, '')
    const before = await rowsIn(one.runtime.store)
    await look(one, 'one')
    const after = await rowsIn(one.runtime.store)
    expect(after.passages).toEqual(before.passages.map((each) => ({ ...each, path: `one:${each.path}` })))
    await look(other, 'other')
    expect(await found('one', 'tomatoes')).toEqual(['the tomatoes are red'])
    expect(await found('other', 'peas')).toEqual(['the peas are round'])
  })
})

test('a home keeps its identity, and processes that make it at once agree', async () => {
  const home = mkdtempSync(join(tmpdir(), 'heddle-home-id-'))
  try {
    let made = 0
    const newId = () => `1m7m2vn0v7dkkb74mr${(made++).toString().padStart(2, '0')}`
    const ids = await Promise.all(Array.from({ length: 5 }, () => homeId(homePaths(home), newId)))
    expect(new Set(ids).size).toBe(1)
    expect(readFileSync(join(home, 'home-id'), 'utf8')).toBe(`${ids[0]}\n`)
    expect(await homeId(homePaths(home), newId)).toBe(ids[0])
  } finally {
    rmSync(home, { recursive: true })
  }
})
