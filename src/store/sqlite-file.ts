import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { HeddleError } from '../domain/errors.ts'
import { databaseCorrupt, explainSqlite } from './failures.ts'
import { SqliteConnection } from './sqlite-connection.ts'

/** "HEDL" in the file's header: tells our databases from all others. */
export const applicationId = 0x4845444c

const magic = 'SQLite format 3\0'
const quickCheckLimit = 64 * 1024 * 1024

/**
 * Looks at a database file before anything writes to it. Answers 'missing' or 'ours'; whatever is damaged, cut short
 * or somebody else's is refused, so that no start ever turns into a silent empty database.
 */
export function inspectFile(file: string): 'missing' | 'ours' {
  if (!existsSync(file)) {
    if (sizeOf(`${file}-wal`) > 0)
      throw databaseCorrupt(file, `it is gone, but its log ${file}-wal is still there; put the file back beside it`)
    return 'missing'
  }
  const { size, header } = readHeader(file)
  if (size === 0) throw databaseCorrupt(file, 'it is empty, cut to 0 bytes')
  if (header.length < 100 || header.toString('latin1', 0, 16) !== magic)
    throw new HeddleError(
      'database_foreign',
      `${file} is not a SQLite database`,
      'move it away, or name another place with --home; nothing was changed',
    )
  if (header.readUInt32BE(68) !== applicationId)
    throw new HeddleError(
      'database_foreign',
      `${file} is a database of another program`,
      'move it away, or name another place with --home; nothing was changed',
    )
  const expected = expectedSize(header)
  if (size < expected) throw databaseCorrupt(file, `it is cut short, ${size} of ${expected} bytes`)
  return 'ours'
}

/** Reads every page's structure, or only the schema when the file is so large that it would delay the start. */
export function checkStructure(file: string, options: { whole?: boolean } = {}): void {
  let connection: SqliteConnection | undefined
  try {
    connection = new SqliteConnection(file, { readOnly: true })
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

function readHeader(file: string): { size: number; header: Buffer } {
  const descriptor = openSync(file, 'r')
  try {
    const header = Buffer.alloc(100)
    const read = readSync(descriptor, header, 0, 100, 0)
    return { size: fstatSync(descriptor).size, header: header.subarray(0, read) }
  } finally {
    closeSync(descriptor)
  }
}

/** The size the header claims, where the header itself is known to be current. */
function expectedSize(header: Buffer): number {
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const current = header.readUInt32BE(24) === header.readUInt32BE(92)
  return current ? header.readUInt32BE(28) * pageSize : 0
}
