import type { Migration } from '../migration.ts'
import { type Backup, type BackupRow, damagedBackupError, readBackup } from './backup-file.ts'

/** Migrations up to the backup's schema, applied before its rows are inserted, and all migrations, applied afterwards. */
export interface RestoreMigrations {
  first: readonly Migration[]
  all: readonly Migration[]
}

/** Columns of `usage` that are carried over for calls made today, if the replaced database has them. */
const usageColumns = [
  ...['run_id', 'call', 'root_run_id', 'model', 'state'],
  ...['input_tokens', 'output_tokens', 'cached_tokens', 'cost_usd', 'at', 'price_assumed'],
]

/** A database that took the place of another. */
export interface ReplacedDatabase {
  /** Path or schema of the old database, which is never deleted; null when there was none. */
  keptAside: string | null
  /** Number of its tokens that were valid, and are revoked now. */
  revokedTokens: number
}

/** Statement that revokes all tokens of a restored database at the moment of its parameter. */
export function revokeAllTokens(moment: string, schema?: string): string {
  const table = schema === undefined ? 'tokens' : `"${schema}".tokens`
  return `UPDATE ${table} SET revoked_at = ${moment} WHERE revoked_at IS NULL`
}

/** Columns of `usage` to carry over. */
export function carriedColumns(columns: readonly string[]): string[] {
  return usageColumns.filter((column) => columns.includes(column))
}

/** Empty tables to restore a backup into. */
export interface EmptyTables {
  columns(table: string): Promise<string[]> | string[]
  insert(table: string, columns: string[], rows: BackupRow[]): Promise<void> | void
  count(table: string): Promise<number> | number
}

/** Inserts all rows of the backup and verifies the counts. */
export async function fillTables(backup: Backup, tables: EmptyTables): Promise<void> {
  const columnsOf = new Map<string, Set<string>>()
  for (const table of backup.header.tables) {
    const columns = await tables.columns(table)
    if (columns.length === 0)
      throw damagedBackupError(backup.file, `schema ${backup.header.schema} has no table ${table}`)
    columnsOf.set(table, new Set(columns))
  }
  await readBackup(backup.file, async (table, rows) => {
    // Column names become part of the statement: only those of the schema are accepted.
    const columns = Object.keys(rows[0] ?? {})
    const unknown = columns.find((column) => !columnsOf.get(table)?.has(column))
    if (unknown !== undefined) throw damagedBackupError(backup.file, `${table} has no column ${unknown}`)
    await tables.insert(table, columns, rows)
  })
  for (const [table, expected] of backup.rows) {
    const restored = await tables.count(table)
    if (restored !== expected)
      throw damagedBackupError(backup.file, `${restored} of ${expected} rows of ${table} were restored`)
  }
}

/**
 * Holds the jobs and messages of a restored database until the owner lets them go: the home that it is of may still run,
 * and what it has done since would be done again. For a schema that has these tables.
 */
export const holdJobs = `INSERT INTO meta (key, value)
  SELECT 'jobs_held', '1' WHERE EXISTS (SELECT 1 FROM cron_jobs) OR EXISTS (SELECT 1 FROM outbox)
  ON CONFLICT (key) DO NOTHING`
