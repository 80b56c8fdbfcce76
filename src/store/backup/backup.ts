import { createHash } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Clock } from '../../domain/clock.ts'
import type { CrashPoint } from '../../domain/crash-points.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { MetaKey } from '../rows/meta.ts'
import type { Snapshot, Store } from '../store.ts'
import { freePath, stamp, syncFolder } from '../sync-folder.ts'
import { type BackupHeader, type BackupRow, backupFormat, encodeRow, readBackup } from './backup-file.ts'

interface BackupOptions {
  clock: Clock
  crash(point: CrashPoint): void
  /** Version of the program, recorded in the header. */
  heddleVersion: string
  /** Replace a file that is already there. */
  overwrite?: boolean
}

/**
 * Writes a snapshot of the store into one file that can be restored into either database, without blocking writers. The
 * file gets its name only after it was read back and verified.
 */
export async function writeBackup(
  store: Store,
  file: string,
  options: BackupOptions,
): Promise<{ bytes: number; turns: number }> {
  refuseExisting(file, options)
  const draft = `${file}.writing-${process.pid}`
  try {
    rmSync(draft, { force: true })
  } catch (error) {
    throw explainWriting(error, file)
  }
  try {
    await store.snapshot((rows) =>
      pipeline(
        backupChunks(rows, options),
        createGzip(),
        createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true }),
      ),
    )
    const { bytes, rows } = await readBackup(draft)
    refuseExisting(file, options)
    options.crash('backup.before_rename')
    renameSync(draft, file)
    options.crash('backup.after_rename')
    syncFolder(dirname(file))
    return { bytes, turns: rows.get('turns') ?? 0 }
  } catch (error) {
    throw explainWriting(error, file)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Writes a verified backup before a migration and returns its path. */
export async function backupBeforeUpgrade(
  store: Store,
  folder: string,
  from: number,
  options: BackupOptions,
): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = freePath(join(folder, `heddle-schema-${from}-${stamp(options.clock.now())}`), '.backup')
  await writeBackup(store, file, options)
  return file
}

/** Content of the file, a page at a time. Tables and columns come from the database: its schema may be older than the code. */
async function* backupChunks(rows: Snapshot, { clock, heddleVersion }: BackupOptions): AsyncIterable<Buffer> {
  const hash = createHash('sha256')
  const addToHash = (text: string) => {
    const bytes = Buffer.from(text)
    hash.update(bytes)
    return bytes
  }
  const tables = await rows.tables()
  const header: BackupHeader = {
    format: backupFormat,
    schema: await schemaVersion(rows),
    heddle: heddleVersion,
    createdAt: new Date(clock.now()).toISOString(),
    tables,
  }
  yield addToHash(`${JSON.stringify(header)}\n`)
  const counts: Record<string, number> = {}
  for (const [index, table] of tables.entries()) {
    counts[table] = 0
    if (rebuiltTables.includes(table)) continue
    for await (const page of rows.pages(table)) {
      const exported = page.map((row) => exportedRow(table, row)).filter((row) => row !== undefined)
      counts[table] += exported.length
      yield addToHash(exported.map((row) => `${JSON.stringify([index, encodeRow(row)])}\n`).join(''))
      // Yield to the event loop after each page.
      await new Promise(setImmediate)
    }
  }
  yield Buffer.from(`${JSON.stringify({ rows: counts, sha256: hash.digest('hex') })}\n`)
}

/** Keys that are valid in one database only: a restored one gets its own id, and old event cursors expire. */
const databaseOnlyKeys: readonly MetaKey[] = ['database_id', 'events_floor']

/** Tables of the search index that are larger than what they are made of, and rebuilt after a restore. */
const rebuiltTables = ['search_words', 'search_passages']

function exportedRow(table: string, row: BackupRow): BackupRow | undefined {
  switch (table) {
    case 'meta':
      return databaseOnlyKeys.some((key) => key === row['key']) ? undefined : row
    case 'events': {
      const { xid: _, ...event } = row
      return event
    }
    case 'search_documents':
      return row['kind'] === 'file' ? undefined : { ...row, indexed: 0 }
    case 'search_files':
      return { ...row, size: -1, hash: '', look_at: 0 }
    default:
      return row
  }
}

async function schemaVersion(rows: Snapshot): Promise<number> {
  const row = await rows.first(rows.build.selectFrom('migrations').select(({ fn }) => fn.max('id').as('version')))
  return row?.version ?? 0
}

function refuseExisting(file: string, { overwrite = false }: BackupOptions): void {
  if (overwrite || !existsSync(file)) return
  throw new HeddleError('backup_exists', `${file} already exists`, 'choose another name, or move that file away')
}

function explainWriting(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/^(ENOSPC|EDQUOT)$/.test(code))
    return new HeddleError(
      'disk_full',
      `no space left to write ${file}; the database was not changed`,
      'free some space on that disk, or write the backup elsewhere',
      { retry: 'later', cause: error },
    )
  if (code === 'backup_damaged')
    return new HeddleError(
      'backup_failed',
      `${file} did not read back as it was written (${(error as Error).message})`,
      'check the disk (dmesg), or write the backup to another one',
      { cause: error },
    )
  if (!unwritable.test(code)) return error
  return new HeddleError(
    'backup_failed',
    `${file} cannot be written (${(error as Error).message})`,
    'choose a file in an existing, writable folder',
    { cause: error },
  )
}

const unwritable = /^(ENOENT|ENOTDIR|EISDIR|EACCES|EPERM|EROFS|ENAMETOOLONG|EIO)$/
