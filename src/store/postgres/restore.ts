import type pg from 'pg'
import { HeddleError } from '../../domain/errors.ts'
import { startOfDay } from '../../domain/spending.ts'
import type { Backup, BackupRow } from '../backup/backup-file.ts'
import {
  carriedColumns,
  type EmptyTables,
  fillTables,
  holdJobs,
  type ReplacedDatabase,
  type RestoreMigrations,
  revokeAllTokens,
} from '../backup/restore-rows.ts'
import { explainPostgres } from '../failures.ts'
import type { Migration } from '../migration.ts'
import type { StoreContext } from '../store.ts'
import { stamp } from '../sync-folder.ts'
import { applyToPostgres, inTransaction, migrateWithin, ourTables, withSchemaLock } from './migrate.ts'
import { redactedUrl, schemaOf } from './server-address.ts'
import { connectPool } from './store.ts'

const maxNameLength = 63
const maxParameters = 60_000
/** Error codes of a lock timeout and a deadlock. */
const stillLocked = /^(55P03|40P01)$/

/** Restores a backup into a new schema in one transaction; the old schema is renamed, never dropped. */
export function restoreServer(
  url: string,
  backup: Backup,
  steps: RestoreMigrations,
  context: StoreContext,
): Promise<ReplacedDatabase> {
  const schema = schemaOf(url)
  const fill = async (client: pg.PoolClient) => {
    for (const migration of steps.first) await applyToPostgres(client, schema, migration, steps.first, context)
    await client.query('SET CONSTRAINTS ALL DEFERRED')
    await fillTables(backup, tablesOn(client, schema))
    await client.query('SET CONSTRAINTS ALL IMMEDIATE')
    await moveSequences(client, schema)
  }
  return replaceSchema(url, fill, steps.all, context)
}

/** Whether this names a schema that an earlier restore of this database moved aside. */
export async function isKeptSchema(url: string, name: string): Promise<boolean> {
  const [, stamped] = /_before_restore_(\d{8}_\d{6}_\d{3})$/.exec(name) ?? []
  if (stamped === undefined || name !== replacedSchemaName(schemaOf(url), stamped)) return false
  const pool = connectPool({ url, poolSize: 1 })
  try {
    const { rows } = await pool.query('SELECT FROM pg_namespace WHERE nspname = $1', [name])
    return rows.length > 0
  } catch (error) {
    throw explainPostgres(error, redactedUrl(url))
  } finally {
    await pool.end()
  }
}

/** Swaps back a schema that was moved aside; the current one is moved aside in turn. */
export async function restoreKeptSchema(
  url: string,
  oldSchema: string,
  known: readonly Migration[],
  context: StoreContext,
): Promise<ReplacedDatabase & { turns: number }> {
  const schema = schemaOf(url)
  let turns = 0
  const rename = async (client: pg.PoolClient) => {
    await client.query(`ALTER SCHEMA "${oldSchema}" RENAME TO "${schema}"`)
    turns = await tablesOn(client, schema).count('turns')
  }
  const replaced = await replaceSchema(url, rename, known, context)
  return { turns, ...replaced }
}

/** Moves the schema aside, puts another one in its place, revokes its tokens and carries over today's spending, in one transaction. */
async function replaceSchema(
  url: string,
  put: (client: pg.PoolClient) => Promise<unknown>,
  known: readonly Migration[],
  context: StoreContext,
): Promise<ReplacedDatabase> {
  const schema = schemaOf(url)
  const location = redactedUrl(url)
  const pool = connectPool({ url, poolSize: 1 })
  try {
    return await withSchemaLock(pool, async (client) => {
      const replaced = await inTransaction(client, async () => {
        const aside = await moveAside(client, schema, location, context)
        await put(client)
        await migrateWithin(client, schema, location, known, context)
        if ((await columnsOf(client, schema, 'outbox')).length > 0) await client.query(holdJobs)
        if (aside !== null) await carrySpending(client, { schema, oldSchema: aside }, context)
        // Those revoked since the backup must not work again, and nothing else knows which these are.
        const revoked = await client.query(revokeAllTokens('$1', schema), [context.clock.now()])
        context.crash('restore.before_swap')
        return { keptAside: aside, revokedTokens: revoked.rowCount ?? 0 }
      })
      context.crash('restore.after_swap')
      return replaced
    })
  } catch (error) {
    throw explainPostgres(error, location)
  } finally {
    await pool.end()
  }
}

