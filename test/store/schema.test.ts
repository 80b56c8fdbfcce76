import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dumpSchema } from '../../src/store/schema-dump.ts'
import { migrations } from '../../src/store/schema-version.ts'
import { raw } from '../contract/notes.ts'
import { databases } from '../setup/places.ts'
import { allRows } from './all-rows.ts'
import { emptyPlace, type OpenWorld, openWorld } from './filled-world.ts'

const folder = join(import.meta.dirname, '../../src/store')

test.each(databases)('the schema of a new %s database is the one that is checked in', async (database) => {
  const { store } = await migratedFromTheFirst(database)
  await expect(
    `-- Schema ${migrations.length}\n\n${await dumpSchema(store)}`,
    'the schema has changed: if you meant it, run "npm run schema" and look at the diff of src/store/*/schema.sql',
  ).toMatchFileSnapshot(join(folder, database, 'schema.sql'))
})

test.each(databases)(
  'a new %s database is as one that has gone through every migration, with the same rows',
  async (database) => {
    const [fresh, migrated] = [await openWorld(emptyPlace(database)), await migratedFromTheFirst(database)]
    expect(await dumpSchema(fresh.store)).toBe(await dumpSchema(migrated.store))
    // Their order, too: it is the one in which a backup has them.
    expect(Object.entries(await allRows(fresh.store))).toEqual(Object.entries(await allRows(migrated.store)))
    const applied = ({ store }: OpenWorld) =>
      store.read((rows) => rows.all(raw(rows, 'SELECT id, name FROM migrations ORDER BY id')))
    expect(await applied(fresh)).toEqual(await applied(migrated))
  },
)

test('migrations are numbered 1, 2, 3 in the order in which they are applied', () => {
  expect(migrations.map(({ id }) => id)).toEqual(migrations.map((_, index) => index + 1))
})

/** A database of the first schema there was, upgraded since. */
async function migratedFromTheFirst(database: (typeof databases)[number]) {
  const place = emptyPlace(database)
  const old = await openWorld(place, { migrations: migrations.slice(0, 1) })
  await old.store.close()
  return openWorld(place)
}
