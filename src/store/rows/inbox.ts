import { type Selectable, sql } from 'kysely'
import { HeddleError } from '../../domain/errors.ts'
import type { InboxItem } from '../../domain/inbox.ts'
import type { Run } from '../../domain/run.ts'
import { ConstraintViolated } from '../failures.ts'
import { statement, statementOfRows } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'

type InboxRow = Omit<Selectable<Tables['inbox']>, 'seq'>

/**
 * Inserts an item. Its session's row must be locked, so that items keep the order of arrival. Returns whether the session was
 * idle: no other item is unanswered there, and no run is under way.
 */
export async function insertItem(tx: Tx, item: InboxItem, dedupeKey: string | null): Promise<{ wasIdle: boolean }> {
  try {
    const inserted = await tx.first(insert({ ...itemRow(item), dedupe_key: dedupeKey }))
    return { wasIdle: inserted?.seq === 1 && inserted.has_run === 0 }
  } catch (error) {
    if (dedupeKey !== null && error instanceof ConstraintViolated && error.constraint === 'unique')
      throw new HeddleError('key_taken', `"${dedupeKey}" was delivered before`, 'nothing needs to be done')
    throw error
  }
}

/** Inserts the first items of new sessions. */
export function insertFirstItems(tx: Tx, items: readonly InboxItem[]): void {
  for (const query of insertFirst(items.map((item) => ({ ...itemRow(item), dedupe_key: null })))) tx.send(query)
}

export async function findItem(rows: Reading, id: string): Promise<InboxItem | undefined> {
  const row = await rows.first(byId({ id }))
  return row && itemFrom(row)
}

/** Item with this dedupe key, so that a repeated delivery counts once. */
export async function itemByKey(rows: Reading, dedupeKey: string): Promise<InboxItem | undefined> {
  const row = await rows.first(rows.build.selectFrom('inbox').selectAll().where('dedupe_key', '=', dedupeKey))
  return row && itemFrom(row)
}

/** Items of a session that no run has taken, oldest first. */
export async function waitingItems(rows: Reading, sessionId: string): Promise<InboxItem[]> {
  return (await rows.all(waiting({ sessionId }))).map(itemFrom)
}

/** Items that a run has taken and its turn will answer, in order. */
export async function itemsOfRun(rows: Reading, runId: string): Promise<InboxItem[]> {
  return (await rows.all(ofRun({ runId }))).map(itemFrom)
}

/** Whether a request has an unanswered item that wakes a session. */
export async function isUnanswered(rows: Reading, rootRunId: string): Promise<boolean> {
  return (await rows.first(unanswered({ rootRunId }))) !== undefined
}

/** Sessions with waiting items of a request that would start a run. */
export async function sessionsToWake(rows: Reading, rootRunId: string): Promise<string[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('inbox')
      .select('session_id')
      .distinct()
      .where('root_run_id', '=', rootRunId)
      .where('wake', '=', 1)
      .where('run_id', 'is', null),
  )
  return found.map(({ session_id }) => session_id)
}

/**
 * Stops waiting items of a request from starting runs; the next message delivers them. Items for which a run of the request
 * is queued already are left to it: it is cancelled with them. The sessions must be locked.
 */
export async function clearWakes(tx: Tx, rootRunId: string): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('inbox')
      .set({ wake: 0 })
      .where('root_run_id', '=', rootRunId)
      .where('run_id', 'is', null)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('runs')
              .select('runs.id')
              .whereRef('runs.session_id', '=', 'inbox.session_id')
              .where('runs.root_run_id', '=', rootRunId)
              .where('runs.state', '=', 'queued')
              .where('runs.epoch', '=', 0),
          ),
        ),
      ),
  )
}

/**
 * Assigns waiting items of the session to a run: those of its principal, up to the first item of another one that wakes the
 * session (`itemsOfPrincipal`). So a run has exactly one principal, and inputs keep their order. Returns them in that order.
 */
export async function bindItems(tx: Tx, run: Pick<Run, 'id' | 'principal'>, sessionId: string): Promise<InboxItem[]> {
  const bound = await tx.all(bind({ sessionId, runId: run.id, principal: run.principal }))
  return bound.sort((a, b) => a.seq - b.seq || (a.id < b.id ? -1 : 1)).map(itemFrom)
}

/** Returns items to the queue. */
export async function unbindItems(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.run(tx.build.updateTable('inbox').set({ run_id: null }).where('id', 'in', ids))
}

/** Assigns one item to a running run. */
export function bindItem(tx: Tx, id: string, runId: string): void {
  tx.send(bindOne({ id, runId }))
}

export async function consumeItems(tx: Tx, runId: string, turnId: string): Promise<void> {
  tx.send(consume({ runId, turnId }))
}

const columnsOf = (row: InboxRow) => ({
  id: row.id,
  session_id: row.session_id,
  kind: row.kind,
  payload_json: row.payload_json,
  source: row.source,
  integrity: row.integrity,
  sources_json: row.sources_json,
  wake: row.wake,
  dedupe_key: row.dedupe_key,
  root_run_id: row.root_run_id,
  run_id: row.run_id,
  consumed_by_turn: row.consumed_by_turn,
  created_at: row.created_at,
  result_id: row.result_id,
  outer_ref: row.outer_ref,
  principal: row.principal,
})

