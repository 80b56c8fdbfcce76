import type pg from 'pg'
import { HeddleError } from '../../domain/errors.ts'
import { postgres } from '../dialect.ts'
import { type Migration, statementsOf } from '../migration.ts'
import { missingMigrations } from '../schema-version.ts'
import type { StoreContext } from '../store.ts'

type MigrationClient = pg.Pool | pg.PoolClient

/** Advisory lock key, the same in every Heddle process: only one at a time migrates. */
const schemaLock = 0x4845444c

/** Schema version of this database; 0 when it is empty. Throws for tables of another program. */
export async function postgresVersion(client: MigrationClient, schema: string, location: string): Promise<number> {
  const tables = await ourTables(client, schema, location)
  if (tables.length === 0) return 0
  const { rows } = await client.query<{ version: number | null }>('SELECT max(id) AS version FROM migrations')
  const version = rows[0]?.version
  if (!version)
    throw new HeddleError(
      'database_corrupt',
      `${location} does not say which schema it has: its table "migrations" is empty`,
      'nothing was changed. Go back to a backup: heddle restore FILE',
    )
  return version
}

/** Table names of our schema; throws for tables of another program. */
export async function ourTables(client: MigrationClient, schema: string, location: string): Promise<string[]> {
  const { rows } = await client.query<{ relname: string }>(
    `SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = $1 AND relkind = 'r' ORDER BY pg_class.oid`,
    [schema],
  )
  const tables = rows.map(({ relname }) => relname)
  if (tables.length > 0 && !tables.includes('migrations'))
    throw new HeddleError(
      'database_foreign',
      `the schema "${schema}" of ${location} contains tables of another program`,
      'use another schema: add ?schema=NAME to the `database` URL; nothing was changed',
    )
  return tables
}

/** Runs the body on a connection that holds the migration lock of this database. */
export async function withSchemaLock<T>(pool: pg.Pool, body: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  // A broken connection fails the next query; without a listener the error would end the process.
  client.on('error', () => undefined)
  try {
    await client.query('SELECT pg_advisory_lock($1)', [schemaLock])
    return await body(client)
  } finally {
    // Closed rather than reused: closing the connection releases the lock.
    client.release(true)
  }
}

/** Applies missing migrations, one transaction each: a kill at any point leaves the last complete one. */
export async function migratePostgres(
  client: pg.PoolClient,
  schema: string,
  location: string,
  known: readonly Migration[],
  context: StoreContext,
): Promise<void> {
  for (const migration of missingMigrations(await postgresVersion(client, schema, location), known, location)) {
    await inTransaction(client, async () => {
      await applyToPostgres(client, schema, migration, known, context)
      context.crash('migrate.before_commit')
    })
    context.crash('migrate.after_commit')
  }
}

/** Applies missing migrations within the caller's transaction. */
export async function migrateWithin(
  client: pg.PoolClient,
  schema: string,
  location: string,
  known: readonly Migration[],
  context: StoreContext,
): Promise<void> {
  for (const migration of missingMigrations(await postgresVersion(client, schema, location), known, location))
    await applyToPostgres(client, schema, migration, known, context)
}

/** Applies one migration; must be called inside a transaction, with the migration lock held. */
export async function applyToPostgres(
  client: pg.PoolClient,
  schema: string,
  migration: Migration,
  known: readonly Migration[],
  { clock }: StoreContext,
): Promise<void> {
  const { rows } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema])
  // Checked first: a user without CREATE rights may use a schema that exists.
  if (rows.length === 0) await client.query(`CREATE SCHEMA "${schema}"`)
  await client.query(migrationsTable)
  for (const statement of statementsOf(migration, known, postgres.types)) await client.query(statement)
  await client.query('INSERT INTO migrations (id, name, applied_at) VALUES ($1, $2, $3)', [
    migration.id,
    migration.name,
    clock.now(),
  ])
}

/** Runs the body in a transaction. */
export async function inTransaction<T>(client: pg.PoolClient, body: () => Promise<T>): Promise<T> {
  await client.query('BEGIN')
  try {
    const value = await body()
    await client.query('COMMIT')
    return value
  } catch (error) {
    // If the connection is lost, the server rolls back on its own.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

const migrationsTable = `CREATE TABLE IF NOT EXISTS migrations (
  id         BIGINT PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at BIGINT NOT NULL
)`
