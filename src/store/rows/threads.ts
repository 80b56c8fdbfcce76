import { sql } from 'kysely'
import type { Step } from '../../domain/run.ts'
import type { PlacedTurn, Thread, ThreadConfig, Turn } from '../../domain/turn.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import type { OwnedBy } from './access/own-sessions.ts'
import { addDocument, type DocumentOwner } from './search/documents.ts'
import { stepFrom } from './steps.ts'
import { insertTurn, type TurnContent, type TurnRow, turnFrom } from './turns.ts'

type ThreadRow = Tables['threads']
export type PlacedRow = ThreadRow & TurnRow

const pageTurns = 500

/** Position of a new turn: below `parent`, in a segment whose next depth is free. */
interface TurnPosition {
  segmentId: string
  parent: Thread | null
  config: ThreadConfig
  /** Who finds it by a search; undefined for a turn that is not searched. */
  owner: DocumentOwner | undefined
}

/** Inserts a turn into the tree. Of two writers at one position the second violates the key (segment, depth). */
export async function insertPlacedTurn(
  tx: Tx,
  { segmentId, parent, config, owner }: TurnPosition,
  turn: TurnContent,
): Promise<Thread> {
  const depth = (parent?.depth ?? 0) + 1
  const thread: Thread = {
    turnId: turn.id,
    parentTurnId: parent?.turnId ?? null,
    segmentId,
    depth,
    totalTokens: (parent?.totalTokens ?? 0) + turn.tokenCount,
    hasChildren: false,
    contextStart: turn.type === 'compaction' ? depth : (parent?.contextStart ?? 0),
    personaId: config.personaId,
    systemPromptHash: config.systemPromptHash,
    boundBy: config.boundBy,
  }
  await insertTurn(tx, turn)
  tx.send(insertThread(threadRow(thread)))
  if (parent && !parent.hasChildren) tx.send(markParent({ turnId: parent.turnId }))
  if (owner) await addDocument(tx, { ...owner, kind: 'turn', ref: turn.id, runId: turn.runId, at: turn.timestamp })
  return thread
}

export async function findThread(rows: Reading, turnId: string): Promise<Thread | undefined> {
  const row = await rows.first(threadByTurn({ turnId }))
  return row && threadFrom(row)
}

/** The thread at a session's head; undefined while it has no turn. */
export async function findHeadThread(rows: Reading, sessionId: string): Promise<Thread | undefined> {
  const row = await rows.first(threadAtHead({ sessionId }))
  return row && threadFrom(row)
}

export async function findTurn(rows: Reading, turnId: string): Promise<PlacedTurn | undefined> {
  const row = await rows.first(placedByTurn({ turnId }))
  return row && placedFrom(row)
}

/** The turn at a structured address. */
export async function turnIdAt(rows: Reading, segmentId: string, depth: number): Promise<string | undefined> {
  const row = await rows.first(
    rows.build.selectFrom('threads').select('turn_id').where('segment_id', '=', segmentId).where('depth', '=', depth),
  )
  return row?.turn_id
}

/**
 * The path that ends in this thread, oldest first, from a depth on. Costs one range scan per segment on the way,
 * whatever the depth.
 */
export async function readPath(rows: Reading, end: Thread, fromDepth = 1): Promise<PlacedTurn[]> {
  const found = await rows.all(path({ turnId: end.turnId, above: fromDepth - 1 }))
  // Sorted here: the database would carry every turn's whole content through its sorter.
  return found.map(placedFrom).sort((a, b) => a.thread.depth - b.thread.depth)
}

/** Messages of a turn, for the context of later turns. */
export interface TurnMessages
  extends Pick<Turn, 'type' | 'status' | 'queryMessages' | 'responseMessage' | 'label' | 'runId' | 'promptHash'> {
  depth: number
  /** Whether its run may have called tools: then its steps belong to the context as well. */
  hasCalls: boolean
}

/** Messages of the turns on a path, for the model's context: half the cost of reading whole turns. */
export async function readMessagesOnPath(rows: Reading, end: Thread, fromDepth: number): Promise<TurnMessages[]> {
  const found = await rows.all(messagesOnPath({ turnId: end.turnId, above: fromDepth - 1 }))
  return found.map(messagesFrom).sort((a, b) => a.depth - b.depth)
}

