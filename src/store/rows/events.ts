import type { Millis } from '../../domain/clock.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import type { Event, EventKind, NewEvent } from '../../domain/event.ts'
import type { Builder, EventOrder, Position } from '../dialect.ts'
import { statement, statementOfRows } from '../statement.ts'
import type { Reading, Store, StoreContext, Tx } from '../store.ts'
import { narratorSessions, type OwnedBy, ownSessions } from './access/own-sessions.ts'
import { metaValue, setMeta } from './meta.ts'

const pollInterval: Millis = 1000
const pageSize = 500
const floorKey = 'events_floor'

const beginning: Position = { xid: '0', seq: 0 }

/** Adds an event in the transaction of the change; followers see it after COMMIT. All of a transaction are stored together. */
export async function recordEvent(tx: Tx, event: NewEvent): Promise<void> {
  tx.sendLast(inserts, [columnsOf(event)])
  tx.hint('events')
}

function columnsOf({ at, kind, subject, payload, scope }: NewEvent): EventColumns {
  const { sessionId, rootRunId } = scope ?? { sessionId: null, rootRunId: null }
  return { at, kind, subject, payload: JSON.stringify(payload), sessionId, rootRunId }
}

/** Next events after a cursor, or those about a principal's sessions, in a stable order; without a cursor from the oldest stored one. */
export async function readEvents(
  rows: Reading,
  after?: string,
  limit = pageSize,
  { principal, withoutNarrator }: OwnedBy = {},
): Promise<Event[]> {
  const database = await metaValue(rows, 'database_id')
  const from = after === undefined ? beginning : positionOf(after, database)
  const page = from && { xid: from.xid, seq: from.seq, limit }
  const all = withoutNarrator ? sharedEvents : eventsAfter
  const found = page ? await rows.all(principal === undefined ? all(page) : ownEvents({ ...page, principal })) : []
  // Checked last: events pruned while we read must not be missed silently.
  if (!from || (after !== undefined && !(await isKnown(rows, from))))
    throw new HeddleError(
      'cursor_expired',
      'the events after this cursor are no longer kept',
      'continue without a cursor; retention.eventDays in heddle.yaml sets how long events are kept',
    )
  return found.map((row) => ({
    cursor: cursorOf({ xid: row.xid_text, seq: row.seq }, database),
    at: row.at,
    kind: row.kind,
    subject: row.subject,
    payload: {
      ...(row.session_id !== null && { sessionId: row.session_id }),
      ...(row.root_run_id !== null && { root: row.root_run_id }),
      ...JSON.parse(row.payload_json),
    },
  }))
}

/** Cursor of the newest event visible to followers. */
export async function newestCursor(rows: Reading): Promise<string | null> {
  const database = await metaValue(rows, 'database_id')
  const last = await rows.first(newest(beginning))
  return last ? cursorOf({ xid: last.xid_text, seq: last.seq }, database) : null
}

/** True for the position of a stored event and of the last pruned one: no event after it is missing. */
async function isKnown(rows: Reading, position: Position): Promise<boolean> {
  const last = await rows.first(lastUpTo({ xid: position.xid, seq: position.seq }))
  const text = formatPosition(position)
  if (last && formatPosition({ xid: last.xid_text, seq: last.seq }) === text) return true
  return (await metaValue(rows, floorKey)) === text
}

/** Follows committed events, each exactly once. Hints make it fast, polling makes it reliable. */
export async function* followEvents(
  store: Store,
  { clock }: Pick<StoreContext, 'clock'>,
  { signal, ...options }: OwnedBy & { after?: string; signal: AbortSignal },
): AsyncIterable<Event> {
  let cursor = options.after
  while (!signal.aborted) {
    const wake = new AbortController()
    const stop = store.onHint((hint) => {
      if (hint === 'events') wake.abort()
    })
    try {
      const { page, newest } = await store.read(async (rows) => ({
        // Before the page: what is committed in between is on the next one.
        newest: options.principal === undefined ? null : await newestCursor(rows),
        page: await readEvents(rows, cursor, pageSize, options),
      }))
      // Nothing of this principal up to there: the next look need not pass over the events of others again.
      if (page.length === 0 && newest !== null) cursor = newest
      for (const event of page) {
        cursor = event.cursor
        yield event
        if (signal.aborted) return
      }
      if (page.length === 0) await clock.sleep(pollInterval, AbortSignal.any([wake.signal, signal]))
    } finally {
      stop()
    }
  }
}

