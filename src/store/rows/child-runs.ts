import { sql } from 'kysely'
import type { Run } from '../../domain/run.ts'
import type { Builder } from '../dialect.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading } from '../store.ts'
import { runFrom } from './run-rows.ts'

/** Child runs of a run, oldest first, including those after results of their own children. */
export async function childrenOf(rows: Reading, parentRunId: string): Promise<Run[]> {
  return (await rows.all(ofParent({ parentRunId }))).map(runFrom)
}

/** Turns that are looked up by one statement. */
const maxTurns = 500

/** The runs that made these turns, and all that were started below them. */
export async function runsOfTurns(
  rows: Reading,
  turnIds: readonly string[],
): Promise<{ id: string; agent: string; isOfTurn: boolean }[]> {
  const found: { id: string; agent: string | null; depth: number }[] = []
  for (let at = 0; at < turnIds.length; at += maxTurns)
    found.push(...(await rows.all(belowTurns(rows.build, turnIds.slice(at, at + maxTurns)))))
  return found.map(({ id, agent, depth }) => ({ id, agent: agent ?? 'agent', isOfTurn: Number(depth) === 0 }))
}

function belowTurns(build: Builder, turnIds: readonly string[]) {
  return raw<{ id: string; agent: string | null; depth: number }>(
    build,
    sql`WITH RECURSIVE work (id, depth) AS (
          SELECT turns.run_id, 0 FROM turns WHERE turns.id IN (${sql.join(turnIds)})
          UNION SELECT runs.id, work.depth + 1 FROM work JOIN runs ON runs.parent_run_id = work.id)
        SELECT work.id, runs.agent, min(work.depth) AS depth FROM work JOIN runs ON runs.id = work.id
        GROUP BY work.id, runs.agent ORDER BY work.id`,
  )
}

/**
 * Runs that a run started. For a child's run also those that work for its session, unfinished ones and ended ones that wait
 * for children: earlier runs of the child may have started them, and no run joins isolated ones. Of these, tasks do not count.
 */
export async function startedRuns(
  rows: Reading,
  { id, sessionId, requesterSessionId }: Pick<Run, 'id' | 'sessionId' | 'requesterSessionId'>,
): Promise<Run[]> {
  const started = await childrenOf(rows, id)
  if (requesterSessionId === null || sessionId === null) return started
  return [...started, ...(await rows.all(liveFor({ sessionId }))).map(runFrom)]
}

/** Newest run of a child session for this request; undefined in a session that is not a child. */
export async function lastChildRun(rows: Reading, sessionId: string, rootRunId: string): Promise<Run | undefined> {
  const row = await rows.first(lastOf({ sessionId, rootRunId }))
  return row && runFrom(row)
}

/** Agent of a child session; undefined for a session that a user started. */
export async function agentOfSession(rows: Reading, sessionId: string): Promise<string | undefined> {
  return (await rows.first(agentIn({ sessionId })))?.agent ?? undefined
}

const ofParent = statement((db, arg: { parentRunId: string }) =>
  db.selectFrom('runs').selectAll().where('parent_run_id', '=', arg.parentRunId).orderBy('created_at').orderBy('id'),
)

const liveFor = statement((db, arg: { sessionId: string }) => {
  const started = db
    .selectFrom('runs')
    .selectAll()
    .where('requester_session_id', '=', arg.sessionId)
    .where('kind', '!=', sql.lit('task'))
  const waiting = db.selectFrom('joins').select('run_id').where('fired_at', 'is', null)
  return started
    .where('finished_at', 'is', null)
    .unionAll(started.where('finished_at', 'is not', null).where('id', 'in', waiting))
})

const agentIn = statement((db, arg: { sessionId: string }) =>
  db
    .selectFrom('runs')
    .select('agent')
    .where('session_id', '=', arg.sessionId)
    .where('parent_run_id', 'is not', null)
    .limit(sql.lit(1)),
)

const lastOf = statement((db, arg: { sessionId: string; rootRunId: string }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('session_id', '=', arg.sessionId)
    .where('root_run_id', '=', arg.rootRunId)
    .where('parent_run_id', 'is not', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1),
)
