import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { type OpenOptions, runBeforeUpgrade } from './before-upgrade.ts'
import { databaseCorrupt } from './failures.ts'
import type { Migration } from './migration.ts'
import { redactedUrl, schemaOf } from './postgres/server-address.ts'
import { metaValue, setDatabaseId } from './rows/meta.ts'
import { migrations, missingMigrations } from './schema-version.ts'
import type { SqliteConnection } from './sqlite/connection.ts'
import { checkStructure, inspectFile } from './sqlite/file.ts'
import { createSqliteFile, migrateSqlite, sqliteVersion } from './sqlite/migrate.ts'
import { connect, openSqliteStore, retryWhileBusy } from './sqlite/store.ts'
import { withUpgradeLock } from './sqlite/upgrade-lock.ts'
import type { Store, StoreContext } from './store.ts'

/** Location of the database: a SQLite file or a PostgreSQL server. */
export type DatabaseLocation =
  | { kind: 'sqlite'; file: string; durability: 'full' | 'normal' }
  | { kind: 'postgres'; url: string; poolSize?: number }

/** Name of a database that stays the same when the home moves or the password changes. */
export function databaseName(location: DatabaseLocation): string {
  if (location.kind === 'sqlite') return `sqlite ${basename(location.file)}`
  const { hostname, port, pathname } = new URL(location.url)
  return `postgres ${hostname}:${port || 5432}${pathname} ${schemaOf(location.url)}`
}

/** Location for display, without a password. */
export function printableLocation(location: DatabaseLocation): string {
  return location.kind === 'sqlite' ? location.file : redactedUrl(location.url)
}

/** Opens a store: creates a missing database, checks and migrates an existing one, or throws with the remedy. */
export async function openStore(
  location: DatabaseLocation,
  context: StoreContext,
  options: OpenOptions = {},
): Promise<Store> {
  const store = await (location.kind === 'sqlite'
    ? openFile(location, context, options)
    : // Loaded when it is needed: most homes have no server.
      (await import('./postgres/open-server.ts')).openServer(location, context, options))
  try {
    if ((await store.read((rows) => metaValue(rows, 'database_id'))) === undefined)
      await store.write('identify', (tx) => setDatabaseId(tx, Buffer.from(context.random.bytes(6)).toString('hex')))
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openFile(
  location: DatabaseLocation & { kind: 'sqlite' },
  context: StoreContext,
  options: OpenOptions,
): Promise<Store> {
  const { file } = location
  const known = options.migrations ?? migrations
  for (;;) {
    const refusal = await options.refusalIfMissing?.()
    if (inspectFile(file) === 'missing') {
      if (refusal) throw refusal
      createSqliteFile(file, known, context)
    }
    const found = inode(file)
    try {
      await retryWhileBusy(file, context, () => checkStructure(file))
      return openSqliteStore(file, context, await upgradeFile(location, known, context, options.beforeUpgrade))
    } catch (error) {
      // Retry if a restore replaced the file: SQLite refuses to write to a file that was renamed.
      if (inode(file) === found) throw error
    }
  }
}

/** Returns a connection to the file, whose schema is up to date. */
async function upgradeFile(
  location: DatabaseLocation & { kind: 'sqlite' },
  known: readonly Migration[],
  context: StoreContext,
  beforeUpgrade: OpenOptions['beforeUpgrade'],
): Promise<SqliteConnection> {
  const { file, durability } = location
  const open = () => retryWhileBusy(file, context, () => connect(file, durability))
  const connection = await open()
  try {
    const version = () => retryWhileBusy(file, context, () => versionOf(connection, file))
    if (missingMigrations(await version(), known, file).length === 0) return connection
    await withUpgradeLock(file, context, async () => {
      const from = await version()
      if (missingMigrations(from, known, file).length > 0)
        await runBeforeUpgrade(openSqliteStore(file, context, await open()), from, known, beforeUpgrade)
      await migrateSqlite(connection, file, known, context)
    })
  } catch (error) {
    connection.close()
    throw error
  }
  // What migrations set on their connection ends with it.
  connection.close()
  return open()
}

function versionOf(connection: SqliteConnection, file: string): number {
  const version = sqliteVersion(connection)
  if (version === 0) throw databaseCorrupt(file, 'it does not say which schema it has')
  return version
}

/** Distinguishes a file from one that replaced it under the same name. */
function inode(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino
}
