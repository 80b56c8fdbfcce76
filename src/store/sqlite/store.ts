import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { sqlite } from '../dialect.ts'
import { DrainGate } from '../drain-gate.ts'
import { explainSqlite, sqliteBusy, sqliteCode } from '../failures.ts'
import { type PreparedQuery, prepare, type Query } from '../statement.ts'
import type { Hint, Reading, Store, StoreContext } from '../store.ts'
import { SqliteConnection } from './connection.ts'
import { SqliteWriter } from './writer.ts'

const lockTries = 1000
const lockPause: Millis = 5
const pageRows = 500
const pageCharacters = 256 * 1024

/** A store on a connection to a SQLite file that is known to be ours and up to date; see `openStore`. It closes the connection. */
export function openSqliteStore(file: string, context: StoreContext, writing: SqliteConnection): Store {
  const listeners = new Set<(hint: Hint) => void>()
  const send = (hint: Hint) => {
    for (const listener of listeners) listener(hint)
  }
  const reading = readerBeside(writing, file)
  // After each commit every other connection forgets its pages and reloads them. Only what cannot write is read here.
  const connectionFor = ({ sql }: PreparedQuery) => (writing.isIdle && /^\s*select\b/i.test(sql) ? writing : reading)
  const writer = new SqliteWriter(writing, file, context, send)
  const gate = new DrainGate()

  return {
    dialect: sqlite,
    place: file,
    write: (area, body) => gate.enter(() => writer.write(area, body)),
    read: (body) => gate.enter(() => body(readingOn(connectionFor, file, context))),
    snapshot: (body) =>
      gate.enter(async () => {
        // Own connection: a transaction on the shared one would pin every other reader to this snapshot.
        const own = new SqliteConnection(file, { readOnly: true })
        try {
          own.exec('BEGIN')
          return await body({
            ...readingOn(() => own, file, context),
            tables: () => tablesOn(own),
            pages: (table) => pagesOn(own, table),
          })
        } finally {
          own.close()
        }
      }),
    onHint(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () =>
      gate.close(() => {
        reading.close()
        writing.close()
      }),
  }
}

/** Prepares a connection for the writer of a store, and opens another one for reads during its transactions. */
function readerBeside(writing: SqliteConnection, file: string): SqliteConnection {
  try {
    // Pages that savepoints keep aside: in a file they would be half of what a batch writes.
    writing.script('PRAGMA temp_store = MEMORY')
    return new SqliteConnection(file, { readOnly: true })
  } catch (error) {
    writing.close()
    throw error
  }
}

/**
 * Opens a connection with the settings that every writer needs. What is deleted is overwritten in the pages that are written
 * anyway: what was forgotten is not left in the file.
 */
export function connect(file: string, durability: 'full' | 'normal'): SqliteConnection {
  const connection = new SqliteConnection(file)
  try {
    connection.script(`PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'};
      PRAGMA foreign_keys = ON;
      PRAGMA secure_delete = FAST;
      PRAGMA journal_size_limit = 67108864;`)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Retries while another process locks the whole file, as it briefly does when it opens, recovers or closes it. */
export async function retryWhileBusy<T>(file: string, { clock }: StoreContext, attempt: () => T): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return attempt()
    } catch (error) {
      const isBusy =
        sqliteCode(error) === sqliteBusy || (error instanceof HeddleError && error.code === 'database_busy')
      if (!isBusy || tries === lockTries) throw explainSqlite(error, file)
      await clock.sleep(lockPause)
    }
  }
}

function readingOn(
  connectionFor: (query: PreparedQuery) => SqliteConnection,
  file: string,
  context: StoreContext,
): Reading {
  const all = <R>(query: Query<R>): Promise<R[]> =>
    retryWhileBusy(file, context, () => {
      const prepared = prepare(query, sqlite)
      return connectionFor(prepared).all(prepared) as R[]
    })
  return { dialect: sqlite, build: sqlite.builder, all, first: async (query) => (await all(query))[0] }
}

async function tablesOn(connection: SqliteConnection): Promise<string[]> {
  const rows = connection.all({
    sql: `SELECT name FROM sqlite_schema
          WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'migrations' ORDER BY rowid`,
    parameters: [],
  })
  return (rows as { name: string }[]).map(({ name }) => name)
}

async function* pagesOn(connection: SqliteConnection, table: string): AsyncIterable<Record<string, unknown>[]> {
  let page: Record<string, unknown>[] = []
  let characters = 0
  const rows = connection.iterate(`SELECT * FROM "${table}"`)
  for (let next = rows.next(); !next.done; next = rows.next()) {
    const row = next.value as Record<string, unknown>
    for (const value of Object.values(row)) if (typeof value === 'string') characters += value.length
    // Bounded by size as well: a few rows can be very large.
    if (page.push(row) < pageRows && characters < pageCharacters) continue
    yield page
    page = []
    characters = 0
  }
  if (page.length > 0) yield page
}
