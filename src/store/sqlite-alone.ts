import { rmSync } from 'node:fs'
import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { explainSqlite, sqliteBusy, sqliteCode } from './failures.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import type { StoreContext } from './store.ts'

const patience: Millis = 600_000
const pause: Millis = 20

/** Runs the body while no other process upgrades the file. A process that dies gives its turn back. */
export async function aloneOnSqlite<T>(file: string, { clock }: StoreContext, body: () => Promise<T>): Promise<T> {
  const lockFile = `${file}.upgrading`
  const started = clock.monotonic()
  let lock = holdLock(lockFile)
  for (; !lock; lock = holdLock(lockFile)) {
    if (clock.monotonic() - started > patience)
      throw new HeddleError(
        'database_busy',
        `another process is still upgrading ${file}`,
        `wait for it to finish, or find it with: lsof ${lockFile}`,
        { retry: 'later' },
      )
    await clock.sleep(pause)
  }
  try {
    return await body()
  } finally {
    rmSync(lockFile, { force: true })
    lock.close()
  }
}

/** A lock that the system gives back when its process ends, however it ends: that of a database of its own. */
function holdLock(lockFile: string): SqliteConnection | undefined {
  const connection = new SqliteConnection(lockFile)
  try {
    connection.exec('BEGIN EXCLUSIVE')
    return connection
  } catch (error) {
    connection.close()
    if (sqliteCode(error) === sqliteBusy) return undefined
    throw explainSqlite(error, lockFile)
  }
}
