import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { type FileLock, waitForFileLock } from '../../file-lock.ts'
import { explainSqlite } from '../failures.ts'
import type { StoreContext } from '../store.ts'

const timeoutMs: Millis = 600_000
const pause: Millis = 20

/** Runs the body while no other process upgrades the file. The lock of a dead process is released by the system. */
export async function withUpgradeLock<T>(file: string, { clock }: StoreContext, body: () => Promise<T>): Promise<T> {
  const lockFile = `${file}.upgrading`
  let lock: FileLock | undefined
  try {
    lock = await waitForFileLock(lockFile, { clock, timeout: timeoutMs, pause })
  } catch (error) {
    throw explainSqlite(error, lockFile)
  }
  if (!lock)
    throw new HeddleError(
      'database_busy',
      `another process is still upgrading ${file}`,
      `wait for it to finish, or find it with: lsof ${lockFile}`,
      { retry: 'later' },
    )
  try {
    return await body()
  } finally {
    lock.remove()
  }
}
