import type { RawBuilder } from 'kysely'
import type { Builder } from './dialect.ts'

/** SQL written out whole, as a query that can be declared hot. */
export function raw<R>(db: Builder, text: RawBuilder<unknown>) {
  return { compile: () => (text as RawBuilder<R>).compile(db) }
}
