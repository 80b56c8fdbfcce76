import { type Backup, type BackupRow, damaged, readBackup } from './backup-file.ts'
import type { Migration } from './migration.ts'

/** The steps to the schema of the backup, and all that are known: what is older is brought up to date after it is filled. */
export interface Steps {
  first: readonly Migration[]
  all: readonly Migration[]
}

/** What is carried over of a call that cost something today. */
export const usageColumns = [
  ...['run_id', 'call', 'root_run_id', 'model', 'state'],
  ...['input_tokens', 'output_tokens', 'cached_tokens', 'cost_usd', 'at'],
] as const

/** Empty tables that wait for the rows of a backup. */
export interface EmptyTables {
  columns(table: string): Promise<string[]> | string[]
  insert(table: string, columns: string[], rows: BackupRow[]): Promise<void> | void
  count(table: string): Promise<number> | number
}

/** Puts every row of the backup into its table, and counts what has arrived. */
export async function fillTables(backup: Backup, tables: EmptyTables): Promise<void> {
  const columnsOf = new Map<string, Set<string>>()
  for (const table of backup.header.tables) {
    const columns = await tables.columns(table)
    if (columns.length === 0) throw damaged(backup.file, `schema ${backup.header.schema} has no table ${table}`)
    columnsOf.set(table, new Set(columns))
  }
  await readBackup(backup.file, async (table, rows) => {
    // Names become part of the statement: only those that the schema has are let through.
    const columns = Object.keys(rows[0] ?? {})
    const unknown = columns.find((column) => !columnsOf.get(table)?.has(column))
    if (unknown !== undefined) throw damaged(backup.file, `${table} has no column ${unknown}`)
    await tables.insert(table, columns, rows)
  })
  for (const [table, expected] of backup.rows) {
    const arrived = await tables.count(table)
    if (arrived !== expected) throw damaged(backup.file, `${arrived} of ${expected} rows of ${table} arrived`)
  }
}
