import { sql } from 'kysely'
import type { Artifact } from '../../domain/artifact.ts'
import type { Millis } from '../../domain/clock.ts'
import type { Outcome } from '../../domain/run.ts'
import { toStorable } from '../../domain/text/storable.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import { type OwnedBy, ownSessions } from './access/own-sessions.ts'
import { scheduleRemoval } from './subagents/tidy.ts'

const maxSummaryLength = 400

/** The durable output of a run; a run has at most one, and it never changes. */
export interface Result {
  id: number
  runId: string
  taskId: number | null
  /** Agent of the run. */
  skillUsed: string | null
  status: Outcome
  summary: string
  output: string
  /** Files that the run wrote. */
  artifacts: Artifact[]
  processed: boolean
  /** Memories that were made from it. */
  memoryIds: number[]
  createdAt: Millis
}

/** Inserts a run's result; returns the id that people and models use for it. */
export async function insertResult(
  tx: Tx,
  result: Pick<Result, 'runId' | 'taskId' | 'skillUsed' | 'status' | 'output' | 'artifacts' | 'createdAt'> & {
    /** Default: the first paragraph of the output. */
    summary?: string
    /** No run will be told of it, so that none has to read it. */
    processed?: boolean
  },
): Promise<{ id: number; summary: string; output: string }> {
  const output = toStorable(result.output)
  const summary = firstParagraph(toStorable(result.summary ?? output))
  const processed = result.processed ? 1 : 0
  const artifacts = JSON.stringify(result.artifacts)
  const row = await tx.first(insert({ ...result, output, summary, artifacts, processed }))
  return { id: row?.id ?? 0, summary, output }
}

export async function resultOf(rows: Reading, runId: string): Promise<Result | undefined> {
  const row = await rows.first(rows.build.selectFrom('agent_results').selectAll().where('run_id', '=', runId))
  return row && resultFrom(row)
}

export async function findResult(rows: Reading, id: number): Promise<Result | undefined> {
  const row = await rows.first(rows.build.selectFrom('agent_results').selectAll().where('id', '=', id))
  return row && resultFrom(row)
}

function resultFrom(row: Omit<Tables['agent_results'], 'id'> & { id: number }): Result {
  return {
    id: row.id,
    runId: row.run_id,
    taskId: row.task_id,
    skillUsed: row.skill_used,
    status: row.status,
    summary: row.summary,
    output: row.output,
    artifacts: JSON.parse(row.artifacts_json),
    processed: row.processed === 1,
    memoryIds: JSON.parse(row.memory_ids),
    createdAt: row.created_at,
  }
}

/** Results, newest first, optionally of one task, only unprocessed ones, or only undelivered ones. */
export async function listResults(
  rows: Reading,
  filter: OwnedBy & { taskId?: number; unprocessed?: boolean; undelivered?: boolean; limit?: number },
): Promise<Result[]> {
  let query = rows.build.selectFrom('agent_results').selectAll().orderBy('id', 'desc')
  if (filter.taskId !== undefined) query = query.where('task_id', '=', filter.taskId)
  if (filter.unprocessed || filter.undelivered) query = query.where('processed', '=', sql.lit(0))
  if (filter.undelivered)
    query = query.where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('inbox').select('inbox.id').where('dedupe_key', '=', deliveryKey))),
    )
  if (filter.principal !== undefined) {
    const runs = rows.build.selectFrom('runs').select('runs.id')
    query = query.where('run_id', 'in', runs.where('session_id', 'in', ownSessions(rows.build, filter.principal)))
  }
  if (filter.limit !== undefined) query = query.limit(filter.limit)
  return (await rows.all(query)).map(resultFrom)
}

/** Links a memory to the result it was made from and marks the result as processed. */
export async function linkMemory(tx: Tx, id: number, memoryId: number): Promise<void> {
  const row = await tx.first(tx.build.selectFrom('agent_results').select('memory_ids').where('id', '=', id))
  const ids = [...new Set([...(JSON.parse(row?.memory_ids ?? '[]') as number[]), memoryId])]
  const now = { memory_ids: JSON.stringify(ids), processed: 1 }
  await tx.run(tx.build.updateTable('agent_results').set(now).where('id', '=', id))
}

/** Marks results as processed; transcripts that were kept only for them can then be removed. */
export async function markProcessed(tx: Tx, ids: readonly number[], now: Millis): Promise<void> {
  if (ids.length === 0) return
  await tx.run(tx.build.updateTable('agent_results').set({ processed: 1 }).where('id', 'in', ids))
  await scheduleRemoval(tx, ids, now)
}

/** Marks results as processed that were delivered to a session and answered by one of its turns. */
export async function markDelivered(tx: Tx, sessionId: string, now: Millis): Promise<void> {
  const read = (await tx.all(delivered({ sessionId }))).map(({ id }) => id)
  if (read.length > 0) await scheduleRemoval(tx, read, now)
}

/** First paragraph that is not a heading, shortened. */
export function firstParagraph(output: string): string {
  const paragraphs = output.trim().split(/\n\s*\n/)
  const paragraph = paragraphs.find((each) => !/^#{1,6} [^\n]*$/.test(each.trim())) ?? paragraphs[0] ?? ''
  const line = paragraph.replace(/\s+/gu, ' ').trim()
  return line.length > maxSummaryLength ? `${line.slice(0, maxSummaryLength - 1).toWellFormed()}…` : line
}

/** Key of the item that tells a session of a result. */
const deliveryKey = sql<string>`'result:' || agent_results.run_id`

// Unprocessed results are few; the rest is an index lookup for each.
const delivered = statement((db, arg: { sessionId: string }) =>
  db
    .updateTable('agent_results')
    .set({ processed: 1 })
    .where('processed', '=', sql.lit(0))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('runs')
          .select('id')
          .whereRef('runs.id', '=', 'agent_results.run_id')
          .where('requester_session_id', '=', arg.sessionId),
      ),
    )
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('inbox')
          .select('id')
          .where('dedupe_key', '=', deliveryKey)
          .where('consumed_by_turn', 'is not', null),
      ),
    )
    .returning('id'),
)

const insert = statement(
  (
    db,
    arg: Pick<Result, 'runId' | 'taskId' | 'skillUsed' | 'status' | 'output' | 'summary' | 'createdAt'> & {
      artifacts: string
      processed: number
    },
  ) =>
    db
      .insertInto('agent_results')
      .values({
        run_id: arg.runId,
        task_id: arg.taskId,
        skill_used: arg.skillUsed,
        status: arg.status,
        summary: arg.summary,
        output: arg.output,
        artifacts_json: arg.artifacts,
        memory_ids: '[]',
        processed: arg.processed,
        created_at: arg.createdAt,
      })
      .returning('id'),
)
