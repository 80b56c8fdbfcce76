import type { Insertable } from 'kysely'
import { describe, expect, test } from 'vitest'
import { grantsFor, listGrants } from '../../src/store/rows/approvals.ts'
import { migrations } from '../../src/store/schema-version.ts'
import type { Tables } from '../../src/store/tables.ts'
import { databases } from '../setup/places.ts'
import { emptyPlace, openWorld } from './filled-world.ts'

describe.each(databases)('grants of an earlier version on %s', (database) => {
  test('hold where it is clear what they cover, and end where it is not', async () => {
    const place = emptyPlace(database)
    const before = await openWorld(place, { migrations: migrations.filter(({ id }) => id < 13) })
    const grant = { scope: 'agent', session_id: null, agent: 'coder', folder: '/shop', approval_id: 1, created_at: 7 }
    const rows = [
      { ...grant, tool: 'edit_file', pattern: 'writing files in this folder' },
      { ...grant, tool: 'exec', pattern: 'exec in .: npm test' },
      { ...grant, tool: 'web_fetch', pattern: 'web_fetch {"url":"https://example.com/a b"}' },
    ]
    await before.store.write('approve', async (tx) => {
      for (const row of rows)
        await tx.run(tx.build.insertInto('grants').values(row as unknown as Insertable<Tables['grants']>))
    })
    await before.store.close()

    const { store } = await openWorld(place)
    expect((await store.read(listGrants)).map(({ tool }) => tool)).toEqual(['web_fetch', 'write_file'])
    const here = { folder: '/shop', cwd: '/shop', confinement: null }
    const covered = [
      { ...here, tool: 'write_file', pattern: JSON.stringify({ path: '**' }) },
      { ...here, tool: 'web_fetch', pattern: JSON.stringify({ input: { url: 'https://example.com/a b' } }) },
    ]
    for (const coverage of covered) expect(await store.read((rows) => grantsFor(rows, coverage))).toHaveLength(1)
  })
})
