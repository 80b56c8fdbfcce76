import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dumpSchema } from '../../src/store/schema-dump.ts'
import { migrations } from '../../src/store/schema-version.ts'
import { databases, newTestRuntime } from '../setup/places.ts'

const folder = join(import.meta.dirname, '../../src/store')

test.each(databases)('the schema of a new %s database is the one that is checked in', async (database) => {
  const runtime = await newTestRuntime(database)
  onTestFinished(runtime.remove)
  await expect(
    await dumpSchema(runtime.store),
    'the schema has changed: if you meant it, run "npm run schema" and look at the diff of src/store/schema.*.sql',
  ).toMatchFileSnapshot(join(folder, database, 'schema.sql'))
})

test('migrations are numbered 1, 2, 3 in the order in which they are applied', () => {
  expect(migrations.map(({ id }) => id)).toEqual(migrations.map((_, index) => index + 1))
})