/** Steps of the runs on a path that called tools, by run. */
export async function readStepsOnPath(rows: Reading, end: Thread, fromDepth: number): Promise<Map<string, Step[]>> {
  const found = await rows.all(steps({ turnId: end.turnId, above: fromDepth - 1 }))
  const inOrder = found.map(stepFrom).sort((a, b) => a.seq - b.seq)
  return Map.groupBy(inOrder, ({ runId }) => runId)
}

/** The turn at this depth of the path that ends in this thread. */
export async function turnOnPath(rows: Reading, end: Thread, depth: number): Promise<PlacedTurn | undefined> {
  const row = await rows.first(onPathAt({ turnId: end.turnId, depth, above: depth - 1 }))
  return row && placedFrom(row)
}

/** Stored size of the messages and steps of a path, from a depth on. */
export async function bytesOnPath(rows: Reading, end: Thread, fromDepth: number): Promise<number> {
  return Number((await rows.first(weight({ turnId: end.turnId, above: fromDepth - 1 })))?.bytes ?? 0)
}

/** The same path without the turns' content. */
export async function readThreads(rows: Reading, end: Thread, fromDepth = 1): Promise<Thread[]> {
  return (await rows.all(threadsOnPath({ turnId: end.turnId, above: fromDepth - 1 }))).map(threadFrom)
}

/** All turns, a page at a time, parents before children: segment by segment, each from its first depth. */
export async function* readAllTurns(rows: Reading, filter: OwnedBy = {}): AsyncIterable<PlacedTurn[]> {
  for (const segmentId of await segmentsInOrder(rows, filter)) {
    for (let afterDepth = 0; ; ) {
      const page = (await rows.all(turnsOfSegment({ segmentId, afterDepth, limit: pageTurns }))).map(placedFrom)
      if (page.length > 0) yield page
      if (page.length < pageTurns) break
      afterDepth = page.at(-1)?.thread.depth ?? afterDepth
    }
  }
}

/** Leaf threads of the tree, or those that a principal's sessions wrote. One lookup per segment. */
export async function readTips(rows: Reading, { principal, withoutNarrator }: OwnedBy = {}): Promise<Thread[]> {
  const all = withoutNarrator
    ? sql`AND segments.id NOT IN (SELECT segment_id FROM sessions WHERE kind = 'narrator')`
    : sql``
  const own =
    principal === undefined
      ? all
      : sql`AND segments.id IN (SELECT segment_id FROM sessions WHERE principal_id = ${principal})`
  const found = await rows.all(
    raw<ThreadRow>(
      rows.build,
      sql`SELECT threads.* FROM segments CROSS JOIN threads
          WHERE threads.segment_id = segments.id
            AND threads.depth = (SELECT max(depth) FROM threads WHERE segment_id = segments.id)
            AND threads.has_children = 0 ${own}
          ORDER BY threads.turn_id`,
    ),
  )
  return found.map(threadFrom)
}

const insertThread = statement((db, row: ThreadRow) =>
  db.insertInto('threads').values({
    segment_id: row.segment_id,
    depth: row.depth,
    turn_id: row.turn_id,
    parent_turn_id: row.parent_turn_id,
    total_tokens: row.total_tokens,
    has_children: row.has_children,
    context_start: row.context_start,
    persona_id: row.persona_id,
    system_prompt_hash: row.system_prompt_hash,
    bound_by_json: row.bound_by_json,
  }),
)

const markParent = statement((db, arg: { turnId: string }) =>
  db.updateTable('threads').set({ has_children: 1 }).where('turn_id', '=', arg.turnId),
)

const threadByTurn = statement((db, arg: { turnId: string }) =>
  db.selectFrom('threads').selectAll().where('turn_id', '=', arg.turnId),
)

const threadAtHead = statement((db, arg: { sessionId: string }) =>
  db
    .selectFrom('sessions')
    .innerJoin('threads', 'threads.turn_id', 'sessions.head_turn_id')
    .selectAll('threads')
    .where('sessions.id', '=', arg.sessionId),
)

const placedByTurn = statement((db, arg: { turnId: string }) =>
  db
    .selectFrom('threads')
    .innerJoin('turns', 'turns.id', 'threads.turn_id')
    .selectAll()
    .where('threads.turn_id', '=', arg.turnId),
)