/** Carries over today's spending: a restore must not reset the day's budget. */
async function carrySpending(
  client: pg.PoolClient,
  { schema, oldSchema }: { schema: string; oldSchema: string },
  { clock }: StoreContext,
): Promise<void> {
  const found = carriedColumns(await columnsOf(client, oldSchema, 'usage'))
  if (found.length === 0) return
  const columns = found.join(', ')
  // The process of an open call can no longer record its cost.
  const carried = found.map((column) =>
    column === 'state' ? `CASE WHEN state = 'reserved' THEN 'lost' ELSE state END` : column,
  )
  await client.query(
    `INSERT INTO "${schema}".usage (${columns})
     SELECT ${carried.join(', ')} FROM "${oldSchema}".usage WHERE at >= $1 ON CONFLICT DO NOTHING`,
    [startOfDay(clock.now())],
  )
}

/** Locks all tables first, so that no other process commits into the schema that is moved aside. */
async function moveAside(
  client: pg.PoolClient,
  schema: string,
  location: string,
  { clock }: StoreContext,
): Promise<string | null> {
  const tables = await ourTables(client, schema, location)
  if (tables.length === 0) return null
  await client.query(`SET LOCAL lock_timeout = '2s'`)
  try {
    await client.query(`LOCK TABLE ${tables.map((table) => `"${table}"`).join(', ')} IN ACCESS EXCLUSIVE MODE`)
  } catch (error) {
    if (!stillLocked.test((error as pg.DatabaseError).code ?? '')) throw error
    throw new HeddleError(
      'database_in_use',
      `another process is using ${location} (${(error as Error).message})`,
      'stop it first, then restore again; nothing was changed',
      { retry: 'later', cause: error },
    )
  }
  const aside = replacedSchemaName(schema, stamp(clock.now()))
  await client.query(`ALTER SCHEMA "${schema}" RENAME TO "${aside}"`)
  return aside
}

function replacedSchemaName(schema: string, stamped: string): string {
  const suffix = `_before_restore_${stamped}`
  return schema.slice(0, maxNameLength - suffix.length) + suffix
}

async function columnsOf(client: pg.PoolClient, schema: string, table: string): Promise<string[]> {
  const { rows } = await client.query<{ column_name: string }>(
    'SELECT column_name FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2',
    [schema, table],
  )
  return rows.map(({ column_name }) => column_name)
}

function tablesOn(client: pg.PoolClient, schema: string): EmptyTables {
  return {
    columns: (table) => columnsOf(client, schema, table),
    async insert(table, columns, rows) {
      const pageRows = Math.max(1, Math.floor(maxParameters / columns.length))
      for (let start = 0; start < rows.length; start += pageRows)
        await client.query(insertion(table, columns, rows.slice(start, start + pageRows)))
    },
    async count(table) {
      const { rows } = await client.query<{ count: number }>(`SELECT count(*) AS count FROM "${table}"`)
      return rows[0]?.count ?? 0
    },
  }
}

function insertion(table: string, columns: string[], rows: BackupRow[]): { text: string; values: unknown[] } {
  let position = 0
  const lists = rows.map(() => `(${columns.map(() => `$${++position}`).join(', ')})`)
  return {
    text: `INSERT INTO "${table}" (${columns.map((column) => `"${column}"`).join(', ')}) VALUES ${lists.join(', ')}`,
    values: rows.flatMap((row) => columns.map((column) => row[column])),
  }
}

/** Advances the sequences beyond the ids of the restored rows. */
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
