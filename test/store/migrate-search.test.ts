import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { append } from '../../src/engine/turns/append.ts'
import { raw } from '../../src/store/raw.ts'
import { hasUnindexed } from '../../src/store/rows/search/documents.ts'
import { migrations } from '../../src/store/schema-version.ts'
import type { Tx } from '../../src/store/store.ts'
import { finder } from '../engine/search/finder.ts'
import { type Database, databases } from '../setup/places.ts'
import { allRows } from './all-rows.ts'
import { emptyPlace, openWorld } from './filled-world.ts'

const step = migrations.find(({ name }) => name === 'search')?.id ?? 0
/** What turns are made of, in an order in which each names only what is there. */
const tables = ['personas', 'prompts', 'segments', 'sessions', 'runs', 'turns', 'threads']

describe.each(databases)('a home without a search index on %s', (database) => {
  test('finds the words of its old turns once it is upgraded, and those of new ones', async () => {
    const place = emptyPlace(database)
    const old = await openWorld(place, { migrations: migrations.filter(({ id }) => id < step) })
    const rows = await turnsOfToday()
    await old.store.write('submit', async (tx) => {
      await tx.run(
        raw(tx.build, database === 'sqlite' ? sql`PRAGMA defer_foreign_keys = ON` : sql`SET CONSTRAINTS ALL DEFERRED`),
      )
      for (const table of tables) await copyRows(tx, database, table, rows[table] ?? [])
    })
    await old.store.close()

    const home = await openWorld(place)
    expect(await home.store.read(hasUnindexed)).toBe(true)
    const search = finder(home)
    await search.indexAll()
    expect(await search.found('lighthouse')).toEqual(['where is the [lighthouse]?'])
    expect(await search.found('crimson')).toEqual(['behind the [crimson] gate'])
    await append(home, { folder: '/work', label: 'main', draft: draftOf('and the ferry?', 'at noon') })
    await search.indexAll()
    expect(await search.found('ferry')).toEqual(['and the [ferry]?'])
  })
})

/** Rows of a home of today with two turns. */
async function turnsOfToday() {
  const today = await openWorld(emptyPlace('sqlite'))
  for (const draft of [
    draftOf('where is the lighthouse?', 'over there'),
    draftOf('which gate?', 'behind the crimson gate'),
  ])
    await append(today, { folder: '/work', label: 'main', draft })
  return allRows(today.store)
}

function draftOf(question: string, answer: string) {
  return { query: [{ content: question }], response: { content: answer } }
}

/** Writes rows into a table of an earlier schema, without the columns that it does not have. */
async function copyRows(tx: Tx, database: Database, table: string, rows: Record<string, unknown>[]): Promise<void> {
  const columns = await tx.all(
    raw<{ name: string }>(
      tx.build,
      database === 'sqlite'
        ? sql`SELECT name FROM pragma_table_info(${table})`
        : sql`SELECT column_name AS name FROM information_schema.columns 
              WHERE table_name = ${table} AND table_schema = current_schema()`,
    ),
  )
  for (const row of rows) {
    const names = columns.map(({ name }) => name).filter((name) => name in row)
    await tx.run(
      raw(
        tx.build,
        sql`INSERT INTO ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))})
            VALUES (${sql.join(names.map((name) => row[name]))})`,
      ),
    )
  }
}
