import { explainPostgres } from './failures.ts'
import { identify, metaValue } from './meta.ts'
import type { Migration } from './migration.ts'
import { migratePostgres, postgresVersion } from './postgres-migrate.ts'
import { connectPool, openPostgresStore, schemaOf, shownUrl } from './postgres-store.ts'
import { migrations, missingMigrations } from './schema-version.ts'
import { checkStructure, inspectFile } from './sqlite-file.ts'
import { createSqliteFile, migrateSqlite, sqliteVersion } from './sqlite-migrate.ts'
import { connect, openSqliteStore } from './sqlite-store.ts'
import type { Store, StoreContext } from './store.ts'

/** Where the rows live. */
export type Place =
  | { kind: 'sqlite'; file: string; durability: 'full' | 'normal' }
  | { kind: 'postgres'; url: string; poolSize?: number }

export interface OpenOptions {
  migrations?: readonly Migration[]
  /** Called with the database as it is, before its schema changes; must leave a verified copy or throw. */
  beforeUpgrade?(store: Store, from: number, to: number): Promise<void>
}

/** Opens the store of a place: made if missing, checked, brought up to date; or refused with the reason and the way back. */
export async function openStore(place: Place, context: StoreContext, options: OpenOptions = {}): Promise<Store> {
  const store = await (place.kind === 'sqlite'
    ? openFile(place, context, options)
    : openServer(place, context, options))
  if ((await store.read((rows) => metaValue(rows, 'database_id'))) === undefined)
    await store.write('identify', (tx) => identify(tx, Buffer.from(context.random.bytes(6)).toString('hex')))
  return store
}

async function openFile(
  place: Place & { kind: 'sqlite' },
  context: StoreContext,
  { migrations: known = migrations, beforeUpgrade }: OpenOptions,
): Promise<Store> {
  if (inspectFile(place.file) === 'missing') createSqliteFile(place.file, known, context)
  checkStructure(place.file)
  const connection = connect(place.file, place.durability)
  try {
    const version = sqliteVersion(connection)
    const missing = missingMigrations(version, known, place.file)
    if (missing.length > 0 && version > 0)
      await showBefore(openSqliteStore(place, context), version, missing, beforeUpgrade)
    await migrateSqlite(connection, place.file, known, context)
  } finally {
    connection.close()
  }
  return openSqliteStore(place, context)
}

async function openServer(
  place: Place & { kind: 'postgres' },
  context: StoreContext,
  { migrations: known = migrations, beforeUpgrade }: OpenOptions,
): Promise<Store> {
  const shown = shownUrl(place.url)
  const schema = schemaOf(place.url)
  const pool = connectPool({ ...place, poolSize: 2 })
  try {
    const version = await postgresVersion(pool, schema, shown)
    const missing = missingMigrations(version, known, shown)
    if (missing.length > 0 && version > 0)
      await showBefore(openPostgresStore(place, context), version, missing, beforeUpgrade)
    await migratePostgres(pool, schema, shown, known, context)
  } catch (error) {
    throw explainPostgres(error, shown)
  } finally {
    await pool.end()
  }
  return openPostgresStore(place, context)
}

async function showBefore(
  store: Store,
  from: number,
  missing: Migration[],
  beforeUpgrade: OpenOptions['beforeUpgrade'],
): Promise<void> {
  try {
    await beforeUpgrade?.(store, from, missing.at(-1)?.id ?? from)
  } finally {
    await store.close()
  }
}
