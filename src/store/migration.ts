import type { ColumnTypes } from './dialect.ts'

/** One step of the schema, in the words of either database. Once released it is never edited. */
export interface Migration {
  id: number
  name: string
  up(types: ColumnTypes): string[]
}
