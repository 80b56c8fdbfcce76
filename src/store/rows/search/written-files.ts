import { join } from 'node:path'
import type { Millis } from '../../../domain/clock.ts'
import { indexWords } from '../../../domain/text/words.ts'
import { type DigestedPassage, firstBatch, passageChanges } from '../../knowledge/passage-changes.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import { addIndexed, type DocumentOwner, removeWords } from './documents.ts'

const maxRemoved = 10
const maxMoved = 500
/** Size of a file that was not read whole: no real file has it. */
const unfinished = -1

/** A file that a run wrote, as it was when its passages were last compared with it. */
export interface WrittenFile {
  id: number
  path: string
  /** A session's folder above it. */
  folder: string
  size: number
  changedAt: Millis
  hash: string
}

/** Content of a file, and who wrote it. */
export interface WrittenContent extends Omit<WrittenFile, 'id' | 'path' | 'folder'> {
  passages: readonly DigestedPassage[]
  owner: DocumentOwner
  /** When it was written. */
  at: Millis
}

/** Adds a file that is about to be written, or has its passages compared with it again. */
export async function trackFile(
  tx: Tx,
  { folder, path, at }: { folder: string; path: string; at: Millis },
): Promise<void> {
  await tx.run(upsert({ path: join(folder, path), folder, size: unfinished, at }))
}

/** Files that are due to be checked, those written last first. */
export async function filesToCheck(rows: Reading, now: Millis, limit: number): Promise<WrittenFile[]> {
  return (await rows.all(due({ now, limit }))).map(writtenFile)
}

export async function writtenFilesOf(rows: Reading, ids: readonly number[]): Promise<WrittenFile[]> {
  if (ids.length === 0) return []
  return (await rows.all(rows.build.selectFrom('search_files').selectAll().where('id', 'in', ids))).map(writtenFile)
}

/** Sets when a file is checked next, with its current size and time. */
export async function scheduleCheck(
  tx: Tx,
  { id, size, changedAt }: Pick<WrittenFile, 'id' | 'size' | 'changedAt'>,
  lookAt: Millis,
): Promise<void> {
  await tx.run(
    tx.build.updateTable('search_files').set({ look_at: lookAt, size, changed_at: changedAt }).where('id', '=', id),
  )
}

/**
 * Runs one step of comparing the passages of a file with its content, and returns whether they are the same now. Each step is
 * one small transaction and continues from the rows, whichever process wrote them.
 */
export async function passageStep(tx: Tx, { id }: Pick<WrittenFile, 'id'>, content: WrittenContent): Promise<boolean> {
  const row = await tx.first(lockFile({ id }))
  if (!row || (row.hash === content.hash && row.size >= 0)) return true
  const stored = await tx.all(selectPassages({ fileId: id }))
  const { removed, moved, added } = passageChanges(
    stored.map(({ document_id, line, digest }) => ({ id: document_id, line, digest })),
    content.passages,
  )
  const texts = new Map(stored.map((passage) => [passage.document_id, passage]))
  for (const number of removed.slice(0, maxRemoved)) await removePassage(tx, number, texts.get(number))
  for (const { id, line } of moved.slice(0, maxMoved)) await tx.run(moveTo({ id, line }))
  const toInsert = firstBatch(added)
  for (const passage of toInsert) await insertPassage(tx, row, passage, content)
  const isDone = removed.length <= maxRemoved && moved.length <= maxMoved && toInsert.length === added.length
  const { size, changedAt, hash } = content
  const now = isDone ? { size, changed_at: changedAt, hash } : { size: unfinished, hash: '' }
  await tx.run(tx.build.updateTable('search_files').set(now).where('id', '=', id))
  return isDone
}

async function insertPassage(
  tx: Tx,
  file: { id: number; path: string },
  { line, heading, text, digest }: DigestedPassage,
  { owner, at }: WrittenContent,
): Promise<void> {
  const document = { ...owner, kind: 'file' as const, ref: file.path, runId: null, at }
  const id = await addIndexed(tx, document, passageWords({ heading, text }))
  await tx.run(insert({ id, fileId: file.id, line, heading, text, digest }))
}

async function removePassage(
  tx: Tx,
  id: number,
  passage: { heading: string | null; text: string } | undefined,
): Promise<void> {
  await tx.run(tx.build.deleteFrom('search_documents').where('id', '=', id))
  if (passage) await removeWords(tx, id, passageWords(passage))
  await tx.run(tx.build.deleteFrom('search_passages').where('document_id', '=', id))
}

function passageWords({ heading, text }: { heading: string | null; text: string }): Set<string> {
  return indexWords([heading ?? '', text])
}

function writtenFile(row: {
  id: number
  path: string
  folder: string
  size: number
  changed_at: number
  hash: string
}) {
  const { id, path, folder, size, hash } = row
  return { id, path, folder, size, changedAt: row.changed_at, hash }
}

const upsert = statement((db, arg: { path: string; folder: string; size: number; at: Millis }) =>
  db
    .insertInto('search_files')
    .values({ path: arg.path, folder: arg.folder, size: arg.size, changed_at: arg.at, hash: '', look_at: arg.at })
    .onConflict((known) => known.column('path').doUpdateSet({ folder: arg.folder, look_at: arg.at })),
)

const due = statement((db, arg: { now: Millis; limit: number }) =>
  db
    .selectFrom('search_files')
    .selectAll()
    .where('look_at', '<=', arg.now)
    .orderBy('look_at', 'desc')
    .orderBy('id')
    .limit(arg.limit),
)

const lockFile = statement((db, arg: { id: number }, { lockRows }) =>
  db.selectFrom('search_files').selectAll().where('id', '=', arg.id).modifyEnd(lockRows),
)

const selectPassages = statement((db, arg: { fileId: number }) =>
  db.selectFrom('search_passages').selectAll().where('file_id', '=', arg.fileId).orderBy('line').orderBy('document_id'),
)

const moveTo = statement((db, arg: { id: number; line: number }) =>
  db.updateTable('search_passages').set({ line: arg.line }).where('document_id', '=', arg.id),
)

const insert = statement((db, arg: DigestedPassage & { id: number; fileId: number }) =>
  db.insertInto('search_passages').values({
    document_id: arg.id,
    file_id: arg.fileId,
    line: arg.line,
    heading: arg.heading,
    text: arg.text,
    digest: arg.digest,
  }),
)
