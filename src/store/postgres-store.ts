import pg from 'pg'
import type { Millis } from '../domain/clock.ts'
import { HeddleError, StorageFailure } from '../domain/errors.ts'
import { postgres } from './dialect.ts'
import { Doors } from './doors.ts'
import { BodyMisbehaved, explainPostgres, wantsRetry } from './failures.ts'
import { type Prepared, prepare } from './statement.ts'
import type { Hint, Reading, Store, StoreContext } from './store.ts'
import { type Executor, Transaction } from './transaction.ts'

const writeTries = 10
// Small, since a row may hold megabytes and a page is in memory at once.
const pageRows = 50
const int8 = 20
// A process that is stopped or cut off inside a transaction keeps its locks, and holds back every follower of events on
// the server. No body pauses for so long: the server ends such a transaction, and what it wrote is undone.
const longestPause: Millis = 5000

export interface PostgresSettings {
  url: string
  poolSize?: number
}

/** Opens a PostgreSQL database whose schema is up to date; see `openStore`. */
export function openPostgresStore(settings: PostgresSettings, context: StoreContext): Store {
  const place = shownUrl(settings.url)
  const pool = connectPool(settings)
  const listeners = new Set<(hint: Hint) => void>()
  const explain = (error: unknown) => explainPostgres(error, place)
  const refuse = (error: unknown) => Promise.reject(explain(error))
  const reading = readingOn(executorOn(pool), explain)
  const doors = new Doors()

  return {
    dialect: postgres,
    place,
    read: (body) => doors.enter(() => body(reading)),
    snapshot: (body) =>
      doors.enter(async () => {
        const client = await pool.connect().catch(refuse)
        try {
          await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY').catch(refuse)
          return await body({
            ...readingOn(executorOn(client), explain),
            tables: () => tablesOn(client).catch(refuse),
            pages: (table) => pagesOn(client, table, refuse),
          })
        } finally {
          await rollBack(client)
        }
      }),
    write: (area, body) =>
      doors.enter(async () => {
        for (let tries = 1; ; tries++) {
          const client = await pool.connect().catch(refuse)
          const tx = new Transaction(area, postgres, executorOn(client), explain)
          try {
            await client.query('BEGIN ISOLATION LEVEL READ COMMITTED').catch(refuse)
            const value = await body(tx)
            tx.end()
            if (tx.failure) throw tx.failure.error
            context.crash(`${area}.before_commit`)
            await commit(client, tx)
            context.crash(`${area}.after_commit`)
            client.release()
            for (const hint of tx.hints) for (const listener of listeners) listener(hint)
            return value
          } catch (error) {
            tx.end()
            await rollBack(client)
            if (!wantsRetry(tx.failure?.error ?? error)) throw error
            if (tries === writeTries) throw outrun(place, error)
          }
          await context.clock.sleep(jitter(context, tries))
        }
      }),
    onHint(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => doors.close(() => pool.end()),
  }

  async function commit(client: pg.PoolClient, tx: Transaction): Promise<void> {
    const { command } = await client.query('COMMIT').catch((error) => {
      const explained = explain(error)
      const isLost = explained instanceof HeddleError && explained.code === 'database_unreachable'
      throw isLost ? commitUnknown(place, error) : explained
    })
    // A statement that nobody waited for has failed: the server then rolls back, and calls that an answer to COMMIT.
    if (command !== 'COMMIT') throw tx.failure?.error ?? new BodyMisbehaved('COMMIT was answered with a rollback')
  }
}

/** Gives a connection back without what was begun on it; a broken one is replaced. */
function rollBack(client: pg.PoolClient): Promise<void> {
  return client.query('ROLLBACK').then(
    () => client.release(),
    (lost) => client.release(lost),
  )
}

/** A pool whose connections see only our schema and read whole numbers as numbers. */
export function connectPool({ url, poolSize = 10 }: PostgresSettings): pg.Pool {
  const pool = new pg.Pool({
    connectionString: withoutSchema(url),
    max: poolSize,
    connectionTimeoutMillis: 10_000,
    options: `-c search_path=${schemaOf(url)} -c idle_in_transaction_session_timeout=${longestPause}`,
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        oid === int8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
    },
  })
  // A connection that breaks is replaced, and whoever uses it learns so from its query; without listeners it would end
  // the process, whether it is idle or in use.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** The schema that holds our tables: `?schema=name` of the URL, else `heddle`. */
export function schemaOf(url: string): string {
  const name = new URL(url).searchParams.get('schema') ?? 'heddle'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name))
    throw new HeddleError('bad_schema', `"${name}" cannot be a schema's name`, 'use small letters, digits and _')
  return name
}

/** The URL as it may be printed. */
export function shownUrl(url: string): string {
  const shown = new URL(url)
  shown.password = ''
  shown.searchParams.delete('password')
  return shown.toString()
}

function withoutSchema(url: string): string {
  const bare = new URL(url)
  bare.searchParams.delete('schema')
  return bare.toString()
}

function executorOn(client: pg.Pool | pg.PoolClient): Executor {
  const query = ({ sql, parameters, name }: Prepared) =>
    client.query({ text: sql, values: [...parameters], ...(name === undefined ? {} : { name }) })
  return {
    all: async (prepared) => (await query(prepared)).rows,
    run: async (prepared) => (await query(prepared)).rowCount ?? 0,
  }
}

function readingOn(executor: Executor, explain: (error: unknown) => unknown): Reading {
  const all: Reading['all'] = async (query) => {
    try {
      return (await executor.all(prepare(query, postgres))) as never
    } catch (error) {
      throw explain(error)
    }
  }
  return { dialect: postgres, build: postgres.builder, all, first: async (query) => (await all(query))[0] }
}

async function tablesOn(client: pg.PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ relname: string }>(
    `SELECT relname FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> 'migrations' ORDER BY oid`,
  )
  return rows.map(({ relname }) => relname)
}

async function* pagesOn(
  client: pg.PoolClient,
  table: string,
  refuse: (error: unknown) => Promise<never>,
): AsyncIterable<Record<string, unknown>[]> {
  await client.query(`DECLARE "pages of ${table}" CURSOR FOR SELECT * FROM "${table}"`).catch(refuse)
  try {
    for (;;) {
      const { rows } = await client
        .query<Record<string, unknown>>(`FETCH ${pageRows} FROM "pages of ${table}"`)
        .catch(refuse)
      if (rows.length === 0) break
      yield rows
    }
  } finally {
    // Fails where the transaction has failed already, and then there is nothing left to close.
    await client.query(`CLOSE "pages of ${table}"`).catch(() => undefined)
  }
}

function jitter({ random }: StoreContext, tries: number): number {
  return ((random.bytes(1)[0] ?? 0) / 255) * Math.min(2 ** tries, 200)
}

function outrun(place: string, cause: unknown): HeddleError {
  return new StorageFailure(
    'database_busy',
    `other writers of ${place} were in the way ${writeTries} times; nothing of this change is stored`,
    'try again when there is less going on',
    { retry: 'later', cause },
  )
}

function commitUnknown(place: string, cause: unknown): StorageFailure {
  return new StorageFailure(
    'commit_unknown',
    `${place} went away during COMMIT: the change is either stored whole or not at all`,
    'look whether it is there before you repeat it',
    { cause },
  )
}
