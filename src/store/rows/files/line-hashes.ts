import { type RawBuilder, sql } from 'kysely'
import type { Builder } from '../../dialect.ts'
import { raw } from '../../raw.ts'
import { statement } from '../../statement.ts'
import type { Reading } from '../../store.ts'
import type { FileName } from './file-versions.ts'

/** A record of a file, with the hashes of lines that it adds to those of earlier records. */
export interface LineRecord extends FileName {
  before: string | null
  after: string | null
  /** Null in records from before these hashes. */
  lineHashes: string | null
}

/** Which records are read: at most `limit` of each table, and none of the file at this absolute path. */
interface RecordsRead {
  except: string
  limit: number
}

/** Records of files that were recorded from a folder, from one below it or from the root folder, the newest of each table first. */
export async function lineRecordsBelow(rows: Reading, folder: string, read: RecordsRead): Promise<LineRecord[]> {
  const range = rangeOf(folder, read)
  return [...(await rows.all(toolRecords(range))), ...(await rows.all(commandRecords(range)))]
}

/** Records of files elsewhere, among so many of the newest records of each table. */
export async function lineRecordsElsewhere(rows: Reading, folder: string, read: RecordsRead): Promise<LineRecord[]> {
  const range = rangeOf(folder, read)
  return [...(await rows.all(otherToolRecords(range))), ...(await rows.all(otherCommandRecords(range)))]
}

/** Whether any file was recorded from this folder. */
export async function hasRecords(rows: Reading, folder: string): Promise<boolean> {
  const found = (await rows.first(toolRecord({ folder }))) ?? (await rows.first(commandRecord({ folder })))
  return found !== undefined
}

type FolderRange = { root: string; folder: string; from: string; to: string } & RecordsRead

const toolRecords = statement((db, arg: FolderRange) => recordsIn(db, 'file_changes', arg))
const commandRecords = statement((db, arg: FolderRange) => recordsIn(db, 'command_changes', arg))
const otherToolRecords = statement((db, arg: FolderRange) => recordsOutside(db, 'file_changes', arg))
const otherCommandRecords = statement((db, arg: FolderRange) => recordsOutside(db, 'command_changes', arg))

function rangeOf(folder: string, read: RecordsRead): FolderRange {
  return { root: '/', folder, from: `${folder}/`, to: `${folder}0`, ...read }
}

function recordsIn(db: Builder, table: ChangesTable, range: FolderRange) {
  return recordsWhere(db, table, sql`${isInside(range)} AND ${isOther(range)} ORDER BY id DESC LIMIT ${range.limit}`)
}

function recordsOutside(db: Builder, table: ChangesTable, range: FolderRange) {
  const oldest = sql`(SELECT max(id) FROM ${sql.table(table)}) - ${range.limit}`
  return recordsWhere(db, table, sql`id > ${oldest} AND NOT ${isInside(range)} AND ${isOther(range)} ORDER BY id DESC`)
}

function isOther({ except }: RecordsRead) {
  return sql`rtrim(folder, '/') || '/' || path <> ${except}`
}

/** Folders between `from` and `to` are those below the folder: "0" follows "/". */
function isInside({ root, folder, from, to }: FolderRange) {
  return sql`(folder = ${root} OR folder = ${folder} OR (folder > ${from} AND folder < ${to}))`
}

function recordsWhere(db: Builder, table: ChangesTable, condition: RawBuilder<unknown>) {
  return raw<LineRecord>(
    db,
    sql`SELECT folder, path, before_hash AS before, after_hash AS after, line_hashes AS "lineHashes"
        FROM ${sql.table(table)} WHERE ${condition}`,
  )
}

const toolRecord = statement((db, arg: { folder: string }) => anyRecordIn(db, 'file_changes', arg.folder))
const commandRecord = statement((db, arg: { folder: string }) => anyRecordIn(db, 'command_changes', arg.folder))

function anyRecordIn(db: Builder, table: ChangesTable, folder: string) {
  return raw<{ id: number }>(db, sql`SELECT id FROM ${sql.table(table)} WHERE folder = ${folder} LIMIT 1`)
}

type ChangesTable = 'file_changes' | 'command_changes'
