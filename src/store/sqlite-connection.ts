import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { Prepared } from './statement.ts'

const keptStatements = 400

/** One connection to a SQLite file. Every call is synchronous and never waits for another process. */
export class SqliteConnection {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(file: string | URL, options: { readOnly?: boolean } = {}) {
    this.#db = new DatabaseSync(file, { timeout: 0, readOnly: options.readOnly ?? false })
  }

  /** False once SQLite has rolled back on its own, as it does when the disk is full or fails. */
  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  all(query: Prepared): unknown[] {
    return this.#statement(query.sql).all(...(query.parameters as SQLInputValue[]))
  }

  run(query: Prepared): number {
    return Number(this.#statement(query.sql).run(...(query.parameters as SQLInputValue[])).changes)
  }

  /** Rows one by one, on a statement of its own, so that other queries do not disturb it. */
  iterate(sql: string): Iterator<unknown> {
    return this.#db.prepare(sql).iterate()
  }

  /** For transaction control and settings: statements without values and rows. */
  exec(sql: string): void {
    this.#statement(sql).run()
  }

  /** For scripts of several statements, such as a schema. */
  script(sql: string): void {
    this.#db.exec(sql)
  }

  close(): void {
    this.#statements.clear()
    if (this.#db.isOpen) this.#db.close()
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      // Texts with lists of any length would otherwise fill the map without end.
      if (this.#statements.size >= keptStatements) this.#statements.clear()
      statement = this.#db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}
