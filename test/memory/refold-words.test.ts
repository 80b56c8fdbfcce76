import { describe, expect, onTestFinished } from 'vitest'
import { recall } from '../../src/memory/recall.ts'
import { refoldWords } from '../../src/memory/refold-words.ts'
import { archiveMemory, insertMemory, supersede } from '../../src/store/knowledge/memories.ts'
import { openStore } from '../../src/store/open.ts'
import { migrations } from '../../src/store/schema-version.ts'
import { databases, newPlace } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'
import { newNotebook } from './notebook.ts'

const label = { integrity: 'trusted' as const, sources: [] }
const steps = migrations.filter(({ name }) => name === 'folded words' || name === 'split capitals')

describe.each(databases)('words that an earlier version folded differently, on %s', (database) => {
  const test = testOn(database)
  test.each(steps)('are replaced after the upgrade to $name, but for memories that no search finds', async (step) => {
    const { place, remove } = newPlace(database)
    onTestFinished(remove)
    const before = await openStore(place, context, { migrations: migrations.filter(({ id }) => id < step.id) })
    await before.write('submit', async (tx) => {
      for (let at = 0; at < 250; at++) await insertMemory(tx, { content: `note ${at}`, source: 'user', label }, 1)
      for (const content of ['Frau Müller ist krank', 'Müller hat frei', 'Müller kommt'])
        await insertMemory(tx, { content, source: 'user', label }, 1)
      await supersede(tx, 252, 251)
      await archiveMemory(tx, 253)
      await tx.run(tx.build.updateTable('memory_words').set({ word: 'm' }).where('word', '=', 'mueller'))
      await tx.run(
        tx.build.insertInto('search_words').values({ word: 'old', document_id: 7, kind: 0, principal: null }),
      )
    })
    await before.close()
    const store = await openStore(place, context)
    onTestFinished(() => store.close())
    const found = async () =>
      (await store.read((rows) => recall(rows, 'Mueller', 1, 5))).map(({ memory }) => memory.content)
    expect(await found()).toEqual([])
    await refoldWords(store)
    expect(await found()).toEqual(['Frau Müller ist krank'])
    const words = await store.read((rows) => rows.all(rows.build.selectFrom('memory_words').selectAll()))
    expect(words.filter(({ memory_id }) => memory_id > 251)).toEqual([])
    expect(words.filter(({ word }) => word === 'm')).toEqual([])
    expect(await store.read((rows) => rows.all(rows.build.selectFrom('search_words').selectAll()))).toEqual([])
    expect(await store.read((rows) => rows.all(rows.build.selectFrom('meta').select('key')))).not.toContainEqual({
      key: 'words_to_fold',
    })
  })

  test('are replaced in the passages of files, which keep their numbers', async () => {
    const notebook = await newNotebook(database)
    onTestFinished(() => notebook.remove())
    const { store } = notebook.runtime
    notebook.put('memory/a.md', '# Amt\n\nFrau Müller ist zuständig.')
    await notebook.look()
    const ids = () => store.read((rows) => rows.all(rows.build.selectFrom('passages').select('id')))
    const numbers = await ids()
    await store.write('submit', async (tx) => {
      await tx.run(tx.build.deleteFrom('passage_words').where('word', '=', 'mueller'))
      await tx.run(tx.build.insertInto('meta').values({ key: 'words_to_fold', value: '{"memories":0,"passages":0}' }))
    })
    expect(await notebook.found('Mueller')).toEqual([])
    await refoldWords(store)
    expect(await notebook.found('Mueller')).toEqual(['memory/a.md:3 Frau Müller ist zuständig.'])
    expect(await ids()).toEqual(numbers)
  })
})
