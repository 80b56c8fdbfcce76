import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { PreparedQuery } from '../statement.ts'

const maxCachedStatements = 400

/** A prepared statement with its column names. */
interface CachedStatement {
  statement: StatementSync
  columns: string[]
}

/** One connection to a SQLite file. Every call is synchronous and never waits for another process. */
export class SqliteConnection {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, CachedStatement>()

  constructor(file: string | URL, options: { readOnly?: boolean } = {}) {
    this.#db = new DatabaseSync(file, { timeout: 0, readOnly: options.readOnly ?? false })
  }

  /** False once SQLite has rolled back on its own, as it does when the disk is full or fails. */
  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  /** Whether it is open and between transactions. */
  get isIdle(): boolean {
    return this.#db.isOpen && !this.#db.isTransaction
  }

  all(query: PreparedQuery): unknown[] {
    const { statement, columns } = this.#statement(query.sql)
    const rows = statement.all(...(query.parameters as SQLInputValue[])) as unknown as unknown[][]
    return rows.map((values) => rowOf(columns, values))
  }

  run(query: PreparedQuery): number {
    return Number(this.#statement(query.sql).statement.run(...(query.parameters as SQLInputValue[])).changes)
  }

  /** Rows one by one, on a statement of its own, so that other queries do not disturb it. */
  iterate(sql: string): Iterator<unknown> {
    return this.#db.prepare(sql).iterate()
  }

  /** Runs a statement without parameters and rows: transaction control and settings. */
  exec(sql: string): void {
    this.#statement(sql).statement.run()
  }

  /** Runs several statements at once, such as a migration. */
  script(sql: string): void {
    this.#db.exec(sql)
  }

  close(): void {
    this.#statements.clear()
    if (this.#db.isOpen) this.#db.close()
  }

  #statement(sql: string): CachedStatement {
    let cached = this.#statements.get(sql)
    if (!cached) {
      // Bounded: IN lists of varying length would otherwise fill the cache forever.
      if (this.#statements.size >= maxCachedStatements) this.#statements.clear()
      const statement = this.#db.prepare(withOpaqueLimit(sql))
      statement.setReturnArrays(true)
      cached = { statement, columns: statement.columns().map(({ name }) => name) }
      this.#statements.set(sql, cached)
    }
    return cached
  }
}

/** SQLite recompiles a statement each time a bare parameter is bound as its limit; into an expression it does not look. */
function withOpaqueLimit(sql: string): string {
  return sql.replace(/\blimit \?/gi, 'limit (? + 0)')
}

/** Builds a plain object: the null-prototype objects of node:sqlite are twice as slow to fill and read. */
function rowOf(columns: string[], values: unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let index = 0; index < columns.length; index++) row[columns[index] as string] = values[index]
  return row
}
