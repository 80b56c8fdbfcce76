import type { Clock, Random } from '../domain/clock.ts'
import type { CrashPoint, WriteArea } from '../domain/crash-points.ts'
import type { Builder, Dialect } from './dialect.ts'
import type { Query } from './statement.ts'

/**
 * "Something changed": sent after COMMIT, may be lost, carries nothing that matters. `ended:` names the request one of
 * whose runs has ended, so that of many who wait only the right ones look.
 */
export type Hint = 'events' | 'runs' | 'cancel' | `ended:${string}`

/** Rows that a transaction locks, in the one order that keeps concurrent writers from deadlock and lost releases. */
export const lockOrder = ['sessions', 'projects', 'joins', 'runs'] as const
export type LockLevel = (typeof lockOrder)[number]

/** A view of committed rows. */
export interface Reading {
  readonly dialect: Dialect
  readonly build: Builder
  all<R>(query: Query<R>): Promise<R[]>
  first<R>(query: Query<R>): Promise<R | undefined>
}

/** All of the database at one moment, table by table. */
export interface Snapshot extends Reading {
  /** Names of our tables, parents before children. */
  tables(): Promise<string[]>
  /** Every row of a table, a page at a time; writers go on meanwhile. */
  pages(table: string): AsyncIterable<Record<string, unknown>[]>
}

/** One transaction, usable only inside its body: the first statement that fails dooms it, and its end revokes it. */
export interface Tx extends Reading {
  /** Runs a statement and tells how many rows it touched. */
  run(query: Query<unknown>): Promise<number>
  /** Declares that rows of this level are locked next; going back in `lockOrder` is a bug and throws. */
  locking(level: LockLevel): void
  /** Sends the hint after COMMIT, if there is one. */
  hint(hint: Hint): void
}

/** The only way to rows. */
export interface Store {
  readonly dialect: Dialect
  /** Where the rows are, fit to be shown: a file, or a server without its password. */
  readonly place: string
  /**
   * Runs the body in one transaction and resolves after COMMIT.
   * The body awaits nothing but `tx`, has no effect outside it, and may run again.
   */
  write<T>(area: WriteArea, body: (tx: Tx) => Promise<T>): Promise<T>
  /** Each query sees the newest committed rows. */
  read<T>(body: (rows: Reading) => Promise<T>): Promise<T>
  /** All queries see the same moment; writers go on meanwhile. */
  snapshot<T>(body: (rows: Snapshot) => Promise<T>): Promise<T>
  /** Listens to hints until the returned function is called. The listener must not throw. */
  onHint(listener: (hint: Hint) => void): () => void
  /** Finishes what was begun, refuses what comes later. */
  close(): Promise<void>
}

/** What a store needs from outside. */
export interface StoreContext {
  clock: Clock
  random: Random
  /** Called at every named crash point; kills the process when that was asked for. */
  crash(point: CrashPoint): void
}
