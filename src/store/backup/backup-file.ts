import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { HeddleError } from '../../domain/errors.ts'

/**
 * A backup is gzip of JSON lines: a header, one line `[table, {column: value}]` for each row, and a trailer with the
 * number of rows and the SHA-256 of every byte before it. The same for both databases; `zcat FILE | head` shows it.
 */
export const backupFormat = 'heddle-backup/1'

const chunkSize = 256 * 1024
const newline = 0x0a

export interface BackupHeader {
  format: typeof backupFormat
  /** Schema version of the rows. */
  schema: number
  /** Version of the program that wrote it. */
  heddle: string
  createdAt: string
  /** Rows refer to their table by its index in this list. */
  tables: string[]
}

interface BackupTrailer {
  rows: Record<string, number>
  sha256: string
}

export type BackupRow = Record<string, unknown>

/** A backup that was read to its end and verified. */
export interface Backup {
  file: string
  bytes: number
  header: BackupHeader
  rows: ReadonlyMap<string, number>
}

/**
 * Reads a backup to its end and passes the rows to `onRows` in pages of one table. Damage may be detected only at the
 * end: the rows are verified once this resolves.
 */
export async function readBackup(
  file: string,
  onRows: (table: string, rows: BackupRow[]) => void | Promise<void> = () => undefined,
): Promise<Backup> {
  const reader = new BackupReader(file)
  for await (const lines of linesOf(file)) {
    for (const line of lines) reader.take(line)
    for (const { table, rows } of reader.pages.splice(0)) await onRows(table, rows)
  }
  return reader.end()
}

class BackupReader {
  readonly pages: { table: string; rows: BackupRow[] }[] = []
  readonly #file: string
  readonly #hash = createHash('sha256')
  readonly #counts = new Map<string, number>()
  #header: BackupHeader | undefined
  #trailer: BackupTrailer | undefined

  constructor(file: string) {
    this.#file = file
  }

  take(line: Buffer): void {
    if (this.#trailer) throw damagedBackupError(this.#file, 'there is data after its end')
    if (this.#header && line[0] !== bracket) {
      this.#trailer = parseTrailer(line, this.#file)
      return
    }
    this.#hash.update(line).update('\n')
    if (this.#header) this.#takeRow(line, this.#header)
    else {
      this.#header = parseHeader(line, this.#file)
      for (const table of this.#header.tables) this.#counts.set(table, 0)
    }
  }

  #takeRow(line: Buffer, { tables }: BackupHeader): void {
    const [index, row] = parseRow(line, this.#file)
    const table = tables[index]
    if (table === undefined) throw damagedBackupError(this.#file, 'a row refers to an unknown table')
    this.#counts.set(table, (this.#counts.get(table) ?? 0) + 1)
    const page = this.pages.at(-1)
    if (page?.table === table) page.rows.push(row)
    else this.pages.push({ table, rows: [row] })
  }

  end(): Backup {
    if (!this.#header) throw foreign(this.#file)
    if (!this.#trailer) throw damagedBackupError(this.#file, 'its end is missing')
    if (this.#trailer.sha256 !== this.#hash.digest('hex'))
      throw damagedBackupError(this.#file, 'its content does not match its checksum')
    for (const [table, count] of this.#counts) {
      const promised = this.#trailer.rows[table] ?? 0
      if (promised !== count) throw damagedBackupError(this.#file, `it has ${count} of ${promised} rows of ${table}`)
    }
    return { file: this.#file, bytes: statSync(this.#file).size, header: this.#header, rows: this.#counts }
  }
}

/** Encodes a row for JSON. */
export function encodeRow(row: BackupRow): BackupRow {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, encode(value)]))
}

export function damagedBackupError(file: string, reason: string, cause?: unknown): HeddleError {
  return new HeddleError(
    'backup_damaged',
    `${file} is damaged: ${reason}`,
    'use another backup; nothing was changed',
    cause === undefined ? {} : { cause },
  )
}

// JSON has neither bytes nor infinities: both are encoded as objects, which no column holds otherwise.
function encode(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
  if (typeof value === 'number' && !Number.isFinite(value)) return { number: String(value) }
  return value
}

function decode(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if ('bytes' in value) return Buffer.from(String(value.bytes), 'base64')
  return Number((value as { number: string }).number)
}

const bracket = '['.charCodeAt(0)

function parseHeader(line: Buffer, file: string): BackupHeader {
  const header = parse(line) as Partial<BackupHeader> | undefined
  if (typeof header?.format !== 'string' || !header.format.startsWith('heddle-backup/')) throw foreign(file)
  if (header.format !== backupFormat)
    throw new HeddleError(
      'backup_newer',
      `${file} was written by a newer heddle (${header.format}; this one reads ${backupFormat})`,
      `use that version to restore it${header.heddle === undefined ? '' : `: ${header.heddle}`}; nothing was changed`,
    )
  if (!Number.isSafeInteger(header.schema) || !Array.isArray(header.tables))
    throw damagedBackupError(file, 'its header is invalid')
  return header as BackupHeader
}

function parseRow(line: Buffer, file: string): [number, BackupRow] {
  const [index, row] = (parse(line) ?? []) as [number, BackupRow]
  if (typeof row !== 'object' || row === null) throw damagedBackupError(file, 'a row cannot be read')
  return [index, Object.fromEntries(Object.entries(row).map(([column, value]) => [column, decode(value)]))]
}

function parseTrailer(line: Buffer, file: string): BackupTrailer {
  const trailer = parse(line) as Partial<BackupTrailer> | undefined
  if (typeof trailer?.sha256 !== 'string' || typeof trailer.rows !== 'object')
    throw damagedBackupError(file, 'a line in it cannot be read')
  return trailer as BackupTrailer
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Complete lines of each unpacked chunk. A last line without a newline was truncated and is skipped. */
async function* linesOf(file: string): AsyncIterable<Buffer[]> {
  // Errors are thrown by the loop; the no-op callback keeps an early exit of the reader from being reported as one.
  const unpacked = pipeline(createReadStream(file), createGunzip({ chunkSize }), () => undefined)
  let partial: Buffer[] = []
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      const lines: Buffer[] = []
      let start = 0
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
        const rest = chunk.subarray(start, end)
        lines.push(partial.length === 0 ? rest : Buffer.concat([...partial, rest]))
        partial = []
        start = end + 1
      }
      if (start < chunk.length) partial.push(chunk.subarray(start))
      if (lines.length > 0) yield lines
    }
  } catch (error) {
    throw explainReading(error, file)
  }
}

function explainReading(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  const code = String(error.code)
  if (code === 'Z_DATA_ERROR' && error.message === 'incorrect header check') return foreign(file)
  if (code.startsWith('Z_')) return damagedBackupError(file, error.message, error)
  if (code === 'ENOENT')
    return new HeddleError('backup_missing', `there is no file ${file}`, 'check the path', { cause: error })
  return new HeddleError(
    'backup_unreadable',
    `${file} cannot be read (${error.message})`,
    'check the path and its permissions',
    {
      cause: error,
    },
  )
}

function foreign(file: string): HeddleError {
  return new HeddleError(
    'backup_foreign',
    `${file} is not a heddle backup`,
    'use a file that was created with: heddle backup FILE',
  )
}