const insert = statement((db, row: InboxRow) =>
  db
    .insertInto('inbox')
    .values({
      ...columnsOf(row),
      seq: sql<number>`(SELECT coalesce(max(before.seq), 0) + 1 FROM inbox AS before
                      WHERE before.session_id = ${row.session_id} AND before.consumed_by_turn IS NULL)`,
    })
    .returning('seq')
    .returning(
      sql<number>`CASE WHEN EXISTS (SELECT 1 FROM runs WHERE runs.session_id = ${row.session_id}
                                    AND runs.finished_at IS NULL) THEN 1 ELSE 0 END`.as('has_run'),
    ),
)

const insertFirst = statementOfRows((db, rows: InboxRow[]) =>
  db.insertInto('inbox').values(rows.map((row) => ({ ...columnsOf(row), seq: sql.lit(1) }))),
)

const byId = statement((db, arg: { id: string }) => db.selectFrom('inbox').selectAll().where('id', '=', arg.id))

const unanswered = statement((db, arg: { rootRunId: string }) =>
  db
    .selectFrom('inbox')
    .select('id')
    .where('root_run_id', '=', arg.rootRunId)
    .where('wake', '=', sql.lit(1))
    .where('consumed_by_turn', 'is', null)
    .limit(sql.lit(1)),
)

const waiting = statement((db, arg: { sessionId: string }) =>
  db
    .selectFrom('inbox')
    .selectAll()
    .where('session_id', '=', arg.sessionId)
    .where('consumed_by_turn', 'is', null)
    .where('run_id', 'is', null)
    .orderBy('seq')
    .orderBy('id'),
)

const ofRun = statement((db, arg: { runId: string }) =>
  db.selectFrom('inbox').selectAll().where('run_id', '=', arg.runId).orderBy('seq').orderBy('id'),
)

const bindOne = statement((db, arg: { id: string; runId: string }) =>
  db.updateTable('inbox').set({ run_id: arg.runId }).where('id', '=', arg.id),
)

const bind = statement((db, arg: { sessionId: string; runId: string; principal: string }) =>
  db
    .updateTable('inbox')
    .set({ run_id: arg.runId })
    .where('session_id', '=', arg.sessionId)
    .where('consumed_by_turn', 'is', null)
    .where('run_id', 'is', null)
    .where('principal', '=', arg.principal)
    // Found once for all items, not once for each of them.
    .where(
      ({ fn, lit, selectFrom }) =>
        sql<boolean>`seq <= ${fn.coalesce(
          selectFrom('inbox as other')
            .select(({ fn }) => fn.min('other.seq').as('first'))
            .where('other.session_id', '=', arg.sessionId)
            .where('other.consumed_by_turn', 'is', null)
            .where('other.run_id', 'is', null)
            .where('other.wake', '=', lit(1))
            .where('other.principal', '<>', arg.principal),
          lit(Number.MAX_SAFE_INTEGER),
        )}`,
    )
    .returningAll(),
)

const consume = statement((db, arg: { runId: string; turnId: string }) =>
  db.updateTable('inbox').set({ consumed_by_turn: arg.turnId }).where('run_id', '=', arg.runId),
)

function itemRow(item: InboxItem): Omit<InboxRow, 'dedupe_key'> {
  return {
    id: item.id,
    session_id: item.sessionId,
    kind: item.kind,
    payload_json: JSON.stringify({
      content: item.content,
      parts: item.parts,
      wishes: item.options,
      ...(item.tells && { tells: item.tells }),
      ...(item.toolCallId !== undefined && { toolCallId: item.toolCallId }),
    }),
    source: item.source,
    integrity: item.label.integrity,
    sources_json: JSON.stringify(item.label.sources),
    wake: item.wake ? 1 : 0,
    root_run_id: item.rootRunId,
    run_id: item.runId,
    consumed_by_turn: item.consumedByTurn,
    created_at: item.createdAt,
    result_id: item.resultId ?? null,
    outer_ref: item.outerRef ?? null,
    principal: item.principal,
  }
}

function itemFrom(row: InboxRow): InboxItem {
  return {
    id: row.id,
    sessionId: row.session_id,
    kind: row.kind,
    ...payloadFrom(row.payload_json),
    source: row.source,
    label: { integrity: row.integrity, sources: JSON.parse(row.sources_json) },
    wake: row.wake === 1,
    rootRunId: row.root_run_id,
    runId: row.run_id,
    consumedByTurn: row.consumed_by_turn,
    createdAt: row.created_at,
    principal: row.principal,
    ...(row.result_id !== null && { resultId: row.result_id }),
    ...(row.outer_ref !== null && { outerRef: row.outer_ref }),
  }
}

/** Stored under the legacy key `wishes`. */
function payloadFrom(json: string): Pick<InboxItem, 'content' | 'parts' | 'options' | 'tells' | 'toolCallId'> {
  const { wishes, ...payload } = JSON.parse(json)
  return { ...payload, options: wishes }
}
