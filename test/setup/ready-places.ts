import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, inject } from 'vitest'
import { openStore, type Place } from '../../src/store/open.ts'
import { systemRandom } from '../../src/system.ts'
import { context } from './store-context.ts'

/** A place of its own, and the way to leave nothing of it behind. */
export interface OwnPlace {
  place: Place
  remove: () => Promise<void>
}

/**
 * A place with the newest schema and no rows. All migrations are made once for each file of tests: SQLite files are
 * copies of one, a schema of PostgreSQL is emptied and used again, which takes a tenth of the time.
 */
export function readyPlace(database: 'sqlite' | 'postgres'): Promise<OwnPlace> {
  return database === 'sqlite' ? readyFile() : readySchema()
}

export function emptyFile(): OwnPlace & { place: { kind: 'sqlite' } } {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-test-'))
  return {
    place: { kind: 'sqlite', file: join(directory, 'heddle.db'), durability: 'full' },
    remove: async () => rmSync(directory, { recursive: true, force: true }),
  }
}

export function emptySchema(): OwnPlace & { place: { kind: 'postgres' } } {
  const name = `t_${Buffer.from(systemRandom.bytes(8)).toString('hex')}`
  const url = `${inject('postgresUrl')}?schema=${name}`
  return { place: { kind: 'postgres', url }, remove: () => onServer((server) => dropSchemas(server, name)) }
}

let template: Promise<ReturnType<typeof emptyFile>> | undefined
const free: ReturnType<typeof emptySchema>[] = []
afterAll(async () => {
  await (await template)?.remove()
  for (const schema of free) await schema.remove()
})

async function readyFile(): Promise<OwnPlace> {
  template ??= migratedFile()
  const copy = emptyFile()
  cpSync((await template).place.file, copy.place.file)
  return copy
}

async function migratedFile(): Promise<ReturnType<typeof emptyFile>> {
  const made = emptyFile()
  await (await openStore(made.place, context)).close()
  const db = new DatabaseSync(made.place.file)
  // Each copy gets an identity of its own when it is opened.
  db.exec('DELETE FROM meta')
  db.close()
  return made
}

async function readySchema(): Promise<OwnPlace> {
  const schema = free.pop() ?? (await migratedSchema())
  const name = nameOf(schema)
  const shape = await onServer((server) => shapeOf(server, name))
  const remove = () =>
    onServer(async (server) => {
      // A test may have changed the schema itself.
      if ((await shapeOf(server, name)) !== shape) return dropSchemas(server, name)
      await removeRows(server, name)
      free.push(schema)
    })
  return { place: schema.place, remove }
}

async function migratedSchema(): Promise<ReturnType<typeof emptySchema>> {
  const made = emptySchema()
  await (await openStore(made.place, context)).close()
  await onServer((server) => removeRows(server, nameOf(made)))
  return made
}

function nameOf({ place }: ReturnType<typeof emptySchema>): string {
  return new URL(place.url).searchParams.get('schema') ?? ''
}

/** All but the note of which migrations were made; sequences begin anew. */
async function removeRows(server: pg.Client, schema: string): Promise<void> {
  const { rows } = await server.query(
    `SELECT format('DELETE FROM %I.%I', schemaname, tablename) AS statement FROM pg_tables
       WHERE schemaname = $1 AND tablename <> 'migrations'
     UNION ALL
     SELECT format('ALTER SEQUENCE %I.%I RESTART', schemaname, sequencename) FROM pg_sequences WHERE schemaname = $1`,
    [schema],
  )
  // Without the checks of foreign keys, which would ask for an order.
  const statements = ['SET LOCAL session_replication_role = replica', ...rows.map(({ statement }) => statement)]
  await server.query(`BEGIN; ${statements.join('; ')}; COMMIT`)
}

/** Tables, columns, indexes and constraints, here and in what a restore put aside. */
async function shapeOf(server: pg.Client, schema: string): Promise<string> {
  const { rows } = await server.query(
    `SELECT md5(string_agg(part, ' ' ORDER BY part)) AS shape FROM (
       SELECT format('%s.%s.%s %s %s', nspname, relname, attname, atttypid, attnotnull) AS part
         FROM pg_namespace JOIN pg_class ON relnamespace = pg_namespace.oid JOIN pg_attribute ON attrelid = pg_class.oid
         WHERE starts_with(nspname, $1) AND NOT attisdropped
       UNION ALL
       SELECT format('%s.%s', nspname, conname) FROM pg_namespace JOIN pg_constraint ON connamespace = pg_namespace.oid
         WHERE starts_with(nspname, $1)
       UNION ALL
       SELECT format('%s.%s', nspname, tgname) FROM pg_namespace JOIN pg_class ON relnamespace = pg_namespace.oid
         JOIN pg_trigger ON tgrelid = pg_class.oid WHERE starts_with(nspname, $1)
     ) AS parts`,
    [schema],
  )
  return rows[0].shape
}

async function dropSchemas(server: pg.Client, schema: string): Promise<void> {
  // A restore keeps the old schema under a name that begins like the new one's.
  const { rows } = await server.query('SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)', [schema])
  for (const { nspname } of rows) await server.query(`DROP SCHEMA ${nspname} CASCADE`)
}

async function onServer<T>(act: (server: pg.Client) => Promise<T>): Promise<T> {
  const server = new pg.Client(inject('postgresUrl'))
  await server.connect()
  return act(server).finally(() => server.end())
}
