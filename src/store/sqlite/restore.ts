import { copyFileSync, existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import { startOfDay } from '../../domain/spending.ts'
import { type Backup, type BackupRow, damagedBackupError } from '../backup/backup-file.ts'
import {
  carriedColumns,
  type EmptyTables,
  fillTables,
  holdJobs,
  type ReplacedDatabase,
  type RestoreMigrations,
  revokeAllTokens,
} from '../backup/restore-rows.ts'
import {
  databaseCorrupt,
  explainSqlite,
  sqliteBusy,
  sqliteCode,
  sqliteCorrupt,
  sqliteNotADatabase,
} from '../failures.ts'
import type { Migration } from '../migration.ts'
import type { StoreContext } from '../store.ts'
import { freePath, stamp, syncFolder } from '../sync-folder.ts'
import { SqliteConnection } from './connection.ts'
import { inspectFile, isOfAnotherProgram, sidecarSuffixes } from './file.ts'
import { brokenReference, buildSchema, createDraft, migrateSqlite, removeDraft } from './migrate.ts'

/** Restores a backup into a temporary file and swaps it in; the old database is moved aside, never deleted. */
export function restoreFile(
  file: string,
  backup: Backup,
  steps: RestoreMigrations,
  context: StoreContext,
): Promise<ReplacedDatabase> {
  return replaceFile(file, (draft) => buildDraft(draft, backup, steps, context), context)
}

/** Whether the file is a Heddle database, such as one that an earlier restore moved aside. */
export function isKeptDatabase(file: string): boolean {
  try {
    return inspectFile(file) === 'ours'
  } catch {
    return false
  }
}

/** Replaces a database by a copy of one that was moved aside. */
export async function restoreKept(
  file: string,
  kept: string,
  known: readonly Migration[],
  context: StoreContext,
): Promise<ReplacedDatabase & { bytes: number; turns: number }> {
  let turns = 0
  const copy = async (draft: string) => {
    for (const part of ['', ...sidecarSuffixes].filter((each) => existsSync(kept + each)))
      copyFileSync(kept + part, draft + part)
    const connection = new SqliteConnection(draft)
    try {
      connection.script('PRAGMA journal_mode = DELETE')
      checkIntegrity(connection, kept)
      await migrateSqlite(connection, draft, known, context)
      const [row] = connection.all({ sql: 'SELECT count(*) AS count FROM turns', parameters: [] })
      turns = (row as { count: number }).count
    } finally {
      connection.close()
    }
  }
  const replaced = await replaceFile(file, copy, context)
  return { bytes: statSync(file).size, turns, ...replaced }
}

/** Builds a database in a temporary file, revokes its tokens, carries over today's spending, and swaps it in. */
async function replaceFile(
  file: string,
  build: (draft: string) => Promise<void>,
  context: StoreContext,
): Promise<ReplacedDatabase> {
  const old = lockExclusively(file)
  const draft = `${file}.restoring-${process.pid}`
  try {
    removeAbandonedDrafts(file)
    await build(draft)
    holdDraft(draft)
    const revokedTokens = revokeTokens(draft, context)
    if (old) carrySpending(old, draft, context)
    context.crash('restore.before_swap')
    return { keptAside: swap(file, draft, context), revokedTokens }
  } catch (error) {
    throw explainSqlite(error, file)
  } finally {
    old?.close()
    removeDraft(draft)
  }
}

/**
 * Locks the existing database until the connection is closed: a process that kept writing to the file after it was moved
 * aside would lose its writes. Returns undefined for a damaged file, which cannot be locked.
 */
function lockExclusively(file: string): SqliteConnection | undefined {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined
  if (isOfAnotherProgram(file))
    throw new HeddleError(
      'database_foreign',
      `${file} is a database of another program`,
      'move it away, or use another home with --home; nothing was changed',
    )
  // SQLite treats a damaged file as new and deletes its WAL: never open such a file.
  if (isDamaged(file)) return undefined
  const connection = new SqliteConnection(file)
  try {
    // Succeeds only for the sole user of the file; also copies the WAL into the file.
    connection.script('PRAGMA journal_mode = DELETE')
    connection.exec('BEGIN EXCLUSIVE')
    return connection
  } catch (error) {
    connection.close()
    const code = sqliteCode(error)
    if (code === sqliteBusy) throw inUse(file)
    if (code === sqliteCorrupt || code === sqliteNotADatabase) return undefined
    throw explainSqlite(error, file)
  }
}

function isDamaged(file: string): boolean {
  try {
    inspectFile(file)
    return false
  } catch {
    return true
  }
}

async function buildDraft(
  draft: string,
  backup: Backup,
  steps: RestoreMigrations,
  context: StoreContext,
): Promise<void> {
  const connection = createDraft(draft)
  try {
    buildSchema(connection, steps.first, context)
    connection.exec('BEGIN IMMEDIATE')
    await fillTables(backup, tablesOn(connection))
    const lost = brokenReference(connection)
    if (lost) throw damagedBackupError(backup.file, lost)
    connection.exec('COMMIT')
    checkIntegrity(connection, draft)
    await migrateSqlite(connection, draft, steps.all, context)
  } finally {
    connection.close()
  }
}

/** Tokens that were revoked since the backup must not work again, and nothing else knows which these are. */
function revokeTokens(draft: string, { clock }: StoreContext): number {
  const connection = new SqliteConnection(draft)
  try {
    return connection.run({ sql: revokeAllTokens('?'), parameters: [clock.now()] })
  } finally {
    connection.close()
  }
}

/** Carries over today's spending: a restore must not reset the day's budget. */
function carrySpending(old: SqliteConnection, draft: string, { clock }: StoreContext): void {
  const found = carriedColumns(columnsOf(old, 'usage'))
  if (found.length === 0) return
  const columns = found.join(', ')
  const today = [startOfDay(clock.now())]
  const rows = old.all({ sql: `SELECT ${columns} FROM usage WHERE at >= ?`, parameters: today }) as BackupRow[]
  const connection = new SqliteConnection(draft)
  try {
    connection.exec('BEGIN IMMEDIATE')
    const marks = found.map(() => '?').join(', ')
    for (const row of rows) {
      // The process of an open call can no longer record its cost.
      const carried = { ...row, state: row['state'] === 'reserved' ? 'lost' : row['state'] } as BackupRow
      const sql = `INSERT INTO usage (${columns}) VALUES (${marks}) ON CONFLICT DO NOTHING`
      connection.run({ sql, parameters: found.map((column) => carried[column]) })
    }
    connection.exec('COMMIT')
  } finally {
    connection.close()
  }
}

function columnsOf(connection: SqliteConnection, table: string): string[] {
  const rows = connection.all({ sql: 'SELECT name FROM pragma_table_info(?)', parameters: [table] })
  return (rows as { name: string }[]).map(({ name }) => name)
}

function holdDraft(draft: string): void {
  const connection = new SqliteConnection(draft)
  try {
    if (columnsOf(connection, 'outbox').length > 0) connection.exec(holdJobs)
  } finally {
    connection.close()
  }
}

function tablesOn(connection: SqliteConnection): EmptyTables {
  return {
    columns: (table) => columnsOf(connection, table),
    insert(table, columns, rows) {
      const names = columns.map((column) => `"${column}"`).join(', ')
      const sql = `INSERT INTO "${table}" (${names}) VALUES (${columns.map(() => '?').join(', ')})`
      for (const row of rows) connection.run({ sql, parameters: columns.map((column) => row[column]) })
    },
    count(table) {
      const [row] = connection.all({ sql: `SELECT count(*) AS count FROM "${table}"`, parameters: [] })
      return (row as { count: number }).count
    },
  }
}

function checkIntegrity(connection: SqliteConnection, draft: string): void {
  const [row] = connection.all({ sql: 'PRAGMA integrity_check(1)', parameters: [] }) as { integrity_check: string }[]
  if (row?.integrity_check !== 'ok') throw databaseCorrupt(draft, row?.integrity_check ?? 'it cannot be checked')
}

/**
 * Moves the old file aside and the new one in. A kill in between leaves no database, which `inspectFile` detects. The
 * file is moved before its WAL: a WAL without its file is detected, a file without its WAL is not.
 */
function swap(file: string, draft: string, context: StoreContext): string | null {
  const aside = freePath(`${file}.before-restore-${stamp(context.clock.now())}`)
  const moved: string[] = []
  try {
    for (const part of ['', ...sidecarSuffixes].filter((each) => existsSync(file + each))) {
      renameSync(file + part, aside + part)
      moved.push(part)
    }
    syncFolder(dirname(file))
    context.crash('restore.between_swap')
    if (existsSync(file)) throw inUse(file)
    renameSync(draft, file)
  } catch (error) {
    for (const part of moved) if (!existsSync(file + part)) renameSync(aside + part, file + part)
    throw error
  }
  syncFolder(dirname(file))
  context.crash('restore.after_swap')
  return moved[0] === undefined ? null : aside + moved[0]
}

function removeAbandonedDrafts(file: string): void {
  const prefix = `${basename(file)}.restoring-`
  for (const name of existsSync(dirname(file)) ? readdirSync(dirname(file)) : []) {
    const pid = Number(/^\d+$/.exec(name.slice(prefix.length))?.[0])
    if (name.startsWith(prefix) && pid > 0 && !isAlive(pid)) removeDraft(join(dirname(file), name))
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function inUse(file: string): HeddleError {
  return new HeddleError(
    'database_in_use',
    `another process has ${file} open`,
    `stop it first (find it with: lsof ${file}), then restore again; nothing was changed`,
    { retry: 'later' },
  )
}
