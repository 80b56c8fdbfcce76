import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import { metaValue, setMeta } from './meta.ts'

/** Min characters of an id reference; tails are indexed by this many. */
const tailLength = 3
const wholeId = 20
const maxAlike = 5

/** Tables whose ids people abbreviate. */
type IdTable = 'turns' | 'runs'

/**
 * Ids that begin or end with this part, newest first; a few are enough to report ambiguity. Ids before `tails_before` are
 * found by the tail index, later ones by a scan: indexing at creation would cost each turn's commit a page, for a lookup
 * that is needed a few times a day.
 */
export async function idsLike(rows: Reading, table: IdTable, part: string): Promise<string[]> {
  const { beginning, indexed, unindexed } = queries[table]
  const found = await rows.all(beginning({ from: part, to: `${part}{` }))
  if (part.length < wholeId) {
    // Read first: an id that is indexed after this is found twice rather than missed.
    const after = (await metaValue(rows, 'tails_before')) ?? ''
    found.push(...(await rows.all(indexed({ tail: part.slice(-tailLength), end: `%${part}` }))))
    found.push(...(await rows.all(unindexed({ after, end: `%${part}` }))))
  }
  const ids = new Set(found.map(({ id }) => id))
  return [...ids].sort().reverse().slice(0, maxAlike)
}

/** Whether ids before this one are not indexed yet. */
export async function hasUnindexedTails(rows: Reading, before: string): Promise<boolean> {
  const from = (await metaValue(rows, 'tails_before')) ?? ''
  // The clock was ahead when they were indexed: new ids sort among them.
  if (from > before) return true
  const page = { from, before, limit: 1 }
  const first = (await rows.first(queries.turns.between(page))) ?? (await rows.first(queries.runs.between(page)))
  return first !== undefined
}

/**
 * Indexes the tails of ids before this one, up to `limit` at a time, oldest first; returns whether there are more. New
 * ids must sort after `before`: the caller leaves out the last day.
 */
export async function indexTails(tx: Tx, before: string, limit: number): Promise<boolean> {
  const from = (await metaValue(tx, 'tails_before')) ?? ''
  const turns = await tx.all(queries.turns.between({ from, before, limit }))
  const runs = await tx.all(queries.runs.between({ from, before, limit }))
  // After a full page there may be more: the next page starts with its last id.
  const ends = [turns, runs].flatMap((page) => (page.length === limit ? (page.at(-1)?.id ?? []) : []))
  const upTo = [before, ...ends].sort()[0] ?? before
  for (const { id } of [...turns, ...runs]) if (id < upTo) await tx.run(insertTail({ tail: id.slice(-tailLength), id }))
  await setMeta(tx, 'tails_before', upTo)
  return upTo < before
}

/** Resets the index position, so that imported rows with older ids are indexed as well. */
export async function reindexTailsFrom(tx: Tx, from: string): Promise<void> {
  await tx.run(
    tx.build.updateTable('meta').set({ value: from }).where('key', '=', 'tails_before').where('value', '>', from),
  )
}

const queries = { turns: queriesFor('turns'), runs: queriesFor('runs') }

function queriesFor(table: IdTable) {
  // Only `id` is read, which both tables have.
  const one = table as 'turns'
  return {
    beginning: statement((db, arg: { from: string; to: string }) =>
      db
        .selectFrom(one)
        .select('id')
        .where('id', '>=', arg.from)
        .where('id', '<', arg.to)
        .orderBy('id', 'desc')
        .limit(maxAlike),
    ),
    indexed: statement((db, arg: { tail: string; end: string }) =>
      db
        .selectFrom('id_tails')
        .innerJoin(one, `${one}.id`, 'id_tails.id')
        .select('id_tails.id')
        .where('tail', '=', arg.tail)
        .where('id_tails.id', 'like', arg.end)
        .orderBy('id_tails.id', 'desc')
        .limit(maxAlike),
    ),
    unindexed: statement((db, arg: { after: string; end: string }) =>
      db
        .selectFrom(one)
        .select('id')
        .where('id', '>=', arg.after)
        .where('id', 'like', arg.end)
        .orderBy('id', 'desc')
        .limit(maxAlike),
    ),
    between: statement((db, arg: { from: string; before: string; limit: number }) =>
      db
        .selectFrom(one)
        .select('id')
        .where('id', '>=', arg.from)
        .where('id', '<', arg.before)
        .orderBy('id')
        .limit(arg.limit),
    ),
  }
}

const insertTail = statement((db, arg: { tail: string; id: string }) =>
  db
    .insertInto('id_tails')
    .values({ tail: arg.tail, id: arg.id })
    .onConflict((known) => known.doNothing()),
)
