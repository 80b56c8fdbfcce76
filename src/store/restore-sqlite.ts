import { copyFileSync, existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import { startOfDay } from '../domain/spending.ts'
import { type Backup, type BackupRow, damaged } from './backup-file.ts'
import {
  databaseCorrupt,
  explainSqlite,
  sqliteBusy,
  sqliteCode,
  sqliteCorrupt,
  sqliteNotADatabase,
} from './failures.ts'
import { freePath, stamp, syncFolder } from './folder.ts'
import type { Migration } from './migration.ts'
import { type EmptyTables, fillTables, type Steps, usageColumns } from './restore-rows.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { besides, inspectFile, isOfAnotherProgram } from './sqlite-file.ts'
import { applyToSqlite, createDraft, lostReference, migrateSqlite, removeDraft } from './sqlite-migrate.ts'
import type { StoreContext } from './store.ts'

/** Builds the database beside its place, then swaps it in; what was there is moved aside and never deleted. */
export function restoreFile(file: string, backup: Backup, steps: Steps, context: StoreContext): Promise<string | null> {
  return replaceFile(file, (draft) => buildDraft(draft, backup, steps, context), context)
}

/** Whether this is a database of ours, such as one that an earlier restore moved aside. */
export function isKeptDatabase(file: string): boolean {
  try {
    return inspectFile(file) === 'ours'
  } catch {
    return false
  }
}

/** Puts a copy of such a database in the place of another. */
export async function restoreKept(
  file: string,
  kept: string,
  known: readonly Migration[],
  context: StoreContext,
): Promise<{ bytes: number; turns: number; keptAside: string | null }> {
  let turns = 0
  const copy = async (draft: string) => {
    for (const part of ['', ...besides].filter((each) => existsSync(kept + each)))
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
  const keptAside = await replaceFile(file, copy, context)
  return { bytes: statSync(file).size, turns, keptAside }
}

/** Builds a database beside its place, with what was spent today, and swaps it in. */
async function replaceFile(
  file: string,
  build: (draft: string) => Promise<void>,
  context: StoreContext,
): Promise<string | null> {
  const old = holdAlone(file)
  const draft = `${file}.restoring-${process.pid}`
  try {
    removeAbandonedDrafts(file)
    await build(draft)
    if (old) carrySpending(old, draft, context)
    context.crash('restore.before_swap')
    return swap(file, draft, context)
  } catch (error) {
    throw explainSqlite(error, file)
  } finally {
    old?.close()
    removeDraft(draft)
  }
}

/**
 * Takes the existing database for ourselves until the connection is closed: a process that went on with the file
 * after it was moved aside would write what nobody reads again. A damaged file cannot be asked who has it.
 */
function holdAlone(file: string): SqliteConnection | undefined {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined
  if (isOfAnotherProgram(file))
    throw new HeddleError(
      'database_foreign',
      `${file} is a database of another program`,
      'move it away, or name another place with --home; nothing was changed',
    )
  // SQLite takes a damaged file for a new one and deletes its log: it must not see such a file at all.
  if (isDamaged(file)) return undefined
  const connection = new SqliteConnection(file)
  try {
    // Only the sole user of a file can turn its log off. The log's content is copied into the file, so that it is one whole.
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

async function buildDraft(draft: string, backup: Backup, steps: Steps, context: StoreContext): Promise<void> {
  const connection = createDraft(draft)
  try {
    for (const migration of steps.first) applyToSqlite(connection, migration, context)
    connection.exec('BEGIN IMMEDIATE')
    await fillTables(backup, tablesOn(connection))
    const lost = lostReference(connection)
    if (lost) throw damaged(backup.file, lost)
    connection.exec('COMMIT')
    checkIntegrity(connection, draft)
    await migrateSqlite(connection, draft, steps.all, context)
  } finally {
    connection.close()
  }
}

/** Money that was spent today is spent, whatever else is taken back: the budget of the day must know of it. */
function carrySpending(old: SqliteConnection, draft: string, { clock }: StoreContext): void {
  const columns = usageColumns.join(', ')
  const known = old.all({ sql: "SELECT name FROM sqlite_master WHERE name = 'usage'", parameters: [] })
  if (known.length === 0) return
  const today = [startOfDay(clock.now())]
  const rows = old.all({ sql: `SELECT ${columns} FROM usage WHERE at >= ?`, parameters: today }) as BackupRow[]
  const connection = new SqliteConnection(draft)
  try {
    connection.exec('BEGIN IMMEDIATE')
    const marks = usageColumns.map(() => '?').join(', ')
    for (const row of rows) {
      // Whoever made a call that is still open has no database to tell its end to.
      const carried = { ...row, state: row['state'] === 'reserved' ? 'lost' : row['state'] } as BackupRow
      const sql = `INSERT INTO usage (${columns}) VALUES (${marks}) ON CONFLICT DO NOTHING`
      connection.run({ sql, parameters: usageColumns.map((column) => carried[column]) })
    }
    connection.exec('COMMIT')
  } finally {
    connection.close()
  }
}

function tablesOn(connection: SqliteConnection): EmptyTables {
  return {
    columns(table) {
      const rows = connection.all({ sql: 'SELECT name FROM pragma_table_info(?)', parameters: [table] })
      return (rows as { name: string }[]).map(({ name }) => name)
    },
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
 * Moves the old file aside and the new one in. A kill in between leaves no database, which `inspectFile` notices and
 * says how to go on. The file goes before its log: a log without its file is refused, a file without its log is not.
 */
function swap(file: string, draft: string, context: StoreContext): string | null {
  const aside = freePath(`${file}.before-restore-${stamp(context.clock.now())}`)
  const moved: string[] = []
  try {
    for (const part of ['', ...besides].filter((each) => existsSync(file + each))) {
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
    `end it first (find it with: lsof ${file}), then restore again; nothing was changed`,
    { retry: 'later' },
  )
}
