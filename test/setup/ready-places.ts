import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { inject } from 'vitest'
import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { connectPool, openPostgresStore } from '../../src/store/postgres/store.ts'
import { metaValue, setDatabaseId } from '../../src/store/rows/meta.ts'
import type { Store, StoreContext } from '../../src/store/store.ts'
import { systemRandom } from '../../src/system.ts'
import { context } from './store-context.ts'

/** A place of its own, and the way to leave nothing of it behind. */
export interface OwnPlace {
  place: DatabaseLocation
  remove: () => Promise<void>
}

/** A place that is ready for rows, and the way to open a store there. */
export interface ReadyPlace extends OwnPlace {
  open: (context: StoreContext) => Promise<Store>
}

/**
 * A place with the newest schema and no rows. Each worker migrates once: SQLite files are copies of one, a schema of
 * PostgreSQL is emptied and used again, which takes a tenth of the time, and so are the connections to it.
 */
export function readyPlace(database: 'sqlite' | 'postgres'): Promise<ReadyPlace> {
  return database === 'sqlite' ? readyFile() : readySchema()
}

export function emptyFile(): OwnPlace & { place: { kind: 'sqlite' } } {
  const directory = mkdtempSync(join(inject('databaseFolder'), 'heddle-test-'))
  return {
    place: { kind: 'sqlite', file: join(directory, 'heddle.db'), durability: 'full' },
    remove: async () => rmSync(directory, { recursive: true, force: true }),
  }
}

export function emptySchema(): OwnPlace & { place: { kind: 'postgres' } } {
  const name = `${inject('schemaPrefix')}${Buffer.from(systemRandom.bytes(6)).toString('hex')}`
  const url = `${inject('postgresUrl')}?schema=${name}`
  return { place: { kind: 'postgres', url }, remove: () => onServer((server) => dropSchemas(server, name)) }
}

let template: Promise<string> | undefined

async function readyFile(): Promise<ReadyPlace> {
  template ??= migratedFile()
  const copy = emptyFile()
  cpSync(await template, copy.place.file)
  return { ...copy, open: (context) => openStore(copy.place, context) }
}

async function migratedFile(): Promise<string> {
  const file = join(mkdtempSync(join(inject('databaseFolder'), 'template-')), 'heddle.db')
  await (await openStore({ kind: 'sqlite', file, durability: 'normal' }, context)).close()
  const db = new DatabaseSync(file)
  // Each copy gets an identity of its own when it is opened.
  db.exec('DELETE FROM meta')
  db.close()
  return file
}

interface ReadySchema {
  place: DatabaseLocation & { kind: 'postgres' }
  name: string
  shape: string
  pool: pg.Pool
}

const free: ReadySchema[] = []

async function readySchema(): Promise<ReadyPlace> {
  const schema = free.pop() ?? (await migratedSchema())
  const { place, name, shape, pool } = schema
  const remove = () =>
    onServer(async (server) => {
      if (await removeRows(server, name, shape)) free.push(schema)
      else {
        await pool.end()
        await dropSchemas(server, name)
      }
    })
  return { place, remove, open: (context) => openOnPool(place, pool, context) }
}

/**
 * A store like that of `openStore`, on connections that outlive it. A new one costs the server 4 ms, and then each table
 * and each statement that it meets for the first time: together half of the server's time in engine tests.
 */
async function openOnPool(place: ReadySchema['place'], pool: pg.Pool, context: StoreContext): Promise<Store> {
  const lent = { connect: () => pool.connect(), query: pool.query.bind(pool), end: () => Promise.resolve() }
  const store = openPostgresStore(place, context, lent as pg.Pool)
  if ((await store.read((rows) => metaValue(rows, 'database_id'))) === undefined)
    await store.write('identify', (tx) => setDatabaseId(tx, Buffer.from(context.random.bytes(6)).toString('hex')))
  return store
}

async function migratedSchema(): Promise<ReadySchema> {
  const { place } = emptySchema()
  const name = new URL(place.url).searchParams.get('schema') ?? ''
  await (await openStore(place, context)).close()
  return onServer(async (server) => {
    const { rows } = await server.query('SELECT pg_temp.shape_of($1) AS shape', [name])
    const [{ shape }] = rows
    await removeRows(server, name, shape)
    return { place, name, shape, pool: connectPool(place) }
  })
}

/** The functions that empty schemas live as long as the connection on which they were made. */
const emptying = new WeakMap<pg.Client, Set<string>>()

/** Removes all but the note of which migrations were made; false, with nothing removed, if a test has changed the schema. */
async function removeRows(server: pg.Client, schema: string, shape: string): Promise<boolean> {
  const made = emptying.get(server)
  if (!made?.has(schema)) await server.query(await emptyingFunction(server, schema))
  made?.add(schema)
  const { rows } = await server.query(`SELECT pg_temp.empty_${schema}($1) AS "isEmpty"`, [shape])
  return rows[0].isEmpty
}

/**
 * A function, since the server keeps its plans: statements that are sent each time take five times as long. Foreign keys
 * are not checked, which would ask for an order, and sequences begin anew, but not by ALTER SEQUENCE, which writes a file.
 */
async function emptyingFunction(server: pg.Client, schema: string): Promise<string> {
  const { rows } = await server.query(
    `SELECT format('DELETE FROM %I.%I', schemaname, tablename) AS statement FROM pg_tables
       WHERE schemaname = $1 AND tablename <> 'migrations'
     UNION ALL
     SELECT format('PERFORM setval(%L, %s, false)', format('%I.%I', schemaname, sequencename), start_value)
       FROM pg_sequences WHERE schemaname = $1`,
    [schema],
  )
  return `CREATE FUNCTION pg_temp.empty_${schema}(shape text) RETURNS boolean LANGUAGE plpgsql
    SET session_replication_role = replica AS $$
    BEGIN
      IF shape <> pg_temp.shape_of('${schema}') THEN RETURN false; END IF;
      ${rows.map(({ statement }) => `${statement};`).join('\n')}
      RETURN true;
    END $$`
}

/**
 * What a schema and what a restore put aside of it look like: a table, view, index, column, constraint or trigger that
 * comes or goes writes a row of pg_class. NOT NULL and the default of a column do not.
 */
const shapeFunction = `CREATE FUNCTION pg_temp.shape_of(prefix text) RETURNS text LANGUAGE sql AS $$
  SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_class
    WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE starts_with(nspname, prefix))
$$`

async function dropSchemas(server: pg.Client, schema: string): Promise<void> {
  // A restore keeps the old schema under a name that begins like the new one's.
  const { rows } = await server.query('SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)', [schema])
  for (const { nspname } of rows) await server.query(`DROP SCHEMA ${nspname} CASCADE`)
}

let connection: Promise<pg.Client> | undefined

/** Each worker keeps one connection: a new one costs the server more than what it is asked. */
async function onServer<T>(act: (server: pg.Client) => Promise<T>): Promise<T> {
  connection ??= connected()
  return act(await connection)
}

async function connected(): Promise<pg.Client> {
  const server = new pg.Client(inject('postgresUrl'))
  // A test may end every connection that the server has.
  server.on('error', () => {
    connection = undefined
  })
  await server.connect()
  await server.query(shapeFunction)
  emptying.set(server, new Set())
  return server
}
