import { constants, DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { statement } from '../../src/store/statement.ts'
import type { Reading, Tx } from '../../src/store/store.ts'
import { note, notes } from '../contract/notes.ts'
import { newTestRuntime } from '../setup/places.ts'
import { readCalls } from '../setup/read-calls.ts'

const rounds = 50

async function newStore() {
  const runtime = await newTestRuntime('sqlite')
  onTestFinished(runtime.remove)
  return runtime.store
}

test('a read between transactions needs no page of the file anew', async () => {
  const store = await newStore()
  const once = async (round: number) => {
    await store.write('append', (tx) => note(tx, `note ${round}`))
    await store.read(notes)
  }
  for (let round = 0; round < 10; round++) await once(round)
  const before = readCalls()
  for (let round = 0; round < rounds; round++) await once(10 + round)
  expect(readCalls() - before).toBeLessThan(rounds)
})

test('a read cannot write, whatever its statement', async () => {
  const store = await newStore()
  const write = (rows: Reading) => note(rows as unknown as Tx, 'a')
  const withClause = (rows: Reading) =>
    rows.all({
      compile: () => ({
        sql: `WITH one AS (SELECT 'b' AS b) INSERT INTO meta (key, value) SELECT b, b FROM one RETURNING key`,
        parameters: [],
      }),
    } as never)
  const returning = (rows: Reading) =>
    rows.all(rows.build.insertInto('meta').values({ key: 'c', value: 'c' }).returning('key'))
  for (const body of [write, withClause, returning]) await expect(store.read<unknown>(body)).rejects.toThrow()
  expect(await store.read(notes)).toEqual([])
  expect(
    await store.read((rows) => rows.all(rows.build.selectFrom('meta').select('key').where('key', 'in', ['b', 'c']))),
  ).toEqual([])
})

test('a statement with a bound limit is compiled once', async () => {
  const databases = new Set<DatabaseSync>()
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...args) {
    databases.add(this)
    return prepare.apply(this, args)
  }
  onTestFinished(() => {
    DatabaseSync.prototype.prepare = prepare
  })
  const store = await newStore()
  const some = statement((db, arg: { limit: number }) => db.selectFrom('events').select('seq').limit(arg.limit))
  const read = (limit: number) => store.read((rows) => rows.all(some({ limit })))
  let compiled = 0
  const count = () => {
    compiled++
    return constants.SQLITE_OK
  }
  await read(1)
  for (const database of databases) if (database.isOpen) database.setAuthorizer(count)
  // A new authorizer expires all statements once.
  await read(2)
  compiled = 0
  await read(3)
  await read(4)
  expect(compiled).toBe(0)
})

test('a file that is up to date is opened for writing once', async () => {
  const runtime = await newTestRuntime('sqlite')
  onTestFinished(runtime.remove)
  let opened = 0
  const { exec } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql) {
    if (sql.includes('journal_mode = WAL')) opened++
    exec.call(this, sql)
  }
  onTestFinished(() => {
    DatabaseSync.prototype.exec = exec
  })
  await runtime.restart()
  expect(opened).toBe(1)
})
