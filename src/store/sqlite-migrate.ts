import { chmodSync, linkSync, rmSync } from 'node:fs'
import { sqlite } from './dialect.ts'
import { explainSqlite, sqliteBusy, sqliteCode } from './failures.ts'
import type { Migration } from './migration.ts'
import { missingMigrations } from './schema-version.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { applicationId } from './sqlite-file.ts'
import type { StoreContext } from './store.ts'

/** Makes a whole database beside its place and links it there: whoever looks sees none or all of it, never a part. */
export function createSqliteFile(file: string, known: readonly Migration[], context: StoreContext): void {
  const draft = `${file}.new-${process.pid}`
  rmSync(draft, { force: true })
  try {
    const connection = new SqliteConnection(draft)
    connection.script(`PRAGMA application_id = ${applicationId}`)
    for (const migration of known) apply(connection, migration, context)
    connection.close()
    chmodSync(draft, 0o600)
    linkSync(draft, file)
  } catch (error) {
    // Another process was quicker; its database is as good as ours.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw explainSqlite(error, file)
  } finally {
    rmSync(draft, { force: true })
  }
}

export function sqliteVersion(connection: SqliteConnection): number {
  const [table] = connection.all({
    sql: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`,
    parameters: [],
  })
  if (!table) return 0
  const [row] = connection.all({ sql: 'SELECT max(id) AS version FROM migrations', parameters: [] })
  return (row as { version: number | null }).version ?? 0
}

/** Applies what is missing, one transaction each: a kill between any two statements leaves the step before. */
export async function migrateSqlite(
  connection: SqliteConnection,
  file: string,
  known: readonly Migration[],
  context: StoreContext,
): Promise<void> {
  for (const migration of missingMigrations(sqliteVersion(connection), known, file)) {
    for (let tries = 1; ; tries++) {
      try {
        apply(connection, migration, context)
        break
      } catch (error) {
        if (sqliteCode(error) !== sqliteBusy || tries > 1000) throw explainSqlite(error, file)
        await context.clock.sleep(20)
      }
    }
  }
}

function apply(connection: SqliteConnection, migration: Migration, context: StoreContext): void {
  connection.exec('BEGIN IMMEDIATE')
  try {
    // Looked up again under the lock: another process may have done it meanwhile.
    if (sqliteVersion(connection) < migration.id) {
      connection.script(migrationsTable)
      for (const statement of migration.up(sqlite.types)) connection.script(statement)
      connection.run({
        sql: 'INSERT INTO migrations (id, name, applied_at) VALUES (?, ?, ?)',
        parameters: [migration.id, migration.name, context.clock.now()],
      })
    }
    context.crash('migrate.before_commit')
    connection.exec('COMMIT')
    context.crash('migrate.after_commit')
  } finally {
    if (connection.inTransaction) connection.exec('ROLLBACK')
  }
}

const migrationsTable = `CREATE TABLE IF NOT EXISTS migrations (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT`
