import { closeSync, linkSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import { sqlite } from '../dialect.ts'
import { explainSqlite } from '../failures.ts'
import { type Migration, statementsOf } from '../migration.ts'
import { migrations, missingMigrations } from '../schema-version.ts'
import type { StoreContext } from '../store.ts'
import { syncFolder } from '../sync-folder.ts'
import { SqliteConnection } from './connection.ts'
import { applicationId, sidecarSuffixes } from './file.ts'
import { newestSchema } from './newest-schema.ts'
import { retryWhileBusy } from './store.ts'

/** Builds a new database in a temporary file and links it into place: other processes see all of it or nothing. */
export function createSqliteFile(file: string, known: readonly Migration[], context: StoreContext): void {
  const draft = `${file}.new-${process.pid}`
  try {
    buildDraft(draft, known, context)
    linkSync(draft, file)
    syncFolder(dirname(file))
  } catch (error) {
    // Another process created it first; its database is as good as ours.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw explainSqlite(error, file)
  } finally {
    removeDraft(draft)
  }
}

function buildDraft(draft: string, known: readonly Migration[], context: StoreContext): void {
  const connection = createDraft(draft)
  try {
    buildSchema(connection, known, context)
  } finally {
    connection.close()
  }
}

/**
 * Gives an empty draft the schema of these migrations. The checked-in schema is what the first of them come to, and takes
 * a twentieth of their time; those that it does not know yet are applied to it.
 */
export function buildSchema(connection: SqliteConnection, known: readonly Migration[], context: StoreContext): void {
  const { version, statements } = newestSchema()
  const last = known[version - 1]
  const isWithin = last !== undefined && last === migrations[version - 1]
  if (isWithin) applyAtOnce(connection, statements, known.slice(0, version), context)
  for (const migration of isWithin ? known.slice(version) : known) applyToSqlite(connection, migration, known, context)
}

function applyAtOnce(
  connection: SqliteConnection,
  statements: string,
  parts: readonly Migration[],
  context: StoreContext,
): void {
  connection.exec('BEGIN IMMEDIATE')
  connection.script(statements)
  for (const migration of parts) recordMigration(connection, migration, context)
  context.crash('migrate.before_commit')
  connection.exec('COMMIT')
  context.crash('migrate.after_commit')
}

function recordMigration(connection: SqliteConnection, { id, name }: Migration, { clock }: StoreContext): void {
  const parameters = [id, name, clock.now()]
  connection.run({ sql: 'INSERT INTO migrations (id, name, applied_at) VALUES (?, ?, ?)', parameters })
}

/** Creates an empty database under a temporary name, readable by its owner only. */
export function createDraft(draft: string): SqliteConnection {
  removeDraft(draft)
  try {
    closeSync(openSync(draft, 'wx', 0o600))
  } catch (error) {
    throw cannotCreate(draft, error as NodeJS.ErrnoException)
  }
  const connection = new SqliteConnection(draft)
  // Rows of a backup may come before those that they refer to; references are checked when all are there.
  connection.script(`PRAGMA application_id = ${applicationId}; PRAGMA foreign_keys = OFF`)
  return connection
}

export function removeDraft(draft: string): void {
  for (const part of ['', ...sidecarSuffixes]) rmSync(draft + part, { force: true })
}

/** Schema version of this file; 0 if it has none. */
export function sqliteVersion(connection: SqliteConnection): number {
  const [table] = connection.all({
    sql: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`,
    parameters: [],
  })
  if (!table) return 0
  const [row] = connection.all({ sql: 'SELECT max(id) AS version FROM migrations', parameters: [] })
  return (row as { version: number | null }).version ?? 0
}

/** Applies missing migrations, one transaction each: a kill at any point leaves the last complete one. */
export async function migrateSqlite(
  connection: SqliteConnection,
  file: string,
  known: readonly Migration[],
  context: StoreContext,
): Promise<void> {
  const version = await retryWhileBusy(file, context, () => sqliteVersion(connection))
  for (const migration of missingMigrations(version, known, file))
    await retryWhileBusy(file, context, () => applyToSqlite(connection, migration, known, context))
}

/** Applies one migration, unless it is already applied. */
function applyToSqlite(
  connection: SqliteConnection,
  migration: Migration,
  known: readonly Migration[],
  context: StoreContext,
): void {
  // A migration may rebuild a referenced table; foreign keys are checked afterwards.
  connection.script('PRAGMA foreign_keys = OFF')
  connection.exec('BEGIN IMMEDIATE')
  try {
    connection.script(migrationsTable)
    // Read again under the lock: another process may have applied it.
    if (sqliteVersion(connection) < migration.id) {
      for (const statement of statementsOf(migration, known, sqlite.types)) connection.script(statement)
      const lost = brokenReference(connection)
      if (lost) throw new Error(`after migration ${migration.id} (${migration.name}) ${lost}`)
      recordMigration(connection, migration, context)
    }
    context.crash('migrate.before_commit')
    connection.exec('COMMIT')
    context.crash('migrate.after_commit')
  } finally {
    if (connection.inTransaction) connection.exec('ROLLBACK')
  }
}

/** Describes the first broken foreign key, if there is one. */
export function brokenReference(connection: SqliteConnection): string | undefined {
  const lost = connection.all({ sql: 'PRAGMA foreign_key_check', parameters: [] }) as {
    table: string
    parent: string
  }[]
  return lost[0] && `rows of ${lost[0].table} refer to missing rows of ${lost[0].parent}`
}

function cannotCreate(draft: string, cause: NodeJS.ErrnoException): HeddleError {
  if (cause.code === 'ENOSPC' || cause.code === 'EDQUOT')
    return new HeddleError(
      'disk_full',
      `no space left to create ${draft}`,
      'free some space on that disk and try again',
      {
        retry: 'later',
        cause,
      },
    )
  return new HeddleError(
    'database_not_writable',
    `${draft} cannot be created (${cause.message})`,
    `check that the folder exists and is writable: ls -ld ${dirname(draft)}`,
    { cause },
  )
}

const migrationsTable = `CREATE TABLE IF NOT EXISTS migrations (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT`
