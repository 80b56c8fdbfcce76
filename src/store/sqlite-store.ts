import { sqlite } from './dialect.ts'
import { explainSqlite, sqliteBusy, sqliteCode } from './failures.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { SqliteWriter } from './sqlite-writer.ts'
import { prepare, type Query } from './statement.ts'
import type { Hint, Reading, Store, StoreContext } from './store.ts'

const readTries = 200
const pageRows = 500

export interface SqliteSettings {
  file: string
  durability: 'full' | 'normal'
}

/** Opens a SQLite file that is known to be ours and up to date; see `openStore`. */
export function openSqliteStore({ file, durability }: SqliteSettings, context: StoreContext): Store {
  const listeners = new Set<(hint: Hint) => void>()
  const send = (hint: Hint) => {
    for (const listener of listeners) listener(hint)
  }
  const writing = connect(file, durability)
  const reading = new SqliteConnection(file, { readOnly: true })
  const writer = new SqliteWriter(writing, file, context, send)

  return {
    dialect: sqlite,
    place: file,
    write: (area, body) => writer.write(area, body),
    read: (body) => body(readingOn(reading, file, context)),
    async snapshot(body) {
      // A connection of its own: a transaction on the shared one would hold every other reader at this moment.
      const own = new SqliteConnection(file, { readOnly: true })
      try {
        own.exec('BEGIN')
        return await body({
          ...readingOn(own, file, context),
          tables: () => tablesOn(own),
          pages: (table) => pagesOn(own, table),
        })
      } finally {
        own.close()
      }
    },
    onHint(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      await writer.close()
      reading.close()
      writing.close()
    },
  }
}

/** A connection with the settings that every writer of the file needs. */
export function connect(file: string, durability: SqliteSettings['durability']): SqliteConnection {
  const connection = new SqliteConnection(file)
  connection.script(`PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'};
    PRAGMA foreign_keys = ON;
    PRAGMA journal_size_limit = 67108864;`)
  return connection
}

function readingOn(connection: SqliteConnection, file: string, context: StoreContext): Reading {
  const all = async <R>(query: Query<R>): Promise<R[]> => {
    for (let tries = 1; ; tries++) {
      try {
        return connection.all(prepare(query, sqlite)) as R[]
      } catch (error) {
        // Readers wait only while another process recovers the file after a crash.
        if (sqliteCode(error) !== sqliteBusy || tries === readTries) throw explainSqlite(error, file)
        await context.clock.sleep(5)
      }
    }
  }
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
  const rows = connection.iterate(`SELECT * FROM "${table}"`)
  for (let row = rows.next(); !row.done; row = rows.next()) {
    if (page.push(row.value as Record<string, unknown>) < pageRows) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}
