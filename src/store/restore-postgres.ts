import type pg from 'pg'
import { HeddleError } from '../domain/errors.ts'
import { startOfDay } from '../domain/spending.ts'
import type { Backup, BackupRow } from './backup-file.ts'
import { explainPostgres } from './failures.ts'
import { stamp } from './folder.ts'
import { aloneOnPostgres, applyToPostgres, inTransaction, migratePostgres, ourTables } from './postgres-migrate.ts'
import { connectPool, schemaOf, shownUrl } from './postgres-store.ts'
import { type EmptyTables, fillTables, type Steps, usageColumns } from './restore-rows.ts'
import type { StoreContext } from './store.ts'

const longestName = 63
const mostParameters = 60_000
/** The lock timeout ran out, or the wait was part of a deadlock. */
const stillLocked = /^(55P03|40P01)$/

/** Fills a new schema and gives it the old one's name in one transaction; the old one is renamed and never dropped. */
export async function restoreServer(
  url: string,
  backup: Backup,
  steps: Steps,
  context: StoreContext,
): Promise<string | null> {
  const schema = schemaOf(url)
  const place = shownUrl(url)
  const pool = connectPool({ url, poolSize: 1 })
  try {
    return await aloneOnPostgres(pool, async (client) => {
      const kept = await inTransaction(client, async () => {
        const aside = await moveAside(client, schema, place, context)
        for (const migration of steps.first) await applyToPostgres(client, schema, migration, context)
        await client.query('SET CONSTRAINTS ALL DEFERRED')
        await fillTables(backup, tablesOn(client))
        await client.query('SET CONSTRAINTS ALL IMMEDIATE')
        await moveSequences(client, schema)
        context.crash('restore.before_swap')
        return aside
      })
      context.crash('restore.after_swap')
      await migratePostgres(client, schema, place, steps.all, context)
      if (kept !== null) await carrySpending(client, { schema, kept }, context)
      return kept
    })
  } catch (error) {
    throw explainPostgres(error, place)
  } finally {
    await pool.end()
  }
}

/** Money that was spent today is spent, whatever else is taken back: the budget of the day must know of it. */
async function carrySpending(
  client: pg.PoolClient,
  { schema, kept }: { schema: string; kept: string },
  { clock }: StoreContext,
): Promise<void> {
  const { rows } = await client.query(`SELECT to_regclass($1) AS found`, [`"${kept}".usage`])
  if (rows[0]?.found === null) return
  const columns = usageColumns.join(', ')
  // Whoever made a call that is still open has no database to tell its end to.
  const carried = usageColumns.map((column) =>
    column === 'state' ? `CASE WHEN state = 'reserved' THEN 'lost' ELSE state END` : column,
  )
  await client.query(
    `INSERT INTO "${schema}".usage (${columns})
     SELECT ${carried.join(', ')} FROM "${kept}".usage WHERE at >= $1 ON CONFLICT DO NOTHING`,
    [startOfDay(clock.now())],
  )
}

/** Waits until nobody is in the middle of a change, so that no change is acknowledged in a schema that nobody reads again. */
async function moveAside(
  client: pg.PoolClient,
  schema: string,
  place: string,
  { clock }: StoreContext,
): Promise<string | null> {
  const tables = await ourTables(client, schema, place)
  if (tables.length === 0) return null
  await client.query(`SET LOCAL lock_timeout = '2s'`)
  try {
    await client.query(`LOCK TABLE ${tables.map((table) => `"${table}"`).join(', ')} IN ACCESS EXCLUSIVE MODE`)
  } catch (error) {
    if (!stillLocked.test((error as pg.DatabaseError).code ?? '')) throw error
    throw new HeddleError(
      'database_in_use',
      `another process is using ${place} (${(error as Error).message})`,
      'end it first, then restore again; nothing was changed',
      { retry: 'later', cause: error },
    )
  }
  const suffix = `_before_restore_${stamp(clock.now())}`
  const aside = schema.slice(0, longestName - suffix.length) + suffix
  await client.query(`ALTER SCHEMA "${schema}" RENAME TO "${aside}"`)
  return aside
}

function tablesOn(client: pg.PoolClient): EmptyTables {
  return {
    async columns(table) {
      const { rows } = await client.query<{ column_name: string }>(
        'SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1',
        [table],
      )
      return rows.map(({ column_name }) => column_name)
    },
    async insert(table, columns, rows) {
      const most = Math.max(1, Math.floor(mostParameters / columns.length))
      for (let start = 0; start < rows.length; start += most)
        await client.query(insertion(table, columns, rows.slice(start, start + most)))
    },
    async count(table) {
      const { rows } = await client.query<{ count: number }>(`SELECT count(*) AS count FROM "${table}"`)
      return rows[0]?.count ?? 0
    },
  }
}

function insertion(table: string, columns: string[], rows: BackupRow[]): { text: string; values: unknown[] } {
  let place = 0
  const lists = rows.map(() => `(${columns.map(() => `$${++place}`).join(', ')})`)
  return {
    text: `INSERT INTO "${table}" (${columns.map((column) => `"${column}"`).join(', ')}) VALUES ${lists.join(', ')}`,
    values: rows.flatMap((row) => columns.map((column) => row[column])),
  }
}

/** Rows came with their numbers: the next number must be a new one. */
async function moveSequences(client: pg.PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query<{ table_name: string; column_name: string }>(
    `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1 AND is_identity = 'YES'`,
    [schema],
  )
  for (const { table_name: table, column_name: column } of rows)
    await client.query(
      `SELECT setval(pg_get_serial_sequence($1, $2), max("${column}")) FROM "${table}" HAVING max("${column}") IS NOT NULL`,
      [`"${table}"`, column],
    )
}
