import { expect, test } from 'vitest'
import { append } from '../../src/engine/turns/append.ts'
import { openStore } from '../../src/store/open.ts'
import { metaValue } from '../../src/store/rows/meta.ts'
import { databases, newPlace, newTestRuntime } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { allRows } from './all-rows.ts'

const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }

test.each(databases)('a place that tests use again on %s is as empty as one that was just made', async (database) => {
  const made = newPlace(database)
  const store = await openStore(made.place, context)
  const fresh = await allRows(store)
  await store.close()
  await made.remove()
  const identities = new Set<string | undefined>()
  for (let round = 0; round < 3; round++) {
    const runtime = await newTestRuntime(database)
    expect(await allRows(runtime.store)).toEqual(fresh)
    identities.add(await runtime.store.read((rows) => metaValue(rows, 'database_id')))
    await append(runtime, { folder: '/here', label: 'main', draft })
    const events = (await allRows(runtime.store))['events'] ?? []
    expect(Math.min(...events.map(({ seq }) => Number(seq)))).toBe(1)
    await runtime.remove()
  }
  expect(identities.size).toBe(3)
})
