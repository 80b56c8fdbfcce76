import type { Compilable } from 'kysely'
import { UsageError } from '../domain/errors.ts'
import { isStorable, storable } from '../domain/text/storable.ts'
import type { Builder, Dialect } from './dialect.ts'

/** Something a connection can run; `name` marks a statement worth preparing once per connection. */
export interface Prepared {
  sql: string
  parameters: readonly unknown[]
  name?: string
}

/** A hot statement together with the values of one call. */
interface Bound<R> {
  prepare(dialect: Dialect): Prepared
  /** Never set: carries the row's type. */
  readonly row?: R
}

/** A query built for this one call, or a hot statement with its values. */
export type Query<R> = Compilable<R> | Bound<R>

class Slot {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/**
 * Declares a hot statement: built and compiled once per dialect, a quarter of the cost of building it each time.
 * `build` sees placeholders instead of values, so it must not look at them.
 */
export function statement<A extends object, R>(
  build: (db: Builder, arg: A, dialect: Dialect) => Compilable<R>,
): (args: A) => Bound<R> {
  const compiled = new Map<Dialect['name'], { sql: string; name: string; parameters: readonly unknown[] }>()
  const slots = new Proxy({} as A, { get: (_, name) => new Slot(String(name)) })
  return (args) => ({
    prepare(dialect) {
      let known = compiled.get(dialect.name)
      if (!known) {
        const { sql, parameters } = build(dialect.builder, slots, dialect).compile()
        known = { sql, parameters, name: `hot_${fingerprint(sql)}` }
        compiled.set(dialect.name, known)
      }
      const values = args as Record<string, unknown>
      return {
        sql: known.sql,
        name: known.name,
        parameters: known.parameters.map((value) => (value instanceof Slot ? values[value.name] : value)),
      }
    },
  })
}

/** Max rows of one statement: each number of rows is a statement of its own, prepared once. */
const maxRows = 32

/** A hot statement over several rows; many rows make several statements. */
export type RowsStatement<A> = (rows: readonly A[]) => Query<unknown>[]

/** Declares a hot statement over several rows, such as an INSERT. */
export function statementOfRows<A extends object>(
  build: (db: Builder, rows: A[]) => Compilable<unknown>,
): RowsStatement<A> {
  const byCount = new Map<number, (args: object) => Bound<unknown>>()
  const prepared = (rows: readonly A[]): Bound<unknown> => {
    let known = byCount.get(rows.length)
    if (!known) {
      const at = (args: Record<string, unknown>, index: number) =>
        new Proxy({} as A, { get: (_, name) => args[`${index}.${String(name)}`] })
      known = statement((db, args: object) =>
        build(
          db,
          rows.map((_, index) => at(args as Record<string, unknown>, index)),
        ),
      )
      byCount.set(rows.length, known)
    }
    const named = rows.flatMap((row, index) =>
      Object.entries(row).map(([name, value]): [string, unknown] => [`${index}.${name}`, value]),
    )
    return known(Object.fromEntries(named))
  }
  return (rows) =>
    Array.from({ length: Math.ceil(rows.length / maxRows) }, (_, page) =>
      prepared(rows.slice(page * maxRows, (page + 1) * maxRows)),
    )
}

/** Policy for text that cannot be stored unchanged. */
export type Unstorable = 'refuse' | 'replace'

/** Compiles a query for one database, checking that its text values can be stored. */
export function prepare(query: Query<unknown>, dialect: Dialect, unstorable: Unstorable = 'refuse'): Prepared {
  const prepared = 'prepare' in query ? query.prepare(dialect) : query.compile()
  if (prepared.parameters.every((value) => typeof value !== 'string' || isStorable(value))) return prepared
  if (unstorable === 'refuse') refuseUnstorable(prepared.parameters)
  const replaced = prepared.parameters.map((value) => (typeof value === 'string' ? storable(value) : value))
  return { ...prepared, parameters: replaced }
}

/** Throws on text that would not be read back unchanged. */
function refuseUnstorable(parameters: readonly unknown[]): void {
  for (const text of parameters) {
    if (typeof text !== 'string' || isStorable(text)) continue
    throw new UsageError(
      `${JSON.stringify(text.slice(0, 80))} contains a NUL or a lone surrogate`,
      'remove it; only message content and tool calls may contain such characters',
      'bad_text',
    )
  }
}

/** Names a statement after its text: PostgreSQL refuses one name for two texts on a connection. */
function fingerprint(text: string): string {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 2654435761)
    b = Math.imul(b ^ text.charCodeAt(i), 1597334677)
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36)
}
