import { HeddleError, StorageFailure } from '../domain/errors.ts'

type Constraint = 'unique' | 'foreign_key' | 'check' | 'not_null'

/** A row that violates a constraint; the same for both databases. */
export class ConstraintViolated extends HeddleError {
  readonly constraint: Constraint
  constructor(constraint: Constraint, cause: Error) {
    super(`constraint_${constraint}`, cause.message, 'this is a bug: please report it with this message', { cause })
    this.constraint = constraint
  }
}

/** Violation of the rules of `Store.write`: always a bug in the caller. */
export class TransactionMisuse extends Error {
  override readonly name = 'TransactionMisuse'
}

/** True when the whole transaction should be retried (serialization failure or deadlock). */
export function isSerializationFailure(error: unknown): boolean {
  return isPgError(error) && (error.code === '40001' || error.code === '40P01')
}

/** SQLite's primary result code, or undefined for anything that did not come from SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined
  // SQLite reports a full disk as an I/O error when the WAL index cannot grow; the disk has not failed.
  return error.errcode === indexCannotGrow ? sqliteFull : error.errcode & 0xff
}

const indexCannotGrow = 4874

export const sqliteBusy = 5
export const sqliteIoError = 10
export const sqliteCorrupt = 11
const sqliteFull = 13
export const sqliteNotADatabase = 26

/** Maps a SQLite error to a Heddle error with a remedy; returns other errors unchanged. */
export function explainSqlite(error: unknown, file: string): unknown {
  const code = sqliteCode(error)
  if (code === undefined || !(error instanceof Error)) return error
  const extended = (error as Error & { errcode: number }).errcode
  const constraint = sqliteConstraints.get(extended)
  if (constraint) return new ConstraintViolated(constraint, error)
  switch (code) {
    case sqliteFull:
      return new StorageFailure(
        'disk_full',
        `no space left to write ${file}; everything acknowledged so far is safe`,
        'free some space on that disk and try again; heddle need not be restarted',
        { retry: 'later', cause: error },
      )
    case sqliteBusy:
      return new StorageFailure(
        'database_busy',
        `another process holds the write lock of ${file}`,
        `wait for it to finish, or find it with: lsof ${file}`,
        { retry: 'later', cause: error },
      )
    case sqliteCorrupt:
    case sqliteNotADatabase:
      return databaseCorrupt(file, error.message, error)
    case sqliteIoError:
      return new StorageFailure(
        'storage_failed',
        `the disk under ${file} failed (${error.message}); the last change may not be stored`,
        'check the disk (df for its space, dmesg for errors), then start heddle again: it continues from what the disk really holds',
        { cause: error },
      )
    case 8:
    case 14:
      return new StorageFailure(
        'database_not_writable',
        `${file} cannot be opened for writing (${error.message})`,
        `give this user write access to the file and its folder: chmod u+rw ${file}`,
        { cause: error },
      )
    default:
      return error
  }
}

/** Error for every kind of damage, with the way back to a backup. */
export function databaseCorrupt(file: string, reason: string, cause?: unknown): StorageFailure {
  return new StorageFailure(
    'database_corrupt',
    `${file} is damaged: ${reason}`,
    'nothing was changed. Keep the file, then go back to a backup: heddle restore FILE (see the backups folder of the home)',
    { cause },
  )
}

/** Maps a PostgreSQL or connection error to a Heddle error with a remedy. */
export function explainPostgres(error: unknown, location: string): unknown {
  if (!(error instanceof Error) || error instanceof HeddleError) return error
  if (isPgError(error)) {
    const constraint = pgConstraints.get(error.code)
    if (constraint) return new ConstraintViolated(constraint, error)
    if (error.code === '53100')
      return new StorageFailure(
        'disk_full',
        `the server of ${location} has no space left`,
        'free some space there and try again',
        {
          retry: 'later',
          cause: error,
        },
      )
    if (/^(28|3D|42501)/.test(error.code))
      return new StorageFailure(
        'database_refused',
        `${location}: ${error.message}`,
        'check user, password and name in the `database` key of heddle.yaml',
        {
          cause: error,
        },
      )
    if (error.code === '25006')
      return new StorageFailure(
        'database_not_writable',
        `${location} is read-only at the moment (${error.message})`,
        'wait until it is writable again, or set the primary server in the `database` key of heddle.yaml',
        { retry: 'later', cause: error },
      )
    if (error.code === '0A000' && error.message.includes('cached plan'))
      return new StorageFailure(
        'schema_newer',
        `a newer heddle has changed the tables of ${location} while this one was running`,
        'stop this one and start the newer version',
        { cause: error },
      )
    if (error.code === '53300') return tooManyConnections(location, error)
    if (!/^(08|57P)/.test(error.code)) return error
  } else {
    if (error.message.startsWith('timeout exceeded')) return tooManyConnections(location, error)
    if (!connectionLost.test(`${(error as NodeJS.ErrnoException).code} ${error.message}`)) return error
  }
  return new StorageFailure(
    'database_unreachable',
    // The message is empty when a host name resolves to several addresses; the code is not.
    `${location} does not answer (${error.message || (error as NodeJS.ErrnoException).code})`,
    'start PostgreSQL, or correct the `database` key of heddle.yaml',
    {
      retry: 'later',
      cause: error,
    },
  )
}

function tooManyConnections(location: string, cause: Error): StorageFailure {
  return new StorageFailure(
    'database_busy',
    `no connection to ${location} is free (${cause.message})`,
    'try again; if it persists, see pg_stat_activity for open connections, or raise max_connections of the server',
    { retry: 'later', cause },
  )
}

const connectionLost =
  /ECONN|EPIPE|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|Connection terminated|connection timeout|timeout expired|not queryable/

const sqliteConstraints = new Map<number, Constraint>([
  [2067, 'unique'],
  [1555, 'unique'],
  [2579, 'unique'],
  [787, 'foreign_key'],
  [275, 'check'],
  [1299, 'not_null'],
])

const pgConstraints = new Map<string, Constraint>([
  ['23505', 'unique'],
  ['23503', 'foreign_key'],
  ['23514', 'check'],
  ['23502', 'not_null'],
])

/** PostgreSQL codes contain a digit, which distinguishes them from EPIPE. */
function isPgError(error: unknown): error is Error & { code: string } {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(error.code)
}
