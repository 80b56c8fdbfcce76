import type pg from 'pg'
import { HeddleError } from '../domain/errors.ts'
import { postgres } from './dialect.ts'
import type { Migration } from './migration.ts'
import { missingMigrations } from './schema-version.ts'
import type { StoreContext } from './store.ts'

/** Any number, the same in every heddle: only one process at a time changes a schema. */
const schemaLock = 0x4845444c

/** The version of our schema in this database: 0 when there is none yet. Refuses tables that are not ours. */
export async function postgresVersion(client: pg.Pool | pg.PoolClient, schema: string, place: string): Promise<number> {
  const { rows } = await client.query<{ table_name: string }>(
    'SELECT table_name FROM information_schema.tables WHERE table_schema = $1',
    [schema],
  )
  if (rows.length === 0) return 0
  if (!rows.some(({ table_name }) => table_name === 'migrations'))
    throw new HeddleError(
      'database_foreign',
      `the schema "${schema}" of ${place} holds tables of another program`,
      'name another schema: add ?schema=NAME to the `database` URL; nothing was changed',
    )
  const version = await client.query<{ version: number | null }>('SELECT max(id) AS version FROM migrations')
  return version.rows[0]?.version ?? 0
}

/** Applies what is missing, one transaction each: a kill between any two statements leaves the step before. */
export async function migratePostgres(
  pool: pg.Pool,
  schema: string,
  place: string,
  known: readonly Migration[],
  context: StoreContext,
): Promise<void> {
  for (const migration of missingMigrations(await postgresVersion(pool, schema, place), known, place)) {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await client.query('SELECT pg_advisory_xact_lock($1)', [schemaLock])
      // Looked up again under the lock: another process may have done it meanwhile.
      if ((await postgresVersion(client, schema, place)) < migration.id) await apply(client, schema, migration, context)
      context.crash('migrate.before_commit')
      await client.query('COMMIT')
      context.crash('migrate.after_commit')
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }
}

async function apply(client: pg.PoolClient, schema: string, migration: Migration, { clock }: StoreContext) {
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
  await client.query(migrationsTable)
  for (const statement of migration.up(postgres.types)) await client.query(statement)
  await client.query('INSERT INTO migrations (id, name, applied_at) VALUES ($1, $2, $3)', [
    migration.id,
    migration.name,
    clock.now(),
  ])
}

const migrationsTable = `CREATE TABLE IF NOT EXISTS migrations (
  id         BIGINT PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at BIGINT NOT NULL
)`
