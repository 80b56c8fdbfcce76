import pg from 'pg'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError, StorageFailure } from '../../domain/errors.ts'
import { postgres } from '../dialect.ts'
import { DrainGate } from '../drain-gate.ts'
import { explainPostgres, isSerializationFailure, TransactionMisuse } from '../failures.ts'
import { type PreparedQuery, prepare } from '../statement.ts'
import type { Hint, Reading, Store, StoreContext } from '../store.ts'
import { type Executor, Transaction } from '../transaction.ts'
import { hintChannel } from './hint-channel.ts'
import { redactedUrl, schemaOf, withoutSchema } from './server-address.ts'

const writeTries = 10
// Small: a row may hold megabytes, and a page is held in memory.
const pageRows = 50
const int8 = 20
const connectTimeout: Millis = 10_000
// Runs of one process queue for its connections; a full queue says nothing about the server, so it may take longer.
const queueTimeout: Millis = 60_000
// A process that is stopped or cut off inside a transaction keeps its locks and holds back all event followers. No body
// idles this long, so the server may abort such a transaction.
const idleInTransactionTimeout: Millis = 5000

export interface PostgresSettings {
  url: string
  poolSize?: number
}

/** Opens a PostgreSQL database whose schema is up to date; see `openStore`. Closing it ends the pool. */
export function openPostgresStore(
  settings: PostgresSettings,
  context: StoreContext,
  pool = connectPool(settings),
): Store {
  const place = redactedUrl(settings.url)
  const listeners = new Set<(hint: Hint) => void>()
  const explain = (error: unknown) => explainPostgres(error, place)
  const refuse = (error: unknown) => Promise.reject(explain(error))
  const reading = readingOn(executorOn(pool), explain)
  const gate = new DrainGate()
  const deliver = (hint: Hint) => {
    for (const listener of listeners) listener(hint)
  }
  const channel = hintChannel(
    { connection: hintConnection(settings), schema: schemaOf(settings.url) },
    context,
    deliver,
  )
  const connect = (): Promise<PoolConnection> => pool.connect().catch(refuse)

  return {
    dialect: postgres,
    place,
    read: (body) => gate.enter(() => body(reading)),
    snapshot: (body) =>
      gate.enter(async () => {
        const client = await connect()
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
      gate.enter(async () => {
        for (let tries = 1; ; tries++) {
          const client = await connect()
          const tx = new Transaction(area, postgres, executorOn(client), explain)
          try {
            // Not awaited: it goes with the first statement, and fails only with it.
            const begun = client.query('BEGIN ISOLATION LEVEL READ COMMITTED').catch(refuse)
            begun.catch(() => undefined)
            const value = await body(tx)
            tx.sendRest()
            await begun
            tx.end()
            if (tx.failure) throw tx.failure.error
            context.crash(`${area}.before_commit`)
            await commit(client, tx)
            context.crash(`${area}.after_commit`)
            client.release()
            for (const hint of tx.hints) deliver(hint)
            channel.send(tx.hints)
            return value
          } catch (error) {
            tx.end()
            await rollBack(client)
            if (!isSerializationFailure(tx.failure?.error ?? error)) throw error
            if (tries === writeTries) throw tooManyConflicts(place, error)
          }
          await context.clock.sleep(jitter(context, tries))
        }
      }),
    onHint(listener) {
      listeners.add(listener)
      channel.listen()
      return () => listeners.delete(listener)
    },
    close: () =>
      gate.close(async () => {
        await channel.close()
        await pool.end()
      }),
  }

  async function commit(client: PoolConnection, tx: Transaction): Promise<void> {
    const { command } = await client.query('COMMIT').catch((error) => {
      const explained = explain(error)
      const isLost = explained instanceof HeddleError && explained.code === 'database_unreachable'
      throw isLost ? commitUnknown(place, error) : explained
    })
    // A statement that the body did not await has failed: the server answers COMMIT with ROLLBACK.
    if (command !== 'COMMIT') throw tx.failure?.error ?? new TransactionMisuse('COMMIT was answered with a rollback')
  }
}

/** A connection of the pool. It sends statements as they come, and answers them in that order. */
interface PoolConnection {
  query<Row extends pg.QueryResultRow>(config: string | pg.QueryConfig): Promise<pg.QueryResult<Row>>
  release(lost?: Error): void
}

/** Rolls back and returns the connection to the pool; a broken one is discarded. */
function rollBack(client: PoolConnection): Promise<void> {
  return client.query('ROLLBACK').then(
    () => client.release(),
    (lost) => client.release(lost),
  )
}

/** Creates a pool whose connections use our schema and parse int8 as number. */
export function connectPool({ url, poolSize = 10 }: PostgresSettings): pg.Pool {
  const pool = new pg.Pool({
    connectionString: withoutSchema(url),
    max: poolSize,
    Client: PooledClient,
    pipeline: true,
    connectionTimeoutMillis: queueTimeout,
    options: `-c search_path=${schemaOf(url)} -c idle_in_transaction_session_timeout=${idleInTransactionTimeout}`,
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        oid === int8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
    },
  })
  // A broken connection is replaced and fails the query that uses it; without listeners the error would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** Limits connecting: the pool has one limit for that and for the queue. */
class PooledClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: connectTimeout })
  }
}

/** The connection that carries hints; its name tells it from the pool's for an administrator of the server. */
function hintConnection({ url }: PostgresSettings): pg.ClientConfig {
  return {
    connectionString: withoutSchema(url),
    connectionTimeoutMillis: connectTimeout,
    application_name: `heddle hints ${schemaOf(url)}`.slice(0, 63),
  }
}

function executorOn(client: Pick<PoolConnection, 'query'>): Executor {
  const query = ({ sql, parameters, name }: PreparedQuery) =>
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

async function tablesOn(client: PoolConnection): Promise<string[]> {
  const { rows } = await client.query<{ relname: string }>(
    `SELECT relname FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> 'migrations' ORDER BY oid`,
  )
  return rows.map(({ relname }) => relname)
}

async function* pagesOn(
  client: PoolConnection,
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
    // Fails if the transaction has failed already; then there is nothing left to close.
    await client.query(`CLOSE "pages of ${table}"`).catch(() => undefined)
  }
}

function jitter({ random }: StoreContext, tries: number): number {
  return ((random.bytes(1)[0] ?? 0) / 255) * Math.min(2 ** tries, 200)
}

function tooManyConflicts(place: string, cause: unknown): HeddleError {
  return new StorageFailure(
    'database_busy',
    `this change conflicted with other writers of ${place} ${writeTries} times and was not stored`,
    'try again when the database is less busy',
    { retry: 'later', cause },
  )
}

function commitUnknown(place: string, cause: unknown): StorageFailure {
  return new StorageFailure(
    'commit_unknown',
    `the connection to ${place} was lost during COMMIT: the change is either stored whole or not at all`,
    'check whether it was stored before you repeat it',
    { cause },
  )
}
