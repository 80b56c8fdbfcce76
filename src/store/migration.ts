import type { ColumnTypes } from './dialect.ts'

/** One schema migration, for both databases. Never edited once released. */
export interface Migration {
  id: number
  name: string
  up(types: ColumnTypes): string[]
}
