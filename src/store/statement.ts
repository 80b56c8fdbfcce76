import type { Compilable } from 'kysely'
import { UsageError } from '../domain/errors.ts'
import { isStorable, toStorable } from '../domain/text/storable.ts'
import type { Builder, Dialect } from './dialect.ts'

/** Something a connection can run; `name` marks a statement worth preparing once per connection. */
export interface PreparedQuery {
  sql: string
  parameters: readonly unknown[]
  name?: string
}

/** A hot statement together with the values of one call. */
interface Bound<R> {
  prepare(dialect: Dialect): PreparedQuery
  /** Never set: carries the row's type. */
  readonly row?: R
}

/** A query built for this one call, or a hot statement with its values. */
export type Query<R> = Compilable<R> | Bound<R>

/** Stands for a value of one call: which one, and of which row. */
class Slot {
  readonly name: string
  readonly row: number
  constructor(name: string, row: number) {
    this.name = name
    this.row = row
  }
}

function slotsOf<A extends object>(row: number): A {
  return new Proxy({} as A, { get: (_, name) => new Slot(String(name), row) })
}

/** Builds and compiles a statement once per dialect; the values of a call take the places of its slots. */
function compileOnce<R>(build: (dialect: Dialect) => Compilable<R>): (rows: readonly object[]) => Bound<R> {
  const compiled = new Map<Dialect['name'], Required<PreparedQuery>>()
  return (rows) => ({
    prepare(dialect) {
      let known = compiled.get(dialect.name)
      if (!known) {
        const { sql, parameters } = build(dialect).compile()
        known = { sql, parameters, name: `hot_${fingerprint(sql)}` }
        compiled.set(dialect.name, known)
      }
      const { sql, name, parameters } = known
      return { sql, name, parameters: parameters.map((each) => (each instanceof Slot ? slotValue(each, rows) : each)) }
    },
  })
}

function slotValue({ name, row }: Slot, rows: readonly object[]): unknown {
  return (rows[row] as Record<string, unknown>)[name]
}

/**
 * Declares a hot statement: built and compiled once per dialect, a quarter of the cost of building it each time.
 * `build` sees placeholders instead of values, so it must not look at them.
 */
export function statement<A extends object, R>(
  build: (db: Builder, arg: A, dialect: Dialect) => Compilable<R>,
): (args: A) => Bound<R> {
  const bind = compileOnce((dialect) => build(dialect.builder, slotsOf<A>(0), dialect))
  return (args) => bind([args])
}

/** Max rows of one statement: each number of rows is a statement of its own, prepared once. */
const maxRows = 32

/** A hot statement over several rows; many rows make several statements. */
export type RowsStatement<A, R = unknown> = (rows: readonly A[]) => Query<R>[]

/** Declares a hot statement over several rows, such as an INSERT. */
export function statementOfRows<A extends object, R>(
  build: (db: Builder, rows: A[], dialect: Dialect) => Compilable<R>,
): RowsStatement<A, R> {
  const byCount = new Map<number, (rows: readonly object[]) => Bound<R>>()
  const prepared = (rows: readonly A[]): Bound<R> => {
    const count = rows.length
    const slots = () => Array.from({ length: count }, (_, row) => slotsOf<A>(row))
    const bind = byCount.get(count) ?? compileOnce((dialect) => build(dialect.builder, slots(), dialect))
    byCount.set(count, bind)
    return bind(rows)
  }
  return (rows) =>
    Array.from({ length: Math.ceil(rows.length / maxRows) }, (_, page) =>
      prepared(rows.slice(page * maxRows, (page + 1) * maxRows)),
    )
}

/** Policy for text that cannot be stored unchanged. */
export type Unstorable = 'refuse' | 'replace'

/** Compiles a query for one database, checking that its text values can be stored. */
export function prepare(query: Query<unknown>, dialect: Dialect, unstorable: Unstorable = 'refuse'): PreparedQuery {
  const prepared = 'prepare' in query ? query.prepare(dialect) : query.compile()
  if (prepared.parameters.every((value) => typeof value !== 'string' || isStorable(value))) return prepared
  if (unstorable === 'refuse') refuseUnstorable(prepared.parameters)
  const replaced = prepared.parameters.map((value) => (typeof value === 'string' ? toStorable(value) : value))
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