const turnsOfSegment = statement((db, arg: { segmentId: string; afterDepth: number; limit: number }) =>
  db
    .selectFrom('threads')
    .innerJoin('turns', 'turns.id', 'threads.turn_id')
    .selectAll()
    .where('segment_id', '=', arg.segmentId)
    .where('depth', '>', arg.afterDepth)
    .orderBy('depth')
    .limit(arg.limit),
)

/** Ids of all segments, parents before children. */
async function segmentsInOrder(rows: Reading, { principal, withoutNarrator }: OwnedBy): Promise<string[]> {
  if (principal !== undefined) return segmentsOf(rows, principal)
  const all = rows.build.selectFrom('segments').select(['id', 'parent_id']).orderBy('id')
  const narrators = rows.build.selectFrom('sessions').select('segment_id').where('kind', '=', 'narrator')
  const found = await rows.all(withoutNarrator ? all.where('id', 'not in', narrators) : all)
  const children = Map.groupBy(found, ({ parent_id }) => parent_id)
  const order: string[] = []
  for (
    let level = children.get(null) ?? [];
    level.length > 0;
    level = level.flatMap(({ id }) => children.get(id) ?? [])
  )
    order.push(...level.map(({ id }) => id))
  return order
}

/** Segments that a principal's sessions write: what they forked from is another's, or in another of their segments. */
async function segmentsOf(rows: Reading, principal: string): Promise<string[]> {
  const sessions = rows.build.selectFrom('sessions').select('segment_id').where('principal_id', '=', principal)
  return (await rows.all(sessions.orderBy('segment_id'))).map(({ segment_id }) => segment_id)
}

// From the end's segment to the root's: which depths of each segment lie on the path. `low` itself belongs to the parent.
export const lineage = (turnId: string, above: number) => sql`
  WITH RECURSIVE line (segment_id, low, high) AS (
    SELECT segments.id, segments.fork_depth, threads.depth
    FROM threads JOIN segments ON segments.id = threads.segment_id
    WHERE threads.turn_id = ${turnId}
    UNION ALL
    SELECT parent.id, parent.fork_depth, line.low
    FROM line
    JOIN segments AS child ON child.id = line.segment_id
    JOIN segments AS parent ON parent.id = child.parent_id
    WHERE line.low > ${above}
  )`

// A single lower bound: of two, SQLite would use only the first.
export const onPath = (above: number) => sql`
  threads.segment_id = line.segment_id
  AND threads.depth > CASE WHEN line.low > ${above} THEN line.low ELSE ${above} END
  AND threads.depth <= line.high`

// CROSS JOIN fixes the order: SQLite might otherwise start with a scan of all threads.
const path = statement((db, arg: { turnId: string; above: number }) =>
  raw<PlacedRow>(
    db,
    sql`${lineage(arg.turnId, arg.above)}
        SELECT threads.*, turns.* FROM line CROSS JOIN threads CROSS JOIN turns
        WHERE ${onPath(arg.above)} AND turns.id = threads.turn_id`,
  ),
)

const threadsOnPath = statement((db, arg: { turnId: string; above: number }) =>
  raw<ThreadRow>(
    db,
    sql`${lineage(arg.turnId, arg.above)}
        SELECT threads.* FROM line CROSS JOIN threads WHERE ${onPath(arg.above)} ORDER BY threads.depth`,
  ),
)

type MessagesRow = Pick<
  PlacedRow,
  'depth' | 'type' | 'status' | 'integrity' | 'sources_json' | 'run_id' | 'prompt_hash'
> & {
  query: string
  response: string
  has_calls: number
}

// A turn that did not complete may have requested calls that were never made.
const calledTools = sql`turns.type = 'normal' AND (turns.tool_calls_json <> '[]' OR turns.status <> 'completed')`

const messagesOnPath = statement((db, arg: { turnId: string; above: number }) =>
  raw<MessagesRow>(
    db,
    sql`${lineage(arg.turnId, arg.above)}
        SELECT threads.depth, turns.type, turns.status, turns.integrity, turns.sources_json, turns.run_id,
               turns.prompt_hash,
               turns.query_messages_json AS query, turns.response_message_json AS response,
               CASE WHEN ${calledTools} THEN 1 ELSE 0 END AS has_calls
        FROM line CROSS JOIN threads CROSS JOIN turns
        WHERE ${onPath(arg.above)} AND turns.id = threads.turn_id`,
  ),
)

