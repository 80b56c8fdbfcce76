import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { Millis } from '../domain/clock.ts'
import type { Tables } from './tables.ts'

/** Parts of the schema that differ between the two databases. */
export interface ColumnTypes {
  int: string
  text: string
  real: string
  /** The transaction that wrote an event; see `EventOrder`. */
  xid: string
  sequence: string
  /** Small sequential ids that people type. */
  sequenceKey: string
  eventKey: string
  /** Rows stored in the order of the primary key. */
  clustered: string
  strict: string
  /** Whether ALTER TABLE changes defaults and adds foreign keys; otherwise the table is rebuilt. */
  altersColumns: boolean
  /** Stored JSON text as an operand of -> and ->>. */
  json(text: string): string
  /** The elements of a stored JSON array, as a source of rows: `entry.value`, and `entry.key` for the order. */
  jsonEntries(text: string): string
  /** A subquery that joins the items of all its rows, each a JSON text, into the text of a JSON array. */
  jsonArray(list: { item: string; from: string; order: string }): string
  /** Milliseconds as text such as 2026-02-21 09:30:00, in UTC. */
  dateTime(millis: string): string
}

/** Builds queries; connections run them. */
export type Builder = Kysely<Tables>

/** Every difference between SQLite and PostgreSQL, by name. */
export interface Dialect {
  name: 'sqlite' | 'postgres'
  /** Whether a transaction excludes every other one: then there is nothing to lock, and no statement is sent for it. */
  hasOneWriter: boolean
  types: ColumnTypes
  builder: Builder
  /** Claim lock, held until the transaction ends: only one process at a time picks the next run. */
  claimLock: RawBuilder<unknown>
  /** Claim lock without waiting, for use where waiting would break the lock order; returns whether it was taken. */
  tryClaimLock: RawBuilder<{ held: number }>
  /** Day budget lock, held until the transaction ends. Must be the last lock of its transaction. */
  dayLock: RawBuilder<unknown>
  /** Memory lock, held until the transaction ends: serializes duplicate checks. Row locks must be taken before it. */
  memoryLock: RawBuilder<unknown>
  /** Policy lock, held until the transaction ends: serializes changes of policies. Row locks must be taken before it. */
  policyLock: RawBuilder<unknown>
  /** Clock for leases: PostgreSQL's own, which all processes share; with SQLite the caller's. */
  leaseClock(now: Millis): RawBuilder<number>
  /** Appended to a SELECT that must hold its rows until the transaction ends. */
  lockRows: RawBuilder<unknown>
  /** The same, but skips rows that another transaction holds. */
  lockFreeRows: RawBuilder<unknown>
  /** The texts of a JSON array as rows of one column, `value`. */
  textsIn(json: string): RawBuilder<unknown>
  events: EventOrder
}

/** Position in the order of events. */
export interface Position {
  xid: string
  seq: number
}

/**
 * The order in which followers see events. SQLite's one writer commits in the order of `seq`. PostgreSQL does not: a
 * transaction with a smaller number may commit later, so events are ordered by transaction first, and those of a
 * transaction that is not older than every open one are held back.
 */
export interface EventOrder {
  order: RawBuilder<unknown>
  newestFirst: RawBuilder<unknown>
  after(position: Position): RawBuilder<boolean>
  upTo(position: Position): RawBuilder<boolean>
  xidText: RawBuilder<string>
}

