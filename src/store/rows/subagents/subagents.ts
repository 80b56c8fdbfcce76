import { type RawBuilder, sql } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import type { Outcome, RunError, RunState } from '../../../domain/run.ts'
import { raw } from '../../raw.ts'
import { statement } from '../../statement.ts'
import type { Reading } from '../../store.ts'
import type { OwnedBy } from '../access/own-sessions.ts'
import { hasOpenWork } from '../joins.ts'

/** A session that works for another one, from its first run to its newest. */
export interface SubagentRecord {
  /** Its first run, by which it is named. */
  runId: string
  lastRunId: string
  sessionId: string
  sessionKey: string
  requesterKey: string | null
  label: string | null
  agent: string | null
  task: string
  /** Its transcript was removed, and its task with it. */
  isRemoved: boolean
  /** The model of its last call, else the one it shall use; null for the default. */
  model: string | null
  /** It has an unfinished run, or waits for sub-agents of its own. */
  isWorking: boolean
  state: RunState
  error: RunError | null
  startedAt: Millis
  finishedAt: Millis | null
  /** Its result, once it has ended. */
  result: { id: number; status: Outcome } | null
}

/** Max ended sub-agents of one list. */
const maxListed = 200

/**
 * All sub-agents of a session and theirs that work, and with `since` also the last that ended after it, newest first. However
 * many ended before, they are not read: what works is looked up from below, what ended from above, by index.
 */
export async function subagentTree(
  rows: Reading,
  sessionId: string,
  { since }: { since?: Millis } = {},
): Promise<SubagentRecord[]> {
  const working = sql`
    SELECT session_id FROM (
      WITH RECURSIVE up (session_id, above) AS (
        SELECT session_id, requester_session_id FROM (${workingSessions(sql`requester_session_id IS NOT NULL`)}) AS working
        UNION
        SELECT up.session_id, runs.requester_session_id FROM up JOIN runs ON runs.session_id = up.above
        WHERE runs.parent_run_id IS NOT NULL
      )
      SELECT session_id FROM up WHERE above = ${sessionId}
    ) AS below`
  // Not limited: one that is not listed could not be stopped.
  const atWork = await records(rows, sql`session_id IN (${working})`, { also: sql`` })
  if (since === undefined) return atWork
  const from = await firstListed(rows, sessionId, since)
  const ended = sql`
    SELECT session_id FROM (
      WITH RECURSIVE down (session_id) AS (
        SELECT session_id FROM runs WHERE requester_session_id = ${sessionId} AND finished_at >= ${from}
        UNION
        SELECT runs.session_id FROM down JOIN runs ON runs.requester_session_id = down.session_id
        WHERE runs.finished_at >= ${from}
      )
      SELECT session_id FROM down
    ) AS recent`
  const recent = await records(rows, sql`session_id IN (${ended})`, { also: sql``, limit: maxListed })
  const all = new Map([...recent, ...atWork].map((record) => [record.runId, record]))
  return [...all.values()].sort((one, other) => (one.runId < other.runId ? 1 : -1))
}

/** When the first of so many as are listed ended, if more ended since then. */
async function firstListed(rows: Reading, sessionId: string, since: Millis): Promise<Millis> {
  const row = await rows.first(lastEnded({ sessionId, since, place: maxListed - 1 }))
  return row?.at ?? since
}

const lastEnded = statement((db, arg: { sessionId: string; since: number; place: number }) =>
  db
    .selectFrom('runs')
    .select('finished_at as at')
    .where('requester_session_id', '=', arg.sessionId)
    .where('finished_at', '>=', arg.since)
    .orderBy('finished_at', 'desc')
    .limit(sql.lit(1))
    .offset(arg.place),
)

/** Sessions with an unfinished run, or an open join, of the runs that fit. CROSS JOIN keeps SQLite from beginning with the runs. */
const workingSessions = (which: RawBuilder<unknown>) => sql`
  SELECT session_id, requester_session_id FROM runs WHERE root_run_id > '' AND finished_at IS NULL AND ${which}
  UNION
  SELECT joins.session_id, runs.requester_session_id FROM joins CROSS JOIN runs
  WHERE runs.id = joins.run_id AND joins.fired_at IS NULL AND ${which}`

