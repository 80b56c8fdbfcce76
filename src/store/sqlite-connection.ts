import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { Prepared } from './statement.ts'

const keptStatements = 400

/** A statement prepared once, and the names of its columns. */
interface Kept {
  statement: StatementSync
  columns: string[]
}

/** One connection to a SQLite file. Every call is synchronous and never waits for another process. */
export class SqliteConnection {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, Kept>()

  constructor(file: string | URL, options: { readOnly?: boolean } = {}) {
    this.#db = new DatabaseSync(file, { timeout: 0, readOnly: options.readOnly ?? false })
  }

  /** False once SQLite has rolled back on its own, as it does when the disk is full or fails. */
  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  all(query: Prepared): unknown[] {
    const { statement, columns } = this.#statement(query.sql)
    const rows = statement.all(...(query.parameters as SQLInputValue[])) as unknown as unknown[][]
    return rows.map((values) => rowOf(columns, values))
  }

  run(query: Prepared): number {
    return Number(this.#statement(query.sql).statement.run(...(query.parameters as SQLInputValue[])).changes)
  }

  /** Rows one by one, on a statement of its own, so that other queries do not disturb it. */
  iterate(sql: string): Iterator<unknown> {
    return this.#db.prepare(sql).iterate()
  }

  /** For transaction control and settings: statements without values and rows. */
  exec(sql: string): void {
    this.#statement(sql).statement.run()
  }

  /** For scripts of several statements, such as a schema. */
  script(sql: string): void {
    this.#db.exec(sql)
  }

  close(): void {
    this.#statements.clear()
    if (this.#db.isOpen) this.#db.close()
  }

  #statement(sql: string): Kept {
    let kept = this.#statements.get(sql)
    if (!kept) {
      // Texts with lists of any length would otherwise fill the map without end.
      if (this.#statements.size >= keptStatements) this.#statements.clear()
      const statement = this.#db.prepare(sql)
      statement.setReturnArrays(true)
      kept = { statement, columns: statement.columns().map(({ name }) => name) }
      this.#statements.set(sql, kept)
    }
    return kept
  }
}

/** A plain object: those that node:sqlite makes are dictionaries, twice as slow to fill and to read. */
function rowOf(columns: string[], values: unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let place = 0; place < columns.length; place++) row[columns[place] as string] = values[place]
  return row
}
