import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { backupBeforeUpgrade } from '../../src/store/backup/backup.ts'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { postgres } from '../../src/store/dialect.ts'
import type { Migration } from '../../src/store/migration.ts'
import { openStore } from '../../src/store/open.ts'
import { dumpSchema } from '../../src/store/schema-dump.ts'
import { expectSound } from '../contract/whole.ts'
import { inTurn } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'
import { rowsIn } from './all-rows.ts'
import { backupOptions, newFolder } from './backup-lines.ts'
import { emptyPlace, filledPlace, filledTurns, openWorld } from './filled-world.ts'
import { laterMigrations, schemaLater, schemaNow } from './later-schema.ts'

describe.each(databases)('the schema of %s', (database) => {
  const test = testOn(database)
  test('is brought up to date step by step, to what a new database has', async () => {
    const { place, rows } = await filledPlace(database)
    const upgraded = await openWorld(place, { migrations: laterMigrations })
    const fresh = await openWorld(emptyPlace(database), { migrations: laterMigrations })

    expect(await dumpSchema(upgraded.store)).toBe(await dumpSchema(fresh.store))
    await upgraded.store.close()
    const found = await rowsIn(place, { migrations: laterMigrations })
    expect(found['marks']).toHaveLength(filledTurns)
    expect(found['turns']).toEqual(rows['turns'])
    expectSound(place)
  })

  test('is shown to the caller once before it changes, and never when there is nothing to lose or to change', async () => {
    const { place } = await filledPlace(database)
    const shown: unknown[] = []
    const options = {
      migrations: laterMigrations,
      beforeUpgrade: async (...[, from, to]: [unknown, number, number]) => void shown.push({ from, to }),
    }
    await (await openStore(emptyPlace(database), context, options)).close()
    expect(shown).toEqual([])
    await (await openStore(place, context, options)).close()
    await (await openStore(place, context, options)).close()
    expect(shown).toEqual([{ from: schemaNow, to: schemaLater }])
  })

  test('stays as it is when the copy before the change cannot be made', async () => {
    const { place, rows } = await filledPlace(database)
    const beforeUpgrade = () => Promise.reject(new Error('no copy'))
    await expect(openStore(place, context, { migrations: laterMigrations, beforeUpgrade })).rejects.toThrow('no copy')
    expect(await rowsIn(place)).toEqual(rows)
  })

  test('goes back by the copy that was made before the change', async () => {
    const { place, rows } = await filledPlace(database)
    const folder = newFolder()
    let file = ''
    const upgraded = await openStore(place, context, {
      migrations: laterMigrations,
      async beforeUpgrade(store, from) {
        file = await backupBeforeUpgrade(store, folder, from, backupOptions)
      },
    })
    await upgraded.close()

    expect(readdirSync(folder).map((name) => join(folder, name))).toEqual([file])
    await restoreBackup(place, file, { context })
    expect(await rowsIn(place)).toEqual(rows)
  })

  test('F36 of a newer heddle is refused by an older one, with what to do', async () => {
    const { place } = await filledPlace(database, { migrations: laterMigrations })
    const rows = await rowsIn(place, { migrations: laterMigrations })
    const error = await openStore(place, context).catch((refusal) => refusal)

    expect(error).toMatchObject({
      code: 'schema_newer',
      message: expect.stringContaining(`schema ${schemaLater}; this one supports up to ${schemaNow}`),
      remedy: expect.stringMatching(/use that newer version, or go back with: heddle restore FILE/),
    })
    expect(await rowsIn(place, { migrations: laterMigrations })).toEqual(rows)
  })

  test.each<[string, (statements: string[]) => string[]]>([
    ['cannot be parsed', (statements) => [...statements, 'CREATE NONSENSE']],
    ['leaves rows that refer to nothing', (statements) => [...statements, lostReference]],
  ])('keeps the step before one that %s', async (_, spoil) => {
    const { place, rows } = await filledPlace(database)
    const spoilt = laterMigrations.map((migration) => withStatements(migration, schemaLater, spoil))
    await expect(openStore(place, context, { migrations: spoilt })).rejects.toThrow()

    const upTo = laterMigrations.filter(({ id }) => id < schemaLater)
    const found = await rowsIn(place, { migrations: upTo })
    expect(found['marks']).toHaveLength(filledTurns)
    expect(found['sessions']).toEqual(rows['sessions'])
    expectSound(place)
  })
})

test('SQLite: a step may rebuild a table that rows of others refer to', async () => {
  const { place, rows } = await filledPlace('sqlite')
  const rebuild: Migration = {
    id: schemaNow + 1,
    name: 'rebuild',
    up: () => [
      'CREATE TABLE rebuilt (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT',
      'INSERT INTO rebuilt SELECT hash, text FROM prompts',
      'DROP TABLE prompts',
      'ALTER TABLE rebuilt RENAME TO prompts',
    ],
  }
  const found = await rowsIn(place, { migrations: [...laterMigrations.filter(({ id }) => id <= schemaNow), rebuild] })
  expect(found).toEqual(rows)
  expectSound(place)
})

test('F36 PostgreSQL: a connection that is lost at any statement of an upgrade leaves whole steps, and the next start ends them', async () => {
  const statements = laterMigrations
    .filter(({ id }) => id > schemaNow)
    .flatMap(({ up, id }) => up(postgres.types).map(() => id))
  const expected = await openWorld(emptyPlace('postgres'), { migrations: laterMigrations })
  const dump = await dumpSchema(expected.store)
  for (const [index, id] of inTurn([...statements.entries()], 2)) {
    const { place, rows } = await filledPlace('postgres')
    const position = index - statements.indexOf(id)
    const lost = laterMigrations.map((migration) =>
      withStatements(migration, id, (list) => list.toSpliced(position, 0, loseConnection)),
    )
    await expect(openStore(place, context, { migrations: lost })).rejects.toMatchObject({
      code: 'database_unreachable',
    })

    const runtime = await openWorld(place, { migrations: laterMigrations })
    expect(await dumpSchema(runtime.store)).toBe(dump)
    await runtime.store.close()
    expect((await rowsIn(place, { migrations: laterMigrations }))['turns']).toEqual(rows['turns'])
  }
})

const loseConnection = 'SELECT pg_terminate_backend(pg_backend_pid())'
const lostReference = `INSERT INTO marks (id, turn_id, at) VALUES ('m', 'gone', 1)`

function withStatements(migration: Migration, id: number, change: (statements: string[]) => string[]): Migration {
  return migration.id === id ? { ...migration, up: (types) => change(migration.up(types)) } : migration
}
