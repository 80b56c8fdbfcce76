import { metaValue, setMeta } from './meta.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'

/** The fewest characters that name something: tails are noted down by these. */
const tailLength = 3
const wholeId = 20
const mostAlike = 5

/** What people name by a part of its id. */
type IdTable = 'turns' | 'runs'

/**
 * Ids that begin or end like this, newest first; at most a few, enough to say that it is not clear. Every id that sorts
 * before `tails_before` is found by its noted tail, later ones by looking through them: an index of tails would cost
 * each turn's commit a page, for what is asked a few times a day.
 */
export async function idsLike(rows: Reading, table: IdTable, part: string): Promise<string[]> {
  const { beginning, noted, fresh } = looks[table]
  const found = await rows.all(beginning({ from: part, to: `${part}{` }))
  if (part.length < wholeId) {
    // Asked first: what is noted down after this is seen twice, and not missed.
    const after = (await metaValue(rows, 'tails_before')) ?? ''
    found.push(...(await rows.all(noted({ tail: part.slice(-tailLength), end: `%${part}` }))))
    found.push(...(await rows.all(fresh({ after, end: `%${part}` }))))
  }
  const ids = new Set(found.map(({ id }) => id))
  return [...ids].sort().reverse().slice(0, mostAlike)
}

/** Whether something is to be noted down of what sorts before this id. */
export async function hasUnnoted(rows: Reading, before: string): Promise<boolean> {
  const from = (await metaValue(rows, 'tails_before')) ?? ''
  // The clock was ahead when these were noted down: what is made now sorts among them.
  if (from > before) return true
  const page = { from, before, limit: 1 }
  const first = (await rows.first(looks.turns.between(page))) ?? (await rows.first(looks.runs.between(page)))
  return first !== undefined
}

/**
 * Notes down the tails of ids that sort before this one, some at a time, oldest first. Whatever is made later must sort
 * behind it: whoever calls this leaves out the last day. What was noted beyond it is looked through again from then on.
 * Answers whether there is more.
 */
export async function noteTails(tx: Tx, before: string, most: number): Promise<boolean> {
  const from = (await metaValue(tx, 'tails_before')) ?? ''
  const turns = await tx.all(looks.turns.between({ from, before, limit: most }))
  const runs = await tx.all(looks.runs.between({ from, before, limit: most }))
  // Behind the last of a full page there may be more: the next page begins with it.
  const ends = [turns, runs].flatMap((page) => (page.length === most ? (page.at(-1)?.id ?? []) : []))
  const upTo = [before, ...ends].sort()[0] ?? before
  for (const { id } of [...turns, ...runs]) if (id < upTo) await tx.run(note({ tail: id.slice(-tailLength), id }))
  await setMeta(tx, 'tails_before', upTo)
  return upTo < before
}

/** What comes with an id of another time has to be noted down, too: all from there on is looked at again. */
export async function unnoteTails(tx: Tx, from: string): Promise<void> {
  await tx.run(
    tx.build.updateTable('meta').set({ value: from }).where('key', '=', 'tails_before').where('value', '>', from),
  )
}

const looks = { turns: looksInto('turns'), runs: looksInto('runs') }

function looksInto(table: IdTable) {
  // Both have an id, which is all that is looked at.
  const one = table as 'turns'
  return {
    beginning: statement((db, arg: { from: string; to: string }) =>
      db
        .selectFrom(one)
        .select('id')
        .where('id', '>=', arg.from)
        .where('id', '<', arg.to)
        .orderBy('id', 'desc')
        .limit(mostAlike),
    ),
    noted: statement((db, arg: { tail: string; end: string }) =>
      db
        .selectFrom('id_tails')
        .innerJoin(one, `${one}.id`, 'id_tails.id')
        .select('id_tails.id')
        .where('tail', '=', arg.tail)
        .where('id_tails.id', 'like', arg.end)
        .orderBy('id_tails.id', 'desc')
        .limit(mostAlike),
    ),
    fresh: statement((db, arg: { after: string; end: string }) =>
      db
        .selectFrom(one)
        .select('id')
        .where('id', '>=', arg.after)
        .where('id', 'like', arg.end)
        .orderBy('id', 'desc')
        .limit(mostAlike),
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

const note = statement((db, arg: { tail: string; id: string }) =>
  db
    .insertInto('id_tails')
    .values({ tail: arg.tail, id: arg.id })
    .onConflict((known) => known.doNothing()),
)
