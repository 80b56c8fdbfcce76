import pg from 'pg'
import { SqliteConnection } from '../../src/store/sqlite/connection.ts'

/** What a database was asked to do. */
export interface StatementCount {
  /** Statements in their order, without those that begin and end transactions. */
  statements: string[]
  commits: number
  /** Rows that were inserted, updated or deleted, by table. */
  rows: Map<string, number>
  /**
   * Times that a connection to PostgreSQL was idle and had to answer; statements that are sent together are one. Nobody waits
   * for a hint.
   */
  roundTrips: number
}

/** Starts to count what this process asks of its databases, on every connection. */
export function startCounting(): StatementCount & { stop(): void; whenQuiet(): Promise<void> } {
  const count: StatementCount = { statements: [], commits: 0, rows: new Map(), roundTrips: 0 }
  let seen = 0
  let underWay = 0
  const note = (sql: string) => {
    seen++
    if (/^commit/i.test(sql)) count.commits++
    if (!/^(begin|commit|rollback|savepoint|release)/i.test(sql)) count.statements.push(sql)
  }
  const wrote = (sql: string, rows: number) => {
    const table = /^(?:insert into|update|delete from) "?(\w+)"?/i.exec(sql)?.[1]
    if (table) count.rows.set(table, (count.rows.get(table) ?? 0) + rows)
  }

  const { all, run, exec } = SqliteConnection.prototype
  Object.assign(SqliteConnection.prototype, {
    all(this: SqliteConnection, query: Parameters<typeof all>[0]) {
      note(query.sql)
      const found = all.call(this, query)
      wrote(query.sql, found.length)
      return found
    },
    run(this: SqliteConnection, query: Parameters<typeof run>[0]) {
      note(query.sql)
      const changes = run.call(this, query)
      wrote(query.sql, changes)
      return changes
    },
    exec(this: SqliteConnection, sql: string) {
      note(sql)
      exec.call(this, sql)
    },
  })

  const { query, connect } = pg.Client.prototype
  const open = new WeakMap<object, number>()
  const send = (client: pg.Client, args: unknown[]) => {
    const sql = textOf(args[0])
    note(sql)
    underWay++
    const before = open.get(client) ?? 0
    if (before === 0 && !sql.includes('pg_notify')) count.roundTrips++
    open.set(client, before + 1)
    const ended = (result?: pg.QueryResult) => {
      underWay--
      open.set(client, (open.get(client) ?? 1) - 1)
      wrote(sql, result?.rowCount ?? 0)
    }
    const at = args.findIndex((arg) => typeof arg === 'function')
    const callback = args[at] as undefined | ((error: Error | null, result: pg.QueryResult) => void)
    if (callback)
      args[at] = (error: Error | null, result: pg.QueryResult) => {
        ended(error ? undefined : result)
        callback(error, result)
      }
    const answer = (query as (...args: unknown[]) => unknown).apply(client, args)
    if (!callback) (answer as Promise<pg.QueryResult>).then(ended, () => ended())
    return answer
  }
  Object.assign(pg.Client.prototype, {
    query(this: pg.Client, ...args: unknown[]) {
      return send(this, args)
    },
    // What waits for a new connection has sent nothing yet.
    connect(this: pg.Client, callback?: (error: Error | null) => void) {
      underWay++
      const connected = (connect as () => Promise<pg.Client>).call(this).finally(() => underWay--)
      return callback ? void connected.then(() => callback(null), callback) : connected
    },
  })

  return Object.assign(count, {
    stop() {
      Object.assign(SqliteConnection.prototype, { all, run, exec })
      Object.assign(pg.Client.prototype, { query, connect })
    },
    /** Resolves when nothing is under way and nothing follows from what has ended. */
    async whenQuiet() {
      for (let [quiet, last] = [0, seen]; quiet < 20; last = seen) {
        await new Promise(setImmediate)
        quiet = seen === last && underWay === 0 ? quiet + 1 : 0
      }
    },
  })
}

/** Counts what an operation asks of the database, from its start until nothing follows from it. */
export async function countStatements(operation: () => Promise<unknown>): Promise<StatementCount> {
  const counting = startCounting()
  try {
    await counting.whenQuiet()
    Object.assign(counting, { statements: [], commits: 0, rows: new Map(), roundTrips: 0 })
    await operation()
    await counting.whenQuiet()
    return counting
  } finally {
    counting.stop()
  }
}

function textOf(query: unknown): string {
  return typeof query === 'string' ? query : String((query as { text?: unknown }).text)
}
