import { sql } from 'kysely'
import type { Millis } from '../domain/clock.ts'
import type { HomeFile, ReadHomeFile } from '../domain/home-files.ts'
import type { Passage } from '../domain/passage.ts'
import { wordCounts } from '../domain/words.ts'
import { raw } from './raw.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'

/** What one transaction writes and removes: a few milliseconds, so that nobody waits long for the lock. */
const charactersAtOnce = 4000
const removedAtOnce = 10
/** Those that only have another line now cost little. */
const movedAtOnce = 500
/** Rows of one statement. */
const wordsAtOnce = 300
/** What a file that is only partly written is noted with: no disk tells such a size. */
const unfinished = { size: -1, hash: '' }

/** A file as it was when it was last looked into. */
export interface KnownFile extends HomeFile {
  indexedAt: Millis
}

/** A passage with what it is known by after a change. */
export interface DigestedPassage extends Passage {
  digest: string
}

/** A passage with the file it is from. */
export interface FoundPassage extends Passage {
  id: number
  path: string
  modifiedAt: Millis
}

/** Files that are known, by their paths, from the one after `after` on. */
export async function knownFiles(rows: Reading, after: string, limit: number): Promise<KnownFile[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('home_files')
      .select(['path', 'size', 'modified_at', 'indexed_at'])
      .where('path', '>', after)
      .orderBy('path')
      .limit(limit),
  )
  return found.map(({ path, size, modified_at, indexed_at }) => ({
    path,
    size,
    modifiedAt: modified_at,
    indexedAt: indexed_at,
  }))
}

/**
 * Goes a step towards rows that say what the file says, and answers whether they do: what is the same stays, what is
 * gone goes, what is new comes. Whoever else does the same, before or meanwhile, a later step goes on from there.
 */
export async function indexStep(
  tx: Tx,
  file: Omit<ReadHomeFile, 'text'>,
  passages: readonly DigestedPassage[],
  now: Millis,
): Promise<boolean> {
  const { path, size, modifiedAt, hash } = file
  const row = await tx.first(hold({ path, now, ...unfinished }))
  if (!row) throw new Error(`the row of ${path} is gone in the transaction that wrote it`)
  const seen = { size, modified_at: modifiedAt, indexed_at: now }
  if (row.hash === hash) {
    await tx.run(tx.build.updateTable('home_files').set(seen).where('id', '=', row.id))
    return true
  }
  const there = await tx.all(passagesIn({ fileId: row.id }))
  const { gone, moved, fresh } = differences(there, passages)
  const leaving = gone.slice(0, removedAtOnce)
  const coming = firstOf(fresh)
  await removePassages(tx, leaving)
  for (const { id, line } of moved.slice(0, movedAtOnce)) await tx.run(moveTo({ id, line }))
  await insertPassages(tx, row.id, coming)
  const isDone = leaving.length === gone.length && coming.length === fresh.length && moved.length <= movedAtOnce
  const count = there.length - leaving.length + coming.length
  await tx.run(
    tx.build
      .updateTable('home_files')
      .set({ ...seen, ...(isDone ? { hash } : unfinished), passages: count })
      .where('id', '=', row.id),
  )
  return isDone
}

/** Goes a step towards no rows of a file, and answers whether there are none. */
export async function dropStep(tx: Tx, path: string): Promise<boolean> {
  const row = await tx.first(locked({ path }))
  if (!row) return true
  const there = await tx.all(passagesIn({ fileId: row.id }))
  const leaving = there.slice(0, removedAtOnce).map(({ id }) => id)
  await removePassages(tx, leaving)
  if (leaving.length === there.length) {
    await tx.run(tx.build.deleteFrom('home_files').where('id', '=', row.id))
    return true
  }
  const left = { ...unfinished, passages: there.length - leaving.length }
  await tx.run(tx.build.updateTable('home_files').set(left).where('id', '=', row.id))
  return false
}

/** How many passages there are. */
export async function countPassages(rows: Reading): Promise<number> {
  return Number((await rows.first(count({})))?.count ?? 0)
}

export async function passagesOf(rows: Reading, ids: readonly number[]): Promise<Map<number, FoundPassage>> {
  if (ids.length === 0) return new Map()
  const found = await rows.all(
    rows.build
      .selectFrom('passages')
      .innerJoin('home_files', 'home_files.id', 'passages.file_id')
      .select(['passages.id', 'path', 'modified_at', 'line', 'heading', 'text'])
      .where('passages.id', 'in', ids),
  )
  return new Map(found.map(({ modified_at, ...passage }) => [passage.id, { ...passage, modifiedAt: modified_at }]))
}

interface Differences {
  gone: number[]
  moved: { id: number; line: number }[]
  fresh: DigestedPassage[]
}

/** Texts that a file has twice are told apart by their order. */
function differences(
  there: readonly { id: number; line: number; digest: string }[],
  wanted: readonly DigestedPassage[],
): Differences {
  const left = Map.groupBy(there, ({ digest }) => digest)
  const changes: Differences = { gone: [], moved: [], fresh: [] }
  for (const passage of wanted) {
    const same = left.get(passage.digest)?.shift()
    if (!same) changes.fresh.push(passage)
    else if (same.line !== passage.line) changes.moved.push({ id: same.id, line: passage.line })
  }
  changes.gone = [...left.values()].flat().map(({ id }) => id)
  return changes
}

/** As many as are written at once, and at least one. */
function firstOf(passages: readonly DigestedPassage[]): DigestedPassage[] {
  let room = charactersAtOnce
  return passages.filter(({ text }) => {
    const fits = room > 0
    room -= text.length
    return fits
  })
}

async function insertPassages(tx: Tx, fileId: number, passages: readonly DigestedPassage[]): Promise<void> {
  const words: { word: string; passage_id: number; hits: number }[] = []
  for (const { line, heading, text, digest } of passages) {
    const row = await tx.first(insert({ fileId, line, heading, text, digest }))
    const id = Number(row?.id)
    for (const [word, hits] of wordCounts(`${heading ?? ''}\n${text}`)) words.push({ word, passage_id: id, hits })
  }
  for (let at = 0; at < words.length; at += wordsAtOnce)
    await tx.run(tx.build.insertInto('passage_words').values(words.slice(at, at + wordsAtOnce)))
}

async function removePassages(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.run(tx.build.deleteFrom('passage_words').where('passage_id', 'in', ids))
  await tx.run(tx.build.deleteFrom('passages').where('id', 'in', ids))
}

/** Makes the row of a file, or holds the one that is there: whoever else wants it waits for our end. */
const hold = statement((db, arg: { path: string; now: Millis; size: number; hash: string }) =>
  db
    .insertInto('home_files')
    .values({ path: arg.path, size: arg.size, modified_at: arg.now, hash: arg.hash, passages: 0, indexed_at: arg.now })
    .onConflict((taken) => taken.column('path').doUpdateSet({ path: arg.path }))
    .returning(['id', 'hash']),
)

const locked = statement((db, arg: { path: string }, { lockRows }) =>
  db.selectFrom('home_files').select('id').where('path', '=', arg.path).modifyEnd(lockRows),
)

const passagesIn = statement((db, arg: { fileId: number }) =>
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

const count = statement((db, _: object) =>
  raw<{ count: number | null }>(db, sql`SELECT sum(passages) AS count FROM home_files`),
)
