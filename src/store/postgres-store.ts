import pg from 'pg'
import { HeddleError } from '../domain/errors.ts'
import { postgres } from './dialect.ts'
import { explainPostgres, wantsRetry } from './failures.ts'
import { type Prepared, prepare } from './statement.ts'
import type { Hint, Reading, Store, StoreContext } from './store.ts'
import { type Executor, Transaction } from './transaction.ts'

const writeTries = 10
const pageRows = 500
const int8 = 20

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
  const reading = readingOn(executorOn(pool), explain)

  return {
    dialect: postgres,
    place,
    read: (body) => body(reading),
    async snapshot(body) {
      const client = await pool.connect().catch((error) => Promise.reject(explain(error)))
      try {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
        return await body({
          ...readingOn(executorOn(client), explain),
          tables: () => tablesOn(client),
          pages: (table) => pagesOn(client, table),
        })
      } finally {
        await client.query('ROLLBACK').then(
          () => client.release(),
          (error) => client.release(error),
        )
      }
    },
    async write(area, body) {
      for (let tries = 1; ; tries++) {
        const client = await pool.connect().catch((error) => Promise.reject(explain(error)))
        const tx = new Transaction(area, postgres, executorOn(client), explain)
        let committing = false
        try {
          await client.query('BEGIN')
          const value = await body(tx)
          tx.end()
          if (tx.failure) throw tx.failure.error
          context.crash(`${area}.before_commit`)
          committing = true
          await client.query('COMMIT')
          context.crash(`${area}.after_commit`)
          client.release()
          for (const hint of tx.hints) for (const listener of listeners) listener(hint)
          return value
        } catch (error) {
          tx.end()
          await client.query('ROLLBACK').then(
            () => client.release(),
            (lost) => client.release(lost),
          )
          if (wantsRetry(tx.failure?.error ?? error) && tries < writeTries) {
            await context.clock.sleep(jitter(context, tries))
            continue
          }
          const explained = explain(error)
          if (committing && explained instanceof HeddleError && explained.code === 'database_unreachable')
            throw commitUnknown(place, error)
          throw explained
        }
      }
    },
    onHint(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => pool.end(),
  }
}

/** A pool whose connections see only our schema and read whole numbers as numbers. */
export function connectPool({ url, poolSize = 10 }: PostgresSettings): pg.Pool {
  const pool = new pg.Pool({
    connectionString: withoutSchema(url),
    max: poolSize,
    connectionTimeoutMillis: 10_000,
    options: `-c search_path=${schemaOf(url)}`,
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        oid === int8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
    },
  })
  // An idle connection that breaks is replaced; without a listener it would end the process.
  pool.on('error', () => undefined)
  return pool
}

/** The schema that holds our tables: `?schema=name` of the URL, else `heddle`. */
export function schemaOf(url: string): string {
  const name = new URL(url).searchParams.get('schema') ?? 'heddle'
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(name))
    throw new HeddleError('bad_schema', `"${name}" cannot be a schema's name`, 'use small letters, digits and _')
  return name
}

/** The URL as it may be printed. */
export function shownUrl(url: string): string {
  const shown = new URL(url)
  shown.password = ''
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

async function* pagesOn(client: pg.PoolClient, table: string): AsyncIterable<Record<string, unknown>[]> {
  await client.query(`DECLARE page CURSOR FOR SELECT * FROM "${table}"`)
  for (;;) {
    const { rows } = await client.query<Record<string, unknown>>(`FETCH ${pageRows} FROM page`)
    if (rows.length === 0) break
    yield rows
  }
  await client.query('CLOSE page')
}

function jitter({ random }: StoreContext, tries: number): number {
  return ((random.bytes(1)[0] ?? 0) / 255) * Math.min(2 ** tries, 200)
}

function commitUnknown(place: string, cause: unknown): HeddleError {
  return new HeddleError(
    'commit_unknown',
    `${place} went away during COMMIT: the change is either stored whole or not at all`,
    'look whether it is there before you repeat it',
    { cause },
  )
}
