import { accessSync, closeSync, constants, openSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Clock, Millis } from './domain/clock.ts'
import { HeddleError } from './domain/errors.ts'

/** An exclusive lock on a file. The system releases it within milliseconds of a kill. */
export interface FileLock {
  /** Releases the lock and keeps the file. */
  release(): void
  /** Releases the lock and removes the file. */
  remove(): void
}

/**
 * Locks a file, creating it if needed; undefined while any process, this one included, holds it. Node has no file locks:
 * this uses SQLite's lock on an empty database. Nothing else in this process may open the file: closing it would release
 * the lock.
 */
export function tryFileLock(file: string): FileLock | undefined {
  for (;;) {
    const lock = lockOnce(file)
    if (lock !== 'replaced') return lock
  }
}

/** Waits for the lock; undefined after the timeout. */
export async function waitForFileLock(
  file: string,
  { clock, timeout, pause }: { clock: Clock; timeout: Millis; pause: Millis },
): Promise<FileLock | undefined> {
  const end = clock.monotonic() + timeout
  for (;;) {
    const lock = tryFileLock(file)
    if (lock || clock.monotonic() >= end) return lock
    await clock.sleep(pause)
  }
}

/** Returns 'replaced' when a holder removed the file between open and lock: other processes lock the next file. */
function lockOnce(file: string): FileLock | 'replaced' | undefined {
  const exists = createIfMissing(file)
  const identity = lockIdentity(file)
  if (exists && identity === undefined) return 'replaced'
  assertWritable(file)
  const connection = new DatabaseSync(file, { open: false, timeout: 0 })
  const close = () => void (connection.isOpen && connection.close())
  try {
    connection.open()
    connection.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    close()
    if (isBusy(error)) return undefined
    // SQLite reports an I/O error when the file was removed.
    if (identity !== undefined && lockIdentity(file) !== identity) return 'replaced'
    throw error
  }
  if (identity === undefined || lockIdentity(file) !== identity) {
    close()
    return 'replaced'
  }
  return {
    release: close,
    remove() {
      rmSync(file, { force: true })
      close()
    },
  }
}

/** False when it cannot be created: SQLite's error then says why. */
function createIfMissing(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600))
    return true
  } catch (error) {
    return isCode(error, 'EEXIST')
  }
}

/** Includes the creation time, since inode numbers are reused. */
function lockIdentity(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}:${found.birthtimeNs}`
}

/** SQLite would begin without a lock on a read-only file. */
function assertWritable(file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
  } catch (cause) {
    if (!isCode(cause, 'EACCES')) return
    const remedy = `give this user access to it: chmod u+rw ${file}`
    throw new HeddleError('lock_not_writable', `${file} cannot be locked: this user has no write access`, remedy, {
      cause,
    })
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function isBusy(error: unknown): boolean {
  const busy = 5
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === busy
}
