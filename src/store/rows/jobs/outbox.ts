import { type Selectable, sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import type { OutboxMessage, OutboxState } from '../../../domain/jobs/outbox.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import type { Tables } from '../../tables.ts'

type OutboxRow = Selectable<Tables['outbox']>

/** A message to send; the key makes sure that what it reports is written once. */
type NewMessage = Pick<
  OutboxMessage,
  'kind' | 'to' | 'title' | 'content' | 'label' | 'principal' | 'folder' | 'jobId' | 'runId' | 'createdAt'
> & { key: string }

export async function insertMessage(tx: Tx, message: NewMessage): Promise<void> {
  await tx.run(
    tx.build.insertInto('outbox').values({
      kind: message.kind,
      target: message.to,
      title: message.title,
      content: message.content,
      integrity: message.label.integrity,
      sources_json: JSON.stringify(message.label.sources),
      principal: message.principal,
      folder: message.folder,
      job_id: message.jobId,
      run_id: message.runId,
      state: 'queued',
      attempts: 0,
      next_at: message.createdAt,
      last_error: null,
      dedupe_key: message.key,
      created_at: message.createdAt,
      sent_at: null,
    }),
  )
  tx.hint('due')
}

/** The first and the last moment at which a message is to be sent. */
export async function sendTimes(rows: Reading): Promise<{ first: Millis; last: Millis } | undefined> {
  const times = await rows.first(span({}))
  return times?.first == null ? undefined : { first: Number(times.first), last: Number(times.last) }
}

/** Messages whose time has come, and those that wait for a time after `latest`; the oldest first. */
export async function dueMessages(
  rows: Reading,
  until: { now: Millis; latest: Millis; limit: number },
): Promise<OutboxMessage[]> {
  return (await rows.all(due(until))).map(messageFrom)
}

export async function findMessage(rows: Reading, id: number): Promise<OutboxMessage | undefined> {
  const row = await rows.first(rows.build.selectFrom('outbox').selectAll().where('id', '=', id))
  return row && messageFrom(row)
}

/** Messages, newest first. */
export async function listMessages(
  rows: Reading,
  filter: { state?: OutboxState; principal?: string; limit: number },
): Promise<OutboxMessage[]> {
  let query = rows.build.selectFrom('outbox').selectAll().orderBy('id', 'desc').limit(filter.limit)
  if (filter.state !== undefined) query = query.where('state', '=', filter.state)
  if (filter.principal !== undefined) query = query.where('principal', '=', filter.principal)
  return (await rows.all(query)).map(messageFrom)
}

/** Number of messages that were given up. */
export async function countDead(rows: Reading, { principal }: { principal?: string } = {}): Promise<number> {
  let query = rows.build.selectFrom('outbox').select(sql<number>`count(*)`.as('count')).where('state', '=', 'dead')
  if (principal !== undefined) query = query.where('principal', '=', principal)
  return Number((await rows.first(query))?.count ?? 0)
}

/**
 * Takes a message to send it: until `lostAt` no other process does. False if another one was faster. The number of the
 * attempt fences off a sender that comes back too late.
 */
export async function takeMessage(tx: Tx, { id, attempts }: OutboxMessage, lostAt: Millis): Promise<boolean> {
  const taken = await tx.run(
    tx.build
      .updateTable('outbox')
      .set({ state: 'sending', attempts: attempts + 1, next_at: lostAt })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('next_at', 'is not', null),
  )
  return taken === 1
}

/** Ends an attempt: sent, or to be tried again at a moment, or given up. Does nothing if a later attempt has begun. */
export async function endAttempt(
  tx: Tx,
  { id, attempts }: Pick<OutboxMessage, 'id' | 'attempts'>,
  end:
    | { state: 'sent'; at: Millis }
    | { state: 'queued'; nextAt: Millis; error: string }
    | { state: 'dead'; error: string },
): Promise<boolean> {
  const ended = await tx.run(
    tx.build
      .updateTable('outbox')
      .set({
        state: end.state,
        next_at: end.state === 'queued' ? end.nextAt : null,
        sent_at: end.state === 'sent' ? end.at : null,
        last_error: end.state === 'sent' ? null : end.error,
      })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('state', '=', 'sending'),
  )
  // Another message may take the place of the one that has ended.
  tx.hint('due')
  return ended === 1
}

/** Queues a message again that was given up; false if it was not. */
export async function requeueMessage(tx: Tx, id: number, now: Millis): Promise<boolean> {
  const queued = await tx.run(
    tx.build
      .updateTable('outbox')
      .set({ state: 'queued', attempts: 0, next_at: now })
      .where('id', '=', id)
      .where('state', '=', 'dead'),
  )
  tx.hint('due')
  return queued === 1
}

/** Deletes messages that were sent before this time and returns how many; those that were given up stay. */
export function pruneMessages(tx: Tx, before: Millis): Promise<number> {
  return tx.run(tx.build.deleteFrom('outbox').where('state', '=', 'sent').where('sent_at', '<', before))
}

const span = statement((db, _arg: object) =>
  db
    .selectFrom('outbox')
    .select([sql<number | null>`min(next_at)`.as('first'), sql<number | null>`max(next_at)`.as('last')])
    .where('next_at', 'is not', null),
)

const due = statement((db, arg: { now: number; latest: number; limit: number }) =>
  db
    .selectFrom('outbox')
    .selectAll()
    .where('next_at', 'is not', null)
    .where(({ or, eb }) => or([eb('next_at', '<=', arg.now), eb('next_at', '>', arg.latest)]))
    .orderBy('next_at')
    .orderBy('id')
    .limit(arg.limit),
)

function messageFrom(row: OutboxRow): OutboxMessage {
  return {
    id: row.id,
    kind: row.kind,
    to: row.target,
    title: row.title,
    content: row.content,
    label: { integrity: row.integrity, sources: JSON.parse(row.sources_json) },
    principal: row.principal,
    folder: row.folder,
    jobId: row.job_id,
    runId: row.run_id,
    state: row.state,
    attempts: row.attempts,
    nextAt: row.next_at,
    lastError: row.last_error,
    createdAt: row.created_at,
    sentAt: row.sent_at,
  }
}
