import { type OpenOptions, runBeforeUpgrade } from '../before-upgrade.ts'
import { explainPostgres } from '../failures.ts'
import { migrations, missingMigrations } from '../schema-version.ts'
import type { Store, StoreContext } from '../store.ts'
import { migratePostgres, postgresVersion, withSchemaLock } from './migrate.ts'
import { redactedUrl, schemaOf } from './server-address.ts'
import { connectPool, openPostgresStore, type PostgresSettings } from './store.ts'

/** Opens the database of a server: creates its schema, or checks and migrates it; see `openStore`. */
export async function openServer(
  location: PostgresSettings,
  context: StoreContext,
  { migrations: known = migrations, beforeUpgrade, refusalIfMissing }: OpenOptions,
): Promise<Store> {
  const printable = redactedUrl(location.url)
  const schema = schemaOf(location.url)
  // Kept for the store: a connection costs the server more than all that is asked here.
  const pool = connectPool(location)
  try {
    const refusal = await refusalIfMissing?.()
    const version = await postgresVersion(pool, schema, printable)
    if (version === 0 && refusal) throw refusal
    if (missingMigrations(version, known, printable).length > 0)
      await withSchemaLock(pool, async (client) => {
        const from = await postgresVersion(client, schema, printable)
        if (from > 0 && missingMigrations(from, known, printable).length > 0)
          await runBeforeUpgrade(openPostgresStore(location, context), from, known, beforeUpgrade)
        await migratePostgres(client, schema, printable, known, context)
      })
  } catch (error) {
    await pool.end()
    throw explainPostgres(error, printable)
  }
  return openPostgresStore(location, context, pool)
}

/** The version of a server's schema, 0 without one; changes nothing. */
export async function examineServer(url: string): Promise<number> {
  const place = redactedUrl(url)
  const pool = connectPool({ url, poolSize: 1 })
  try {
    return await postgresVersion(pool, schemaOf(url), place)
  } catch (error) {
    throw explainPostgres(error, place)
  } finally {
    await pool.end()
  }
}
