import { HeddleError } from '../domain/errors.ts'
import type { InboxItem } from '../domain/inbox.ts'
import type { Run } from '../domain/run.ts'
import { ConstraintViolated } from './failures.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'
import type { Tables } from './tables.ts'

type InboxRow = Tables['inbox']

export async function insertItem(tx: Tx, item: InboxItem, dedupeKey: string | null): Promise<void> {
  try {
    await tx.run(insert({ ...itemRow(item), dedupe_key: dedupeKey }))
  } catch (error) {
    if (dedupeKey !== null && error instanceof ConstraintViolated && error.constraint === 'unique')
      throw new HeddleError('key_taken', `"${dedupeKey}" was delivered before`, 'nothing needs to be done')
    throw error
  }
}

export async function findItem(rows: Reading, id: string): Promise<InboxItem | undefined> {
  const row = await rows.first(rows.build.selectFrom('inbox').selectAll().where('id', '=', id))
  return row && itemFrom(row)
}

/** The item that came in under this key before, so that a delivery that is repeated counts once. */
export async function itemByKey(rows: Reading, dedupeKey: string): Promise<InboxItem | undefined> {
  const row = await rows.first(rows.build.selectFrom('inbox').selectAll().where('dedupe_key', '=', dedupeKey))
  return row && itemFrom(row)
}

/** What waits for a session and no run has taken, oldest first. */
export async function waitingItems(rows: Reading, sessionId: string): Promise<InboxItem[]> {
  return (await rows.all(waiting({ sessionId }))).map(itemFrom)
}

/** What a run has taken and its turn will answer, in order. */
export async function itemsOfRun(rows: Reading, runId: string): Promise<InboxItem[]> {
  return (await rows.all(ofRun({ runId }))).map(itemFrom)
}

/** Turns of a request that its own session sees, oldest first: the first is the question's, the last is the answer. */
export async function turnsOfRequest(
  rows: Reading,
  root: Pick<Run, 'id' | 'rootRunId' | 'sessionId'>,
): Promise<string[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('inbox')
      .select('consumed_by_turn')
      .distinct()
      .where('session_id', '=', root.sessionId ?? '')
      .where('consumed_by_turn', 'is not', null)
      .where((where) => where.or([where('root_run_id', '=', root.rootRunId), where('run_id', '=', root.id)]))
      .orderBy('consumed_by_turn'),
  )
  return found.map(({ consumed_by_turn }) => consumed_by_turn as string)
}

/** What a request has still to hear. */
export async function unansweredOf(rows: Reading, rootRunId: string): Promise<string[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('inbox')
      .select('id')
      .where('root_run_id', '=', rootRunId)
      .where('wake', '=', 1)
      .where('consumed_by_turn', 'is', null),
  )
  return found.map(({ id }) => id)
}

/** Gives everything that waits for the session to the run that answers it. */
export async function bindItems(tx: Tx, sessionId: string, runId: string): Promise<number> {
  return tx.run(bind({ sessionId, runId }))
}

/** Gives one item to a run that is under way. */
export async function bindItem(tx: Tx, id: string, runId: string): Promise<void> {
  await tx.run(tx.build.updateTable('inbox').set({ run_id: runId }).where('id', '=', id))
}

export async function consumeItems(tx: Tx, runId: string, turnId: string): Promise<void> {
  await tx.run(consume({ runId, turnId }))
}

const insert = statement((db, row: InboxRow) =>
  db.insertInto('inbox').values({
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
  }),
)

const waiting = statement((db, arg: { sessionId: string }) =>
  db
    .selectFrom('inbox')
    .selectAll()
    .where('session_id', '=', arg.sessionId)
    .where('consumed_by_turn', 'is', null)
    .where('run_id', 'is', null)
    .orderBy('id'),
)

const ofRun = statement((db, arg: { runId: string }) =>
  db.selectFrom('inbox').selectAll().where('run_id', '=', arg.runId).orderBy('id'),
)

const bind = statement((db, arg: { sessionId: string; runId: string }) =>
  db
    .updateTable('inbox')
    .set({ run_id: arg.runId })
    .where('session_id', '=', arg.sessionId)
    .where('consumed_by_turn', 'is', null)
    .where('run_id', 'is', null),
)

const consume = statement((db, arg: { runId: string; turnId: string }) =>
  db.updateTable('inbox').set({ consumed_by_turn: arg.turnId }).where('run_id', '=', arg.runId),
)

function itemRow(item: InboxItem): Omit<InboxRow, 'dedupe_key'> {
  return {
    id: item.id,
    session_id: item.sessionId,
    kind: item.kind,
    payload_json: JSON.stringify({ content: item.content, parts: item.parts, wishes: item.wishes }),
    source: item.source,
    integrity: item.label.integrity,
    sources_json: JSON.stringify(item.label.sources),
    wake: item.wake ? 1 : 0,
    root_run_id: item.rootRunId,
    run_id: item.runId,
    consumed_by_turn: item.consumedByTurn,
    created_at: item.createdAt,
  }
}

function itemFrom(row: InboxRow): InboxItem {
  return {
    id: row.id,
    sessionId: row.session_id,
    kind: row.kind,
    ...JSON.parse(row.payload_json),
    source: row.source,
    label: { integrity: row.integrity, sources: JSON.parse(row.sources_json) },
    wake: row.wake === 1,
    rootRunId: row.root_run_id,
    runId: row.run_id,
    consumedByTurn: row.consumed_by_turn,
    createdAt: row.created_at,
  }
}
