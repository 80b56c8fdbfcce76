import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import type { FileLock } from '../file-lock.ts'
import { isCode, placeFile } from './files.ts'

const timeout: Millis = 10_000
const pause: Millis = 5

/** Tail of the queue for each lock file: callers in one process run in order, without polling. */
const queues = new Map<string, Promise<unknown>>()

/** Runs the work while holding the lock, exclusive across callers and processes. A kill releases the lock. */
export async function withLock(lock: string, clock: Clock, work: () => Promise<void>): Promise<void> {
  const turn = (queues.get(lock) ?? Promise.resolve()).then(() => runLocked(lock, clock, work))
  const over = turn.catch(() => undefined)
  queues.set(lock, over)
  try {
    await turn
  } finally {
    if (queues.get(lock) === over) queues.delete(lock)
  }
}

async function runLocked(lock: string, clock: Clock, work: () => Promise<void>): Promise<void> {
  await ensureWritable(lock)
  const fileLock = await acquire(lock, clock)
  try {
    await work()
  } finally {
    fileLock.release()
  }
}

/** On a read-only file SQLite would start without any lock. */
async function ensureWritable(lock: string): Promise<void> {
  try {
    await access(lock, constants.R_OK | constants.W_OK)
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
    // Never open the lock file itself: closing it would release the POSIX lock of the whole process.
    await placeFile(lock, '')
  }
}

async function acquire(lock: string, clock: Clock): Promise<FileLock> {
  // Loaded on demand: reading the configuration does not need SQLite.
  const { waitForFileLock } = await import('../file-lock.ts')
  const fileLock = await waitForFileLock(lock, { clock, timeout, pause }).catch((error: unknown) => {
    throw unlockable(error, lock)
  })
  if (fileLock) return fileLock
  const message = `another process has been changing the configuration for ${timeout / 1000} seconds`
  const remedy = `wait for it to finish and try again, or find it with: lsof ${lock}`
  throw new HeddleError('config_busy', message, remedy, { retry: 'later' })
}

function unlockable(error: unknown, lock: string): HeddleError {
  const why = error instanceof Error ? error.message : String(error)
  const remedy = 'move that file away while no other heddle is changing the configuration, and try again'
  return new HeddleError('config_unwritable', `cannot lock ${lock}: ${why}`, remedy, { cause: error })
}
