import { sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { HomeFile, ReadHomeFile } from '../../domain/home-files.ts'
import type { Passage } from '../../domain/text/passage.ts'
import { wordCounts } from '../../domain/text/words.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import { type DigestedPassage, firstBatch, passageChanges } from './passage-changes.ts'

/** Work of one transaction: a few milliseconds, so that other writers do not wait long for the lock. */
const maxRemoved = 10
/** Max passages whose line number is updated in one transaction. */
const maxMoved = 500
/** Max rows of one statement. */
const maxWordRows = 300
/** Marks a partly indexed file: no real file has this size. */
const unfinished = { size: -1, hash: '' }

/** A file as it was when it was last indexed. */
export interface KnownFile extends HomeFile {
  indexedAt: Millis
}

/** A passage with its file. */
export interface FoundPassage extends Passage {
  id: number
  /** Identity of the home that has the file. */
  home: string
  path: string
  modifiedAt: Millis
}

/** Indexed files of a home in the order of their paths, starting after `after`. */
export async function knownFiles(
  rows: Reading,
  home: string,
  { after, limit }: { after: string; limit: number },
): Promise<KnownFile[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('home_files')
      .select(['path', 'size', 'modified_at', 'indexed_at'])
      .where('home', '=', home)
      .where('path', '>', storedPath(home, after))
      .orderBy('path')
      .limit(limit),
  )
  return found.map(({ path, size, modified_at, indexed_at }) => ({
    path: ownPath(home, path),
    size,
    modifiedAt: modified_at,
    indexedAt: indexed_at,
  }))
}

/** Gives files that were indexed before homes had an identity to this home; its next look corrects what is not its own. */
export async function adoptFiles(tx: Tx, home: string): Promise<void> {
  await tx.run(adopt({ home, prefix: storedPath(home, '') }))
}

/**
 * Runs one step of indexing a file and returns whether the index is complete. Keeps unchanged passages, removes old ones
 * and inserts new ones. Several processes may index the same file: each step continues from the stored state.
 */
export async function indexStep(
  tx: Tx,
  file: Omit<ReadHomeFile, 'text'> & { home: string },
  passages: readonly DigestedPassage[],
  now: Millis,
): Promise<boolean> {
  const { home, size, modifiedAt, hash } = file
  const path = storedPath(home, file.path)
  const row = await tx.first(upsertAndLock({ home, path, now, ...unfinished }))
  if (!row) throw new Error(`the row of ${path} is missing in the transaction that wrote it`)
  const stat = { size, modified_at: modifiedAt, indexed_at: now }
  if (row.hash === hash) {
    await tx.run(tx.build.updateTable('home_files').set(stat).where('id', '=', row.id))
    return true
  }
  const stored = await tx.all(selectPassages({ fileId: row.id }))
  const { removed, moved, added } = passageChanges(stored, passages)
  const toRemove = removed.slice(0, maxRemoved)
  const toInsert = firstBatch(added)
  await removePassages(tx, toRemove)
  for (const { id, line } of moved.slice(0, maxMoved)) await tx.run(moveTo({ id, line }))
  await insertPassages(tx, row.id, toInsert)
  const isDone = toRemove.length === removed.length && toInsert.length === added.length && moved.length <= maxMoved
  const count = stored.length - toRemove.length + toInsert.length
  await tx.run(
    tx.build
      .updateTable('home_files')
      .set({ ...stat, ...(isDone ? { hash } : unfinished), passages: count })
      .where('id', '=', row.id),
  )
  return isDone
}

/** Runs one step of removing a file from the index and returns whether it is gone. */
export async function dropStep(tx: Tx, { home, path }: { home: string; path: string }): Promise<boolean> {
  const row = await tx.first(lockByPath({ path: storedPath(home, path) }))
  if (!row) return true
  const stored = await tx.all(selectPassages({ fileId: row.id }))
  const toRemove = stored.slice(0, maxRemoved).map(({ id }) => id)
  await removePassages(tx, toRemove)
  if (toRemove.length === stored.length) {
    await tx.run(tx.build.deleteFrom('home_files').where('id', '=', row.id))
    return true
  }
  const remaining = { ...unfinished, passages: stored.length - toRemove.length }
  await tx.run(tx.build.updateTable('home_files').set(remaining).where('id', '=', row.id))
  return false
}

/** Number of indexed passages of a home, and of all homes. */
export async function countPassages(rows: Reading, home: string): Promise<{ own: number; all: number }> {
  const row = await rows.first(countByHome({ home }))
  return { own: Number(row?.own ?? 0), all: Number(row?.total ?? 0) }
}

/** Whether there are memories, and passages of this home, so that a question without either needs no search. */
export async function hasKnowledge(rows: Reading, home: string): Promise<{ memories: boolean; passages: boolean }> {
  const row = await rows.first(stored({ home }))
  return { memories: row?.memories === 1, passages: row?.passages === 1 }
}