const steps = statement((db, arg: { turnId: string; above: number }) =>
  raw<Tables['steps']>(
    db,
    sql`${lineage(arg.turnId, arg.above)}
        SELECT steps.* FROM line CROSS JOIN threads CROSS JOIN turns CROSS JOIN steps
        WHERE ${onPath(arg.above)} AND turns.id = threads.turn_id AND ${calledTools} AND steps.run_id = turns.run_id`,
  ),
)

const onPathAt = statement((db, arg: { turnId: string; depth: number; above: number }) =>
  raw<PlacedRow>(
    db,
    sql`${lineage(arg.turnId, arg.above)}
        SELECT threads.*, turns.* FROM line CROSS JOIN threads CROSS JOIN turns
        WHERE threads.segment_id = line.segment_id AND threads.depth = ${arg.depth}
          AND line.low < ${arg.depth} AND line.high >= ${arg.depth} AND turns.id = threads.turn_id`,
  ),
)

const weight = statement((db, arg: { turnId: string; above: number }) =>
  raw<{ bytes: number }>(
    db,
    sql`${lineage(arg.turnId, arg.above)}
        SELECT sum(octet_length(turns.query_messages_json) + octet_length(turns.response_message_json)
                   + CASE WHEN ${calledTools} THEN coalesce((
                       SELECT sum(octet_length(payload_json)) FROM steps WHERE steps.run_id = turns.run_id
                         AND steps.kind <> 'begun'), 0) ELSE 0 END) AS bytes
        FROM line CROSS JOIN threads CROSS JOIN turns
        WHERE ${onPath(arg.above)} AND turns.id = threads.turn_id`,
  ),
)

function messagesFrom({
  depth,
  type,
  status,
  query,
  response,
  integrity,
  sources_json,
  run_id,
  prompt_hash,
  has_calls,
}: MessagesRow): TurnMessages {
  return {
    depth,
    type,
    status,
    runId: run_id,
    promptHash: prompt_hash,
    hasCalls: has_calls === 1,
    queryMessages: JSON.parse(query),
    responseMessage: JSON.parse(response),
    label: { integrity, sources: sources_json === '[]' ? [] : JSON.parse(sources_json) },
  }
}

type ConfigRow = Pick<ThreadRow, 'persona_id' | 'system_prompt_hash' | 'bound_by_json'>

/** Columns of a thread's configuration, in the rows of sessions and threads. */
export function configRow({ personaId, systemPromptHash, boundBy }: ThreadConfig): ConfigRow {
  return {
    persona_id: personaId,
    system_prompt_hash: systemPromptHash,
    bound_by_json: boundBy.length === 0 ? null : JSON.stringify(boundBy),
  }
}

export function configFrom(row: ConfigRow): ThreadConfig {
  return {
    personaId: row.persona_id,
    systemPromptHash: row.system_prompt_hash,
    boundBy: row.bound_by_json === null ? [] : JSON.parse(row.bound_by_json),
  }
}

function threadRow(thread: Thread): ThreadRow {
  return {
    segment_id: thread.segmentId,
    depth: thread.depth,
    turn_id: thread.turnId,
    parent_turn_id: thread.parentTurnId,
    total_tokens: thread.totalTokens,
    has_children: thread.hasChildren ? 1 : 0,
    context_start: thread.contextStart,
    ...configRow(thread),
  }
}

function threadFrom(row: ThreadRow): Thread {
  return {
    turnId: row.turn_id,
    parentTurnId: row.parent_turn_id,
    segmentId: row.segment_id,
    depth: row.depth,
    totalTokens: row.total_tokens,
    hasChildren: row.has_children === 1,
    contextStart: row.context_start,
    ...configFrom(row),
  }
}

/** A turn with its place, from a row of both. */
export function placedFrom(row: PlacedRow): PlacedTurn {
  return { turn: turnFrom(row, row.parent_turn_id), thread: threadFrom(row) }
}
