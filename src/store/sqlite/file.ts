import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import { databaseCorrupt, explainSqlite } from '../failures.ts'
import { SqliteConnection } from './connection.ts'

/** "HEDL" in the file header: identifies our databases. */
export const applicationId = 0x4845444c

/** Suffixes of the files that SQLite keeps beside a database. */
export const sidecarSuffixes = ['-wal', '-shm', '-journal'] as const

const magic = 'SQLite format 3\0'
const headerSize = 100
const quickCheckLimit = 64 * 1024 * 1024

/**
 * Checks a database file before anything writes to it. Throws for a damaged, truncated or foreign file, so that a start
 * never silently creates an empty database. Must not be called while this process has the file open: closing any
 * descriptor of a file drops all POSIX locks that the process holds on it, without SQLite knowing.
 */
export function inspectFile(file: string): 'missing' | 'ours' {
  if (!existsSync(file)) {
    refuseHalfRestored(file)
    if (sizeOf(`${file}-wal`) > 0)
      throw databaseCorrupt(file, `it is gone, but its log ${file}-wal is still there; put the file back beside it`)
    return 'missing'
  }
  const { size, header } = readHeader(file)
  if (size === 0) throw databaseCorrupt(file, 'it is empty, cut to 0 bytes')
  if (!isSqlite(header)) throw foreign(file, 'is not a SQLite database')
  if (header.readUInt32BE(68) !== applicationId) throw foreign(file, 'is a database of another program')
  // With a pending WAL, as after a kill, the file alone may be smaller than its header says.
  const expected = sidecarSuffixes.some((part) => sizeOf(file + part) > 0) ? 0 : expectedSize(header)
  if (size < expected) throw databaseCorrupt(file, `it is cut short, ${size} of ${expected} bytes`)
  return 'ours'
}

/** True for a SQLite database with the application id of another program. */
export function isOfAnotherProgram(file: string): boolean {
  if (!statSync(file).isFile()) return false
  const { header } = readHeader(file)
  return isSqlite(header) && header.readUInt32BE(68) !== applicationId
}

/** Checks the structure of all pages, or only the schema when the file is so large that it would delay the start. */
export function checkStructure(file: string, options: { whole?: boolean } = {}): void {
  let connection: SqliteConnection | undefined
  try {
    // A hot rollback journal must be rolled back first, which needs a writable connection.
    connection = new SqliteConnection(file, { readOnly: sizeOf(`${file}-journal`) === 0 })
    const small = sizeOf(file) + sizeOf(`${file}-wal`) <= quickCheckLimit
    const sql = small || options.whole ? 'PRAGMA quick_check(1)' : 'SELECT count(*) AS quick_check FROM sqlite_schema'
    const [row] = connection.all({ sql, parameters: [] }) as { quick_check: string | number }[]
    if (row && row.quick_check !== 'ok' && typeof row.quick_check === 'string')
      throw databaseCorrupt(file, row.quick_check.replaceAll('\n', ' '))
  } catch (error) {
    throw explainSqlite(error, file)
  } finally {
    connection?.close()
  }
}

export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Throws when a restore stopped between its two renames: creating an empty database would look like data loss. */
function refuseHalfRestored(file: string): void {
  const folder = dirname(file)
  const left = (existsSync(folder) ? readdirSync(folder) : []).map((name) => join(folder, name))
  const kept = left
    .filter((path) => path.startsWith(`${file}.before-restore-`) && !isSidecar(path))
    .sort()
    .at(-1)
  const draft = left.find((path) => path.startsWith(`${file}.restoring-`))
  if (kept === undefined && draft === undefined) return
  const back = ['', ...sidecarSuffixes].filter((part) => kept !== undefined && existsSync(kept + part))
  throw new HeddleError(
    'restore_unfinished',
    `${file} is missing, but ${kept ?? draft} is there: a restore is under way or was stopped halfway, or the file was removed`,
    `restore again: heddle restore FILE; or ${
      kept === undefined
        ? `begin with an empty database: rm ${shellWord(draft ?? '')}*`
        : `move that file elsewhere to begin with an empty database; or go on with what was there before: ${back.map((part) => `mv ${shellWord(kept + part)} ${shellWord(file + part)}`).join(' && ')}`
    }`,
  )
}

function shellWord(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}

function isSidecar(path: string): boolean {
  return sidecarSuffixes.some((part) => path.endsWith(part))
}

function readHeader(file: string): { size: number; header: Buffer } {
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    const header = Buffer.alloc(headerSize)
    const read = readSync(descriptor, header, 0, headerSize, 0)
    return { size: fstatSync(descriptor).size, header: header.subarray(0, read) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') throw foreign(file, 'is a folder, not a database')
    throw new HeddleError(
      'database_not_readable',
      `${file} cannot be read (${(error as Error).message})`,
      `give this user access to it: chmod u+rw ${file}`,
      { cause: error },
    )
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function isSqlite(header: Buffer): boolean {
  return header.length === headerSize && header.toString('latin1', 0, magic.length) === magic
}

/** Size according to the header; 0 when the header may be stale. */
function expectedSize(header: Buffer): number {
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const current = header.readUInt32BE(24) === header.readUInt32BE(92)
  return current ? header.readUInt32BE(28) * pageSize : 0
}

function foreign(file: string, what: string): HeddleError {
  return new HeddleError(
    'database_foreign',
    `${file} ${what}`,
    'nothing was changed. Move the file away, or use another home with --home; if your database was here, restore a backup: heddle restore FILE',
  )
}
