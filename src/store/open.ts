import { statSync } from 'node:fs'
import { basename } from 'node:path'
import type { HeddleError } from '../domain/errors.ts'
import { databaseCorrupt, explainPostgres } from './failures.ts'
import { identify, metaValue } from './meta.ts'
import type { Migration } from './migration.ts'
import { aloneOnPostgres, migratePostgres, postgresVersion } from './postgres-migrate.ts'
import { connectPool, openPostgresStore, schemaOf, shownUrl } from './postgres-store.ts'
import { migrations, missingMigrations } from './schema-version.ts'
import { aloneOnSqlite } from './sqlite-alone.ts'
import type { SqliteConnection } from './sqlite-connection.ts'
import { checkStructure, inspectFile } from './sqlite-file.ts'
import { createSqliteFile, migrateSqlite, sqliteVersion } from './sqlite-migrate.ts'
import { connect, openSqliteStore, whenFree } from './sqlite-store.ts'
import type { Store, StoreContext } from './store.ts'

/** Where the rows live. */
export type Place =
  | { kind: 'sqlite'; file: string; durability: 'full' | 'normal' }
  | { kind: 'postgres'; url: string; poolSize?: number }

/** A name for a place that stays the same when a home is moved or a password changes. */
export function nameOfPlace(place: Place): string {
  if (place.kind === 'sqlite') return `sqlite ${basename(place.file)}`
  const { hostname, port, pathname } = new URL(place.url)
  return `postgres ${hostname}:${port || 5432}${pathname} ${schemaOf(place.url)}`
}

/** Where the rows are, as it may be printed. */
export function shownPlace(place: Place): string {
  return place.kind === 'sqlite' ? place.file : shownUrl(place.url)
}

export interface OpenOptions {
  migrations?: readonly Migration[]
  /** What to refuse with if there is no database, asked before the look for one; without it a new one is made. */
  refusalIfMissing?(): Promise<HeddleError | undefined>
  /** Called with the database as it is, before its schema changes; must leave a verified copy or throw. */
  beforeUpgrade?(store: Store, from: number, to: number): Promise<void>
}

/** Opens the store of a place: made if missing, checked, brought up to date; or refused with the reason and the way back. */
export async function openStore(place: Place, context: StoreContext, options: OpenOptions = {}): Promise<Store> {
  const store = await (place.kind === 'sqlite'
    ? openFile(place, context, options)
    : openServer(place, context, options))
  try {
    if ((await store.read((rows) => metaValue(rows, 'database_id'))) === undefined)
      await store.write('identify', (tx) => identify(tx, Buffer.from(context.random.bytes(6)).toString('hex')))
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openFile(
  place: Place & { kind: 'sqlite' },
  context: StoreContext,
  options: OpenOptions,
): Promise<Store> {
  const { file } = place
  const known = options.migrations ?? migrations
  for (;;) {
    const refusal = await options.refusalIfMissing?.()
    if (inspectFile(file) === 'missing') {
      if (refusal) throw refusal
      createSqliteFile(file, known, context)
    }
    const found = inode(file)
    try {
      await whenFree(file, context, () => checkStructure(file))
      await upgradeFile(place, known, context, options.beforeUpgrade)
      return await whenFree(file, context, () => openSqliteStore(place, context))
    } catch (error) {
      // A restore put another file here meanwhile; SQLite refuses to write to one that has lost its name.
      if (inode(file) === found) throw error
    }
  }
}

async function upgradeFile(
  place: Place & { kind: 'sqlite' },
  known: readonly Migration[],
  context: StoreContext,
  beforeUpgrade: OpenOptions['beforeUpgrade'],
): Promise<void> {
  const { file, durability } = place
  const connection = await whenFree(file, context, () => connect(file, durability))
  try {
    const version = () => whenFree(file, context, () => versionOf(connection, file))
    if (missingMigrations(await version(), known, file).length === 0) return
    await aloneOnSqlite(file, context, async () => {
      const from = await version()
      if (missingMigrations(from, known, file).length > 0)
        await showBefore(
          await whenFree(file, context, () => openSqliteStore(place, context)),
          from,
          known,
          beforeUpgrade,
        )
      await migrateSqlite(connection, file, known, context)
    })
  } finally {
    connection.close()
  }
}

async function openServer(
  place: Place & { kind: 'postgres' },
  context: StoreContext,
  { migrations: known = migrations, beforeUpgrade, refusalIfMissing }: OpenOptions,
): Promise<Store> {
  const shown = shownUrl(place.url)
  const schema = schemaOf(place.url)
  const pool = connectPool({ ...place, poolSize: 1 })
  try {
    const refusal = await refusalIfMissing?.()
    const version = await postgresVersion(pool, schema, shown)
    if (version === 0 && refusal) throw refusal
    if (missingMigrations(version, known, shown).length > 0)
      await aloneOnPostgres(pool, async (client) => {
        const from = await postgresVersion(client, schema, shown)
        if (from > 0 && missingMigrations(from, known, shown).length > 0)
          await showBefore(openPostgresStore(place, context), from, known, beforeUpgrade)
        await migratePostgres(client, schema, shown, known, context)
      })
  } catch (error) {
    throw explainPostgres(error, shown)
  } finally {
    await pool.end()
  }
  return openPostgresStore(place, context)
}

/** Shows the database as it is to whoever wants to copy it; only the one process that upgrades does. */
async function showBefore(
  store: Store,
  from: number,
  known: readonly Migration[],
  beforeUpgrade: OpenOptions['beforeUpgrade'],
): Promise<void> {
  try {
    await beforeUpgrade?.(store, from, known.at(-1)?.id ?? from)
  } finally {
    await store.close()
  }
}

function versionOf(connection: SqliteConnection, file: string): number {
  const version = sqliteVersion(connection)
  if (version === 0) throw databaseCorrupt(file, 'it does not say which schema it has')
  return version
}

/** Tells one file from another that later has the same name. */
function inode(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino
}