/** Deletes events before this time and returns how many; cursors into them expire. */
export async function pruneEvents(tx: Tx, before: Millis): Promise<number> {
  const last = await tx.first(
    tx.build
      .selectFrom('events')
      .select(['seq', tx.dialect.events.xidText.as('xid_text')])
      .where('at', '<', before)
      .orderBy(tx.dialect.events.newestFirst)
      .limit(1),
  )
  if (!last) return 0
  const position = { xid: last.xid_text, seq: last.seq }
  await setMeta(tx, floorKey, formatPosition(position))
  return tx.run(tx.build.deleteFrom('events').where(tx.dialect.events.upTo(position)))
}

interface EventColumns {
  at: number
  kind: EventKind
  subject: string
  payload: string
  sessionId: string | null
  rootRunId: string | null
}

const rowOf = (arg: EventColumns) => ({
  at: arg.at,
  kind: arg.kind,
  subject: arg.subject,
  payload_json: arg.payload,
  session_id: arg.sessionId,
  root_run_id: arg.rootRunId,
})

const inserts = statementOfRows((db, rows: EventColumns[]) => db.insertInto('events').values(rows.map(rowOf)))

const eventsAfter = statement((db, arg: Position & { limit: number }, { events }) => afterPosition(db, arg, events))

/** Events but those about the narrator's sessions. */
const sharedEvents = statement((db, arg: Position & { limit: number }, { events }) =>
  afterPosition(db, arg, events).where(({ or, eb }) =>
    or([eb('session_id', 'is', null), eb('session_id', 'not in', narratorSessions(db))]),
  ),
)

/** Events about sessions of one principal. */
const ownEvents = statement((db, arg: Position & { limit: number; principal: string }, { events }) =>
  afterPosition(db, arg, events).where('session_id', 'in', ownSessions(db, arg.principal)),
)

const afterPosition = (db: Builder, arg: Position & { limit: number }, events: EventOrder) =>
  db
    .selectFrom('events')
    .select([
      'seq',
      'at',
      'kind',
      'subject',
      'payload_json',
      'session_id',
      'root_run_id',
      events.xidText.as('xid_text'),
    ])
    .where(events.after({ xid: arg.xid, seq: arg.seq }))
    .orderBy(events.order)
    .limit(arg.limit)

// Like `eventsAfter`, leaves out events that are not older than every open transaction: the order is not final yet.
const newest = statement((db, arg: Position, { events }) =>
  db
    .selectFrom('events')
    .select(['seq', events.xidText.as('xid_text')])
    .where(events.after({ xid: arg.xid, seq: arg.seq }))
    .orderBy(events.newestFirst)
    .limit(1),
)

const lastUpTo = statement((db, arg: Position, { events }) =>
  db
    .selectFrom('events')
    .select(['seq', events.xidText.as('xid_text')])
    .where(events.upTo({ xid: arg.xid, seq: arg.seq }))
    .orderBy(events.newestFirst)
    .limit(1),
)

function cursorOf(position: Position, database: string | undefined): string {
  return Buffer.from(`${database}.${formatPosition(position)}`).toString('base64url')
}

/** Undefined for a cursor of another database: a restore invalidates old cursors. Throws for what never was a cursor. */
function positionOf(cursor: string, database: string | undefined): Position | undefined {
  const [, owner, xid = '0', seq] =
    /^([^.]+)\.(\d{1,20})\.(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (owner === undefined)
    throw new UsageError(
      'this is not the cursor of an event',
      'use the cursor of an event as it came, or none to begin with the oldest',
      'bad_cursor',
    )
  return owner === database ? { xid, seq: Number(seq) } : undefined
}

function formatPosition({ xid, seq }: Position): string {
  return `${xid}.${seq}`
}
