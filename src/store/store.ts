import type { Clock, Random } from '../domain/clock.ts'
import type { CrashPoint, WriteArea } from '../domain/crash-points.ts'
import type { Builder, Dialect } from './dialect.ts'
import type { Query, RowsStatement } from './statement.ts'

/**
 * "Something changed": sent after COMMIT, may be lost, carries no data. `due` is sent with rows that wait for a moment.
 * `ended:` names the request of a run that has ended, so that only the waiters of that request re-read.
 */
export type Hint = 'events' | 'runs' | 'cancel' | 'due' | `ended:${string}`

/** Rows that a transaction locks, in the one order that keeps concurrent writers from deadlock and lost releases. */
export const lockOrder = ['sessions', 'projects', 'joins', 'runs', 'jobs'] as const
export type LockLevel = (typeof lockOrder)[number]

/** A view of committed rows. */
export interface Reading {
  readonly dialect: Dialect
  readonly build: Builder
  all<R>(query: Query<R>): Promise<R[]>
  first<R>(query: Query<R>): Promise<R | undefined>
}

/** A consistent snapshot of the whole database, read table by table. */
export interface Snapshot extends Reading {
  /** Names of our tables, older ones first; views are not among them. */
  tables(): Promise<string[]>
  /** Every row of a table, a page at a time; does not block writers. */
  pages(table: string): AsyncIterable<Record<string, unknown>[]>
}

/** One transaction, usable only inside its body. The first failed statement dooms it; using it after the end throws. */
export interface Tx extends Reading {
  /** Runs a statement and returns the number of affected rows. */
  run(query: Query<unknown>): Promise<number>
  /**
   * Runs a statement whose outcome the body does not need. PostgreSQL answers it together with the next one, or with COMMIT.
   * If it fails, so does the transaction.
   */
  send(query: Query<unknown>): void
  /** Stores rows that no statement of this body reads: at its end, all rows of one `insert` together. */
  sendLast<A>(insert: RowsStatement<A>, rows: readonly A[]): void
  /** Declares that rows of this level are locked next. Throws when that goes back in `lockOrder`: a bug in the caller. */
  locking(level: LockLevel): void
  /** Sends the hint after COMMIT; drops it on rollback. */
  hint(hint: Hint): void
}

/** Database access: all reads and writes of rows go through a store. */
export interface Store {
  readonly dialect: Dialect
  /** Location for display: a file path, or a server URL without its password. */
  readonly place: string
  /**
   * Runs the body in one transaction and resolves after COMMIT. The body must await nothing but `tx` and have no side
   * effects: it may run more than once.
   */
  write<T>(area: WriteArea, body: (tx: Tx) => Promise<T>): Promise<T>
  /** Each query sees the newest committed rows. */
  read<T>(body: (rows: Reading) => Promise<T>): Promise<T>
  /** All queries see the same snapshot; does not block writers. */
  snapshot<T>(body: (rows: Snapshot) => Promise<T>): Promise<T>
  /** Subscribes to hints; returns the unsubscribe function. The listener must not throw. */
  onHint(listener: (hint: Hint) => void): () => void
  /** Drains running transactions and refuses new ones. */
  close(): Promise<void>
}

/** Dependencies of a store. */
export interface StoreContext {
  clock: Clock
  random: Random
  /** Called at every named crash point; kills the process when a test requests it. */
  crash(point: CrashPoint): void
}