export const sqlite: Dialect = {
  name: 'sqlite',
  hasOneWriter: true,
  types: {
    int: 'INTEGER',
    text: 'TEXT',
    real: 'REAL',
    xid: 'INTEGER NOT NULL DEFAULT 0',
    sequence: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    sequenceKey: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    eventKey: '',
    clustered: ' STRICT, WITHOUT ROWID',
    strict: ' STRICT',
    altersColumns: false,
    // All of it must be known to the sqlite3 of older systems: one unknown word in a view, and it opens nothing.
    json: (text) => text,
    jsonEntries: (text) => `json_each(${text}) AS entry`,
    jsonArray: ({ item, from, order }) =>
      `(SELECT '[' || coalesce(group_concat(item), '') || ']' FROM (SELECT ${item} AS item FROM ${from} ORDER BY ${order}))`,
    dateTime: (millis) => `datetime(${millis} / 1000, 'unixepoch')`,
  },
  builder: new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  }),
  // The one writer already holds the whole file.
  lockRows: sql``,
  lockFreeRows: sql``,
  textsIn: (json) => sql`json_each(${json}) AS texts`,
  claimLock: sql`SELECT 1`,
  tryClaimLock: sql`SELECT 1 AS held`,
  dayLock: sql`SELECT 1`,
  memoryLock: sql`SELECT 1`,
  policyLock: sql`SELECT 1`,
  leaseClock: (now) => sql<number>`${now}`,
  events: {
    order: sql`seq`,
    newestFirst: sql`seq DESC`,
    after: ({ seq }) => sql<boolean>`seq > ${seq}`,
    upTo: ({ seq }) => sql<boolean>`seq <= ${seq}`,
    xidText: sql<string>`cast(xid AS TEXT)`,
  },
}

export const postgres: Dialect = {
  name: 'postgres',
  hasOneWriter: false,
  types: {
    int: 'BIGINT',
    // Byte order, so that both databases sort and compare alike.
    text: 'TEXT COLLATE "C"',
    real: 'DOUBLE PRECISION',
    xid: 'XID8 NOT NULL DEFAULT pg_current_xact_id()',
    sequence: 'BIGINT GENERATED BY DEFAULT AS IDENTITY',
    sequenceKey: 'BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY',
    eventKey: ', PRIMARY KEY (xid, seq)',
    clustered: '',
    strict: '',
    altersColumns: true,
    json: storedJson,
    jsonEntries: (text) => `json_array_elements(${storedJson(text)}) WITH ORDINALITY AS entry (value, key)`,
    jsonArray: ({ item, from, order }) =>
      `(SELECT '[' || coalesce(string_agg(${item}, ',' ORDER BY ${order}), '') || ']' FROM ${from})`,
    dateTime: (millis) => `to_char(to_timestamp(${millis} / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')`,
  },
  builder: new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  }),
  // Not FOR UPDATE: that also waits for transactions that insert a reference to this row, such as a join to its run.
  lockRows: sql`for no key update`,
  lockFreeRows: sql`for no key update skip locked`,
  textsIn: (json) => sql`json_array_elements_text(CAST(${json} AS json)) AS texts (value)`,
  // Keyed by schema: several heddles may share a server without waiting for each other.
  claimLock: sql`SELECT pg_advisory_xact_lock(${sql.lit(0x434c4d)}, hashtext(current_schema()))`,
  tryClaimLock: sql`SELECT pg_try_advisory_xact_lock(${sql.lit(0x434c4d)}, hashtext(current_schema()))::int AS held`,
  dayLock: sql`SELECT pg_advisory_xact_lock(${sql.lit(0x444159)}, hashtext(current_schema()))`,
  memoryLock: sql`SELECT pg_advisory_xact_lock(${sql.lit(0x4d454d)}, hashtext(current_schema()))`,
  policyLock: sql`SELECT pg_advisory_xact_lock(${sql.lit(0x504f4c)}, hashtext(current_schema()))`,
  leaseClock: () => sql<number>`(extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
  events: {
    order: sql`xid, seq`,
    newestFirst: sql`xid DESC, seq DESC`,
    after: ({ xid, seq }) =>
      sql<boolean>`(xid, seq) > (${xid}::xid8, ${seq}::bigint) AND xid < pg_snapshot_xmin(pg_current_snapshot())`,
    upTo: ({ xid, seq }) => sql<boolean>`(xid, seq) <= (${xid}::xid8, ${seq}::bigint)`,
    xidText: sql<string>`xid::text`,
  },
}

/** PostgreSQL parses neither NUL nor a lone surrogate; JSON.stringify escapes these two and writes all others as they are. */
function storedJson(text: string): string {
  return String.raw`regexp_replace(${text}, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'g')::json`
}
