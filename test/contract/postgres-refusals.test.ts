import { inspect } from 'node:util'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { HeddleError } from '../../src/domain/errors.ts'
import { explainPostgres } from '../../src/store/failures.ts'
import { openStore } from '../../src/store/open.ts'
import { redactedUrl } from '../../src/store/postgres/server-address.ts'
import { systemRandom } from '../../src/system.ts'
import { newPlace } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { note, raw } from './notes.ts'

const secret = 'hunter2-hunter2'
const refused = { code: 'database_refused', retry: 'never', remedy: expect.stringContaining('`database` key') }
const unreachable = {
  code: 'database_unreachable',
  retry: 'later',
  remedy: expect.stringContaining('start PostgreSQL'),
}

test('a wrong password is refused with what to check', async () => {
  const admin = await newAdmin()
  const user = await newRole(admin, `PASSWORD 'another'`)
  await demandPassword(admin, user)
  const failure = await opening({ username: user, password: secret })
  expect(failure).toMatchObject({ ...refused, message: expect.stringContaining('password authentication failed') })
})

test('an unknown user is refused with what to check', async () => {
  expect(await opening({ username: 'nobody_here', password: secret })).toMatchObject(refused)
})

test('a missing database is refused with what to check', async () => {
  const failure = await opening({ pathname: '/no_such_database', password: secret })
  expect(failure).toMatchObject({ ...refused, message: expect.stringContaining('"no_such_database" does not exist') })
})

test('a user without the right to make tables is refused with what to check', async () => {
  const user = await newRole(await newAdmin())
  const failure = await opening({ username: user, password: secret })
  expect(failure).toMatchObject({ ...refused, message: expect.stringContaining('permission denied') })
})

test.for(['127.0.0.1:1', 'localhost:1', 'no-such-host.invalid:5432'])(
  'a server that is not at %s is told so, with the reason',
  async (host) => {
    const failure = await opening({ host, password: secret })
    expect(failure).toMatchObject(unreachable)
    expect(failure.message).toMatch(/does not answer \(.*(ECONNREFUSED|ENOTFOUND|EAI_AGAIN).*\)/)
  },
)

test('a server that has no connection left is said to be busy', async () => {
  const user = await newRole(await newAdmin(), 'CONNECTION LIMIT 0')
  expect(await opening({ username: user, password: secret })).toMatchObject({ code: 'database_busy', retry: 'later' })
})

test('a server that may only be read refuses writes and says so', async () => {
  const { place, remove } = newPlace('postgres')
  const store = await openStore(place, context)
  onTestFinished(async () => {
    await store.close()
    await remove()
  })
  await store.write('append', (tx) => tx.run(raw(tx, 'SET default_transaction_read_only = on')))
  const write = store.write('append', (tx) => note(tx, 'a'))
  await expect(write).rejects.toMatchObject({ code: 'database_not_writable', retry: 'later' })
})

test('what cannot be provoked at will is explained like its kin', () => {
  const explained = (error: Error) => (explainPostgres(error, 'postgres://here/db') as HeddleError).code
  expect(explained(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))).toBe('database_unreachable')
  expect(explained(Object.assign(new Error('shutting down'), { code: '57P01' }))).toBe('database_unreachable')
  expect(explained(Object.assign(new Error('disk full'), { code: '53100' }))).toBe('disk_full')
  expect(explained(new Error('timeout exceeded when trying to connect'))).toBe('database_busy')
})

test('a name that stands for several addresses, none of which answers, is explained by its code', () => {
  const failure = Object.assign(new AggregateError([new Error('::1'), new Error('127.0.0.1')]), {
    code: 'ECONNREFUSED',
  })
  expect(explainPostgres(failure, 'postgres://here/db')).toMatchObject({
    ...unreachable,
    message: 'postgres://here/db does not answer (ECONNREFUSED)',
  })
})

test('the place that is shown has no password, wherever the address had it', () => {
  expect(redactedUrl(`postgres://me:${secret}@here/db?password=${secret}&sslmode=require`)).toBe(
    'postgres://me@here/db?sslmode=require',
  )
})

/** What opening the test server's URL with these parts replaced is refused with; no word of it gives the password away. */
async function opening(parts: Partial<Pick<URL, 'username' | 'password' | 'host' | 'pathname'>>): Promise<HeddleError> {
  const url = Object.assign(new URL(inject('postgresUrl')), parts)
  url.searchParams.set('schema', 'never_made')
  const failure = await openStore({ kind: 'postgres', url: url.toString() }, context).then(
    () => new Error('it was opened'),
    (error) => error,
  )
  expect(failure).toBeInstanceOf(HeddleError)
  expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(secret)
  return failure
}

async function newAdmin(): Promise<pg.Client> {
  const admin = new pg.Client(inject('postgresUrl'))
  await admin.connect()
  onTestFinished(() => admin.end())
  return admin
}

async function newRole(admin: pg.Client, options = ''): Promise<string> {
  const role = `r_${Buffer.from(systemRandom.bytes(8)).toString('hex')}`
  await admin.query(`CREATE ROLE ${role} LOGIN ${options}`)
  onTestFinished(async () => void (await admin.query(`DROP ROLE ${role}`)))
  return role
}

/** Puts a line for this role above all others in the server's list of who may come in, and takes it away again. */
async function demandPassword(admin: pg.Client, role: string): Promise<void> {
  const { rows } = await admin.query(
    `SELECT current_setting('hba_file') AS file, pg_read_file(current_setting('hba_file')) AS text`,
  )
  const { file, text } = rows[0]
  const replace = async (lines: string) => {
    await admin.query(`COPY (SELECT unnest(string_to_array(${pg.escapeLiteral(lines)}, E'\\n'))) TO '${file}'`)
    await admin.query('SELECT pg_reload_conf()')
  }
  await replace(`host all ${role} all scram-sha-256\nlocal all ${role} scram-sha-256\n${text}`)
  onTestFinished(() => replace(text))
  await untilRefused(role)
}

/** The server reads its list anew in its own time. */
async function untilRefused(user: string): Promise<void> {
  for (;;) {
    const client = new pg.Client(Object.assign(new URL(inject('postgresUrl')), { username: user }).toString())
    const isIn = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => undefined)
    if (!isIn) return
  }
}
