import { describe, expect, test } from 'vitest'
import { findRun } from '../../src/store/rows/runs.ts'
import { migrations } from '../../src/store/schema-version.ts'
import { databases } from '../setup/places.ts'
import { emptyPlace, openWorld } from './filled-world.ts'
import { insertOldItem, insertOldRun } from './old-rows.ts'

describe.each(databases)('runs of an earlier version on %s', (database) => {
  test('keep their options, which were columns and options of their inputs, and get a lane', async () => {
    const place = emptyPlace(database)
    const before = await openWorld(place, { migrations: migrations.filter(({ id }) => id < 19) })
    await before.store.write('submit', async (tx) => {
      await insertOldRun(tx, { id: 'root', priority: 2, timeout: 4000 })
      await insertOldRun(tx, { id: 'child', parent: 'root', via: 'spawn_agent', priority: 2, deadline: 7000 })
      await insertOldRun(tx, { id: 'other', via: 'narrator' })
      await insertOldItem(tx, 'root', {
        payload: { content: 'hello', wishes: { attended: true, thinking: { level: 'high' } } },
      })
      await insertOldItem(tx, 'other', {
        payload: {
          content: 'say ,"wishes":{"attended":true,"thinking":{"level":"low"}}',
          wishes: {},
        },
      })
    })
    await before.store.close()

    const { store } = await openWorld(place)
    const found = async (id: string) => {
      const run = await store.read((rows) => findRun(rows, id))
      return { ...run?.options, lane: run?.lane }
    }
    expect({ root: await found('root'), child: await found('child'), other: await found('other') }).toEqual({
      root: { priority: 2, timeoutMs: 4000, attended: true, thinking: { level: 'high' }, lane: 'main' },
      child: { priority: 2, deadline: 7000, attended: true, lane: 'agents' },
      other: { priority: 0, lane: 'background' },
    })
  })
})
