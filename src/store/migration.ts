import type { ColumnTypes } from './dialect.ts'

/** One schema migration, for both databases. Never edited once released. */
export interface Migration {
  id: number
  name: string
  up(types: ColumnTypes): string[]
  /**
   * All views from this migration on, by name. They are dropped before each later migration and created again after it, so
   * that a migration may rebuild a table that a view reads.
   */
  views?(types: ColumnTypes): Record<string, string>
}

/** Statements of a migration: the views go, the schema changes, and the views as of this migration come back. */
export function statementsOf(migration: Migration, known: readonly Migration[], types: ColumnTypes): string[] {
  const before = viewsBefore(migration.id, known)?.(types) ?? {}
  const after = migration.views?.(types) ?? before
  return [
    ...Object.keys(before).map((name) => `DROP VIEW ${name}`),
    ...migration.up(types),
    ...Object.entries(after).map(([name, query]) => `CREATE VIEW ${name} AS\n${query}`),
  ]
}

function viewsBefore(id: number, known: readonly Migration[]): Migration['views'] {
  return known.findLast((migration) => migration.id < id && migration.views)?.views
}
