import type { RawBuilder } from 'kysely'
import type { Builder } from './dialect.ts'

/** Raw SQL as a query that `statement` accepts. */
export function raw<R>(db: Builder, text: RawBuilder<unknown>) {
  return { compile: () => (text as RawBuilder<R>).compile(db) }
}