/** Sub-agents that work, or the newest of all, newest first; `after` is a run's id, and older ones follow it. */
export async function listSubagents(
  rows: Reading,
  { live = false, limit, after, principal }: OwnedBy & { live?: boolean; limit: number; after?: string },
): Promise<SubagentRecord[]> {
  const older = after === undefined ? sql`` : sql`AND id < ${after}`
  const own =
    principal === undefined
      ? sql``
      : sql`AND session_id IN (SELECT sessions.id FROM sessions WHERE sessions.principal_id = ${principal})`
  const which = live
    ? sql`session_id IN (SELECT session_id FROM (${workingSessions(sql`share_mode IS NOT NULL`)}) AS working)`
    : sql`session_id IN (
        SELECT session_id FROM runs WHERE share_mode IS NOT NULL ${older} ${own}
        AND NOT EXISTS (SELECT 1 FROM runs AS before WHERE before.session_id = runs.session_id
                          AND before.parent_run_id IS NOT NULL AND before.id < runs.id)
        ORDER BY id DESC LIMIT ${limit})`
  return records(rows, sql`${which} ${own}`, {
    also: after === undefined ? sql`` : sql`AND ends.first_id < ${after}`,
    limit,
  })
}

/** The sub-agent that a run belongs to. */
export async function findSubagent(rows: Reading, runId: string): Promise<SubagentRecord | undefined> {
  const which = sql`session_id = (SELECT session_id FROM runs WHERE id = ${runId})`
  return (await records(rows, which, { also: sql`AND last.share_mode IS NOT NULL`, limit: 1 }))[0]
}

/** Id of the run with which a child session began. */
export async function firstChildRun(rows: Reading, sessionId: string): Promise<string | undefined> {
  return (await rows.first(firstIn({ sessionId })))?.id ?? undefined
}

const isWorking = hasOpenWork(sql.ref('ends.session_id'))

interface RecordRow {
  first_id: string
  last_id: string
  session_id: string
  session_key: string
  requester_key: string | null
  title: string | null
  agent: string | null
  state: RunState
  error_json: string | null
  model: string | null
  payload_json: string | null
  working: number | boolean
  started_at: number
  finished_at: number | null
  removed_at: number | null
  result_id: number | null
  result_status: Outcome | null
}

async function records(
  rows: Reading,
  which: RawBuilder<unknown>,
  { also, limit }: { also: RawBuilder<unknown>; limit?: number },
): Promise<SubagentRecord[]> {
  const found = await rows.all(
    raw<RecordRow>(
      rows.build,
      sql`
      SELECT ends.first_id, ends.last_id, ends.session_id, sessions.label AS session_key,
             requester.label AS requester_key, last.title, last.agent, last.state, last.error_json,
             coalesce((SELECT usage.model FROM runs AS caller JOIN usage ON usage.run_id = caller.id
                       WHERE caller.session_id = ends.session_id AND caller.parent_run_id IS NOT NULL
                       ORDER BY caller.id DESC, usage.call DESC LIMIT 1),
                      last.model_requested) AS model,
             coalesce((SELECT payload_json FROM inbox WHERE inbox.run_id = ends.first_id ORDER BY seq LIMIT 1),
                      (SELECT payload_json FROM inbox WHERE inbox.session_id = ends.session_id
                         AND consumed_by_turn IS NULL ORDER BY seq LIMIT 1)) AS payload_json,
             CASE WHEN ${isWorking} THEN 1 ELSE 0 END AS working,
             first.created_at AS started_at, last.finished_at, sessions.removed_at,
             agent_results.id AS result_id, agent_results.status AS result_status
      FROM (SELECT session_id, min(id) AS first_id, max(id) AS last_id FROM runs
            WHERE parent_run_id IS NOT NULL AND ${which} GROUP BY session_id) AS ends
      JOIN runs AS first ON first.id = ends.first_id
      JOIN runs AS last ON last.id = ends.last_id
      JOIN sessions ON sessions.id = ends.session_id
      LEFT JOIN sessions AS requester ON requester.id = last.requester_session_id
      LEFT JOIN agent_results ON agent_results.run_id = ends.last_id
      WHERE 1 = 1 ${also}
      ORDER BY ends.first_id DESC ${limit === undefined ? sql`` : sql`LIMIT ${limit}`}`,
    ),
  )
  return found.map(recordFrom)
}

function recordFrom(row: RecordRow): SubagentRecord {
  return {
    runId: row.first_id,
    lastRunId: row.last_id,
    sessionId: row.session_id,
    sessionKey: row.session_key,
    requesterKey: row.requester_key,
    label: row.title,
    agent: row.agent,
    task: row.payload_json === null ? '' : ((JSON.parse(row.payload_json) as { content: string }).content ?? ''),
    isRemoved: row.removed_at !== null,
    model: row.model,
    isWorking: Number(row.working) === 1,
    state: row.state,
    error: row.error_json === null ? null : JSON.parse(row.error_json),
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    result:
      row.result_id === null || row.result_status === null ? null : { id: row.result_id, status: row.result_status },
  }
}

const firstIn = statement((db, arg: { sessionId: string }) =>
  db
    .selectFrom('runs')
    .select(sql<string | null>`min(id)`.as('id'))
    .where('session_id', '=', arg.sessionId)
    .where('parent_run_id', 'is not', null),
)
