import type { WriteArea } from '../domain/crash-points.ts'
import type { Dialect } from './dialect.ts'
import { TransactionMisuse } from './failures.ts'
import { type PreparedQuery, prepare, type Query, type RowsStatement, type Unstorable } from './statement.ts'
import { type Hint, type LockLevel, lockOrder, type Tx } from './store.ts'

/** Runs statements on one connection, at once or when the server answers. */
export interface Executor {
  all(query: PreparedQuery): unknown[] | Promise<unknown[]>
  run(query: PreparedQuery): number | Promise<number>
}

/**
 * Transactions in which the engine claims and ends runs. Unstorable text must not fail one of these, or the run could
 * never end: it is stored with replacement characters instead.
 */
const mustSucceed: ReadonlySet<WriteArea> = new Set(['claim', 'settle', 'recover', 'park', 'compact'])

/** The `tx` passed to one body, the same for both databases. */
export class Transaction implements Tx {
  readonly dialect: Dialect
  readonly hints = new Set<Hint>()
  readonly #area: WriteArea
  readonly #last = new Map<RowsStatement<unknown>, unknown[]>()
  readonly #executor: Executor
  readonly #explain: (error: unknown) => unknown
  readonly #unstorable: Unstorable
  #ended = false
  #failure: { error: unknown } | undefined
  #level = 0

  /** `explain` maps a driver's error to a Heddle error. */
  constructor(area: WriteArea, dialect: Dialect, executor: Executor, explain: (error: unknown) => unknown) {
    this.#area = area
    this.dialect = dialect
    this.#executor = executor
    this.#explain = explain
    this.#unstorable = mustSucceed.has(area) ? 'replace' : 'refuse'
  }

  get build() {
    return this.dialect.builder
  }

  async all<R>(query: Query<R>): Promise<R[]> {
    return (await this.#execute(() => this.#executor.all(prepare(query, this.dialect, this.#unstorable)))) as R[]
  }

  async first<R>(query: Query<R>): Promise<R | undefined> {
    return (await this.all(query))[0]
  }

  run(query: Query<unknown>): Promise<number> {
    return this.#execute(() => this.#executor.run(prepare(query, this.dialect, this.#unstorable)))
  }

  send(query: Query<unknown>): void {
    this.#mustBeOpen()
    if (this.#failure) throw this.#failure.error
    const fail = (raw: unknown) => {
      this.#failure ??= { error: this.#explain(raw) }
    }
    try {
      const sent = this.#executor.run(prepare(query, this.dialect, this.#unstorable))
      if (typeof sent !== 'number') sent.catch(fail)
    } catch (raw) {
      fail(raw)
    }
  }

  sendLast<A>(insert: RowsStatement<A>, rows: readonly A[]): void {
    this.#mustBeOpen()
    const all = this.#last.get(insert as RowsStatement<unknown>) ?? []
    for (const row of rows) all.push(row)
    this.#last.set(insert as RowsStatement<unknown>, all)
  }

  /** Stores the rows that were left for the end. Call it once, after the body. */
  sendRest(): void {
    for (const [insert, rows] of this.#last) for (const query of insert(rows)) this.send(query)
  }

  locking(level: LockLevel): void {
    this.#mustBeOpen()
    const next = lockOrder.indexOf(level)
    if (next < this.#level)
      throw new TransactionMisuse(`${this.#area}: ${level} must be locked before ${lockOrder[this.#level]}`)
    this.#level = next
  }

  hint(hint: Hint): void {
    this.#mustBeOpen()
    this.hints.add(hint)
  }

  /** Revokes the transaction: a body that kept a reference can no longer use it. */
  end(): void {
    this.#ended = true
  }

  /** Error of the first failed statement, even if the body caught it. */
  get failure(): { error: unknown } | undefined {
    return this.#failure
  }

  // PostgreSQL refuses every statement after a failed one, SQLite does not. Same rule for both: the first failure dooms.
  async #execute<T>(statement: () => T | Promise<T>): Promise<T> {
    this.#mustBeOpen()
    if (this.#failure) throw this.#failure.error
    try {
      return await statement()
    } catch (raw) {
      // A statement that was sent before may have failed first: then PostgreSQL refuses this one.
      this.#failure ??= { error: this.#explain(raw) }
      throw this.#failure.error
    }
  }
  #mustBeOpen(): void {
    if (this.#ended) throw new TransactionMisuse(`${this.#area}: tx was used after its body had ended`)
  }
}