/** Passages by their ids, of any home. */
export async function passagesOf(rows: Reading, ids: readonly number[]): Promise<Map<number, FoundPassage>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(
    rows.build
      .selectFrom('passages')
      .innerJoin('home_files', 'home_files.id', 'passages.file_id')
      .select(['passages.id', 'home', 'path', 'modified_at', 'line', 'heading', 'text'])
      .where('passages.id', 'in', ids),
  )
  return new Map(
    found.map(({ modified_at, path, ...passage }) => [
      passage.id,
      { ...passage, path: ownPath(passage.home, path), modifiedAt: modified_at },
    ]),
  )
}

/** The unique path of a file: that of a home with an identity begins with it. */
function storedPath(home: string, path: string): string {
  return home === '' ? path : `${home}:${path}`
}

function ownPath(home: string, stored: string): string {
  return home === '' ? stored : stored.slice(home.length + 1)
}

async function insertPassages(tx: Tx, fileId: number, passages: readonly DigestedPassage[]): Promise<void> {
  const inserted: PassageText[] = []
  for (const { line, heading, text, digest } of passages) {
    const row = await tx.first(insert({ fileId, line, heading, text, digest }))
    inserted.push({ id: Number(row?.id), heading, text })
  }
  await indexPassages(tx, inserted)
}

type PassageText = Pick<FoundPassage, 'id' | 'heading' | 'text'>

/** Stores the words that passages are found by. */
export async function indexPassages(tx: Tx, passages: readonly PassageText[]): Promise<void> {
  const words = passages.flatMap(({ id, heading, text }) =>
    [...wordCounts(`${heading ?? ''}\n${text}`)].map(([word, hits]) => ({ word, passage_id: id, hits })),
  )
  for (let at = 0; at < words.length; at += maxWordRows)
    await tx.run(tx.build.insertInto('passage_words').values(words.slice(at, at + maxWordRows)))
}

async function removePassages(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.run(tx.build.deleteFrom('passage_words').where('passage_id', 'in', ids))
  await tx.run(tx.build.deleteFrom('passages').where('id', 'in', ids))
}

/** Inserts the row of a file or locks the existing one until the transaction ends. */
const upsertAndLock = statement((db, arg: { home: string; path: string; now: Millis; size: number; hash: string }) =>
  db
    .insertInto('home_files')
    .values({
      home: arg.home,
      path: arg.path,
      size: arg.size,
      modified_at: arg.now,
      hash: arg.hash,
      passages: 0,
      indexed_at: arg.now,
    })
    .onConflict((taken) => taken.column('path').doUpdateSet({ path: arg.path }))
    .returning(['id', 'hash']),
)

const lockByPath = statement((db, arg: { path: string }, { lockRows }) =>
  db.selectFrom('home_files').select('id').where('path', '=', arg.path).modifyEnd(lockRows),
)

const selectPassages = statement((db, arg: { fileId: number }) =>
  db
    .selectFrom('passages')
    .select(['id', 'line', 'digest'])
    .where('file_id', '=', arg.fileId)
    .orderBy('line')
    .orderBy('id'),
)

const moveTo = statement((db, arg: { id: number; line: number }) =>
  db.updateTable('passages').set({ line: arg.line }).where('id', '=', arg.id),
)

const insert = statement(
  (db, arg: { fileId: number; line: number; heading: string | null; text: string; digest: string }) =>
    db
      .insertInto('passages')
      .values({ file_id: arg.fileId, line: arg.line, heading: arg.heading, text: arg.text, digest: arg.digest })
      .returning('id'),
)

const stored = statement((db, arg: { home: string }) =>
  raw<{ memories: number; passages: number }>(
    db,
    sql`SELECT CASE WHEN EXISTS (SELECT 1 FROM memories) THEN 1 ELSE 0 END AS memories,
               CASE WHEN EXISTS (SELECT 1 FROM home_files WHERE home = ${arg.home} AND passages > 0)
                    THEN 1 ELSE 0 END AS passages`,
  ),
)

const countByHome = statement((db, arg: { home: string }) =>
  raw<{ own: number | null; total: number | null }>(
    db,
    sql`SELECT sum(CASE WHEN home = ${arg.home} THEN passages ELSE 0 END) AS own, sum(passages) AS total FROM home_files`,
  ),
)

const adopt = statement((db, arg: { home: string; prefix: string }) =>
  raw<object>(
    db,
    sql`UPDATE home_files SET home = ${arg.home}, path = ${arg.prefix} || path
        WHERE home = '' AND NOT EXISTS (SELECT 1 FROM home_files AS own WHERE own.path = ${arg.prefix} || home_files.path)`,
  ),
)
