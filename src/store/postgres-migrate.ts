import type pg from 'pg'
import { HeddleError } from '../domain/errors.ts'
import { postgres } from './dialect.ts'
import type { Migration } from './migration.ts'
import { missingMigrations } from './schema-version.ts'
import type { StoreContext } from './store.ts'

type Connection = pg.Pool | pg.PoolClient

/** Any number, the same in every heddle: only one process at a time changes a schema. */
const schemaLock = 0x4845444c

/** The version of our schema in this database: 0 when there is none yet. Refuses tables that are not ours. */
export async function postgresVersion(client: Connection, schema: string, place: string): Promise<number> {
  const tables = await ourTables(client, schema, place)
  if (tables.length === 0) return 0
  const { rows } = await client.query<{ version: number | null }>('SELECT max(id) AS version FROM migrations')
  const version = rows[0]?.version
  if (!version)
    throw new HeddleError(
      'database_corrupt',
      `${place} does not say which schema it has: its table "migrations" is empty`,
      'nothing was changed. Go back to a backup: heddle restore FILE',
    )
  return version
}

/** The tables in our schema; refuses those of another program. */
export async function ourTables(client: Connection, schema: string, place: string): Promise<string[]> {
  const { rows } = await client.query<{ relname: string }>(
    `SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = $1 AND relkind = 'r' ORDER BY pg_class.oid`,
    [schema],
  )
  const tables = rows.map(({ relname }) => relname)
  if (tables.length > 0 && !tables.includes('migrations'))
    throw new HeddleError(
      'database_foreign',
      `the schema "${schema}" of ${place} holds tables of another program`,
      'name another schema: add ?schema=NAME to the `database` URL; nothing was changed',
    )
  return tables
}

/** Runs the body on a connection that keeps every other process from changing a schema of this database. */
export async function aloneOnPostgres<T>(pool: pg.Pool, body: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  // What breaks the connection reaches us through the next query; without a listener it would end the process.
  client.on('error', () => undefined)
  try {
    await client.query('SELECT pg_advisory_lock($1)', [schemaLock])
    return await body(client)
  } finally {
    // Closed rather than reused: with the connection the server gives the lock back.
    client.release(true)
  }
}

/** Applies what is missing, one transaction each: a kill between any two statements leaves the step before. */
export async function migratePostgres(
  client: pg.PoolClient,
  schema: string,
  place: string,
  known: readonly Migration[],
  context: StoreContext,
): Promise<void> {
  for (const migration of missingMigrations(await postgresVersion(client, schema, place), known, place)) {
    await inTransaction(client, async () => {
      await applyToPostgres(client, schema, migration, context)
      context.crash('migrate.before_commit')
    })
    context.crash('migrate.after_commit')
  }
}

/** Applies one step; to be called inside a transaction, alone. */
export async function applyToPostgres(
  client: pg.PoolClient,
  schema: string,
  migration: Migration,
  { clock }: StoreContext,
): Promise<void> {
  const { rows } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema])
  // Asked first: whoever may not make schemas may still be given one.
  if (rows.length === 0) await client.query(`CREATE SCHEMA "${schema}"`)
  await client.query(migrationsTable)
  for (const statement of migration.up(postgres.types)) await client.query(statement)
  await client.query('INSERT INTO migrations (id, name, applied_at) VALUES ($1, $2, $3)', [
    migration.id,
    migration.name,
    clock.now(),
  ])
}

/** Commits what the body did, or nothing of it. */
export async function inTransaction<T>(client: pg.PoolClient, body: () => Promise<T>): Promise<T> {
  await client.query('BEGIN')
  try {
    const value = await body()
    await client.query('COMMIT')
    return value
  } catch (error) {
    // Where the connection is lost, the server rolls back on its own.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

const migrationsTable = `CREATE TABLE IF NOT EXISTS migrations (
  id         BIGINT PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at BIGINT NOT NULL
)`
