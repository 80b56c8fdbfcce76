import { closeSync, linkSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import { sqlite } from './dialect.ts'
import { explainSqlite } from './failures.ts'
import { syncFolder } from './folder.ts'
import type { Migration } from './migration.ts'
import { missingMigrations } from './schema-version.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { applicationId, besides } from './sqlite-file.ts'
import { whenFree } from './sqlite-store.ts'
import type { StoreContext } from './store.ts'

/** Makes a whole database beside its place and links it there: whoever looks sees none or all of it, never a part. */
export function createSqliteFile(file: string, known: readonly Migration[], context: StoreContext): void {
  const draft = `${file}.new-${process.pid}`
  try {
    buildDraft(draft, known, context)
    linkSync(draft, file)
    syncFolder(dirname(file))
  } catch (error) {
    // Another process was quicker; its database is as good as ours.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw explainSqlite(error, file)
  } finally {
    removeDraft(draft)
  }
}

function buildDraft(draft: string, known: readonly Migration[], context: StoreContext): void {
  const connection = createDraft(draft)
  try {
    for (const migration of known) applyToSqlite(connection, migration, context)
  } finally {
    connection.close()
  }
}

/** An empty database of ours that nobody else knows of, readable by its owner only. */
export function createDraft(draft: string): SqliteConnection {
  removeDraft(draft)
  try {
    closeSync(openSync(draft, 'wx', 0o600))
  } catch (error) {
    throw cannotMake(draft, error as NodeJS.ErrnoException)
  }
  const connection = new SqliteConnection(draft)
  connection.script(`PRAGMA application_id = ${applicationId}`)
  return connection
}

export function removeDraft(draft: string): void {
  for (const part of ['', ...besides]) rmSync(draft + part, { force: true })
}

/** The version of our schema in this file: 0 where it says nothing of one. */
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
  const version = await whenFree(file, context, () => sqliteVersion(connection))
  for (const migration of missingMigrations(version, known, file))
    await whenFree(file, context, () => applyToSqlite(connection, migration, context))
}

/** Applies one step, unless it is already done. */
export function applyToSqlite(connection: SqliteConnection, migration: Migration, context: StoreContext): void {
  // A step may rebuild a table that others refer to; the references are checked when it is done.
  connection.script('PRAGMA foreign_keys = OFF')
  connection.exec('BEGIN IMMEDIATE')
  try {
    connection.script(migrationsTable)
    // Looked up again under the lock: another process may have done it meanwhile.
    if (sqliteVersion(connection) < migration.id) {
      for (const statement of migration.up(sqlite.types)) connection.script(statement)
      const lost = lostReference(connection)
      if (lost) throw new Error(`after migration ${migration.id} (${migration.name}) ${lost}`)
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

/** Says which rows refer to rows that are not there, if any do. */
export function lostReference(connection: SqliteConnection): string | undefined {
  const lost = connection.all({ sql: 'PRAGMA foreign_key_check', parameters: [] }) as {
    table: string
    parent: string
  }[]
  return lost[0] && `rows of ${lost[0].table} refer to rows of ${lost[0].parent} that are not there`
}

function cannotMake(draft: string, cause: NodeJS.ErrnoException): HeddleError {
  if (cause.code === 'ENOSPC' || cause.code === 'EDQUOT')
    return new HeddleError(
      'disk_full',
      `no space left to make ${draft}`,
      'free some space on that disk and try again',
      {
        retry: 'later',
        cause,
      },
    )
  return new HeddleError(
    'database_not_writable',
    `${draft} cannot be made (${cause.message})`,
    `see that the folder is there and that this user may write to it: ls -ld ${dirname(draft)}`,
    { cause },
  )
}

const migrationsTable = `CREATE TABLE IF NOT EXISTS migrations (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT`
