import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { isCode, placeFile } from './files.ts'

const patience: Millis = 10_000
const pause: Millis = 5

/** The last in line for each lock file: callers of one process go in their order, without pauses between them. */
const lines = new Map<string, Promise<unknown>>()

/** Does the work while nobody else, here or in another process, works under this lock file. A kill frees the lock. */
export async function alone(lock: string, clock: Clock, work: () => Promise<void>): Promise<void> {
  const turn = (lines.get(lock) ?? Promise.resolve()).then(() => locked(lock, clock, work))
  const over = turn.catch(() => undefined)
  lines.set(lock, over)
  try {
    await turn
  } finally {
    if (lines.get(lock) === over) lines.delete(lock)
  }
}

async function locked(lock: string, clock: Clock, work: () => Promise<void>): Promise<void> {
  await ensureWritable(lock)
  const connection = await take(lock, clock)
  try {
    await work()
  } finally {
    connection.close()
  }
}

/** On a file that it may only read SQLite would begin without any lock. */
async function ensureWritable(lock: string): Promise<void> {
  try {
    await access(lock, constants.R_OK | constants.W_OK)
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
    // Never by opening the lock itself: closing it again would free it for a whole process that holds it.
    await placeFile(lock, '')
  }
}

async function take(lock: string, clock: Clock): Promise<DatabaseSync> {
  // Whoever only reads the configuration does not pay for loading it.
  const { DatabaseSync } = await import('node:sqlite')
  const connection = new DatabaseSync(lock, { open: false, timeout: 0 })
  try {
    connection.open()
    await begin(connection, clock)
    return connection
  } catch (error) {
    if (connection.isOpen) connection.close()
    throw lockTrouble(error, lock)
  }
}

async function begin(connection: DatabaseSync, clock: Clock): Promise<void> {
  const end = clock.monotonic() + patience
  for (;;) {
    try {
      return connection.exec('BEGIN EXCLUSIVE')
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() >= end) throw error
    }
    await clock.sleep(pause)
  }
}

function isBusy(error: unknown): boolean {
  const busy = 5
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === busy
}

function lockTrouble(error: unknown, lock: string): HeddleError {
  if (isBusy(error)) {
    const message = `Another process has been changing the configuration for ${patience / 1000} seconds.`
    const remedy = `wait for it to finish and try again, or find it with: lsof ${lock}`
    return new HeddleError('config_busy', message, remedy, { retry: 'later', cause: error })
  }
  const why = error instanceof Error ? error.message : String(error)
  const remedy = 'move that file away while no other heddle is changing the configuration, and try again'
  return new HeddleError('config_unwritable', `Cannot lock ${lock}: ${why}.`, remedy, { cause: error })
}
