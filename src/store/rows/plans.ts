import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Label } from '../../domain/label.ts'
import type { Plan, PlanStatus } from '../../domain/plan.ts'
import type { Thread } from '../../domain/turn.ts'
import type { Dialect } from '../dialect.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import { type OwnedBy, ownSessions } from './access/own-sessions.ts'
import { lineage } from './threads.ts'

/** Inserts a plan that has not been started. Its session's row must be locked: that lock guards its plans, too. */
export async function insertPlan(
  tx: Tx,
  plan: Pick<Plan, 'title' | 'goal' | 'sessionId' | 'rootRunId' | 'plannedBy' | 'createdAt'>,
): Promise<number> {
  const row = await tx.first(
    tx.build
      .insertInto('projects')
      .values({
        title: plan.title,
        goal: plan.goal,
        status: 'proposed',
        session_id: plan.sessionId,
        root_run_id: plan.rootRunId,
        planned_by: plan.plannedBy,
        started_by: null,
        revision: 1,
        created_at: plan.createdAt,
        finished_at: null,
      })
      .returning('id'),
  )
  return Number(row?.id)
}

export async function findPlan(rows: Reading, id: number): Promise<Plan | undefined> {
  const row = await rows.first(byId({ id }))
  return row && planFrom(row)
}

/** Plans, newest first, optionally of one session or status. */
export async function listPlans(
  rows: Reading,
  filter: OwnedBy & { sessionId?: string; status?: PlanStatus } = {},
): Promise<Plan[]> {
  let query = rows.build.selectFrom('projects').selectAll().orderBy('id', 'desc')
  if (filter.sessionId !== undefined) query = query.where('session_id', '=', filter.sessionId)
  if (filter.status !== undefined) query = query.where('status', '=', filter.status)
  if (filter.principal !== undefined) query = query.where('session_id', 'in', ownSessions(rows.build, filter.principal))
  return (await rows.all(query)).map(planFrom)
}

/**
 * Ids of the plans that only the user can carry on, oldest first: tasks failed or are blocked, or the plan was never started
 * and the user has not refused to. While a run of its session is unfinished, a plan waits for that run.
 */
export async function plansAwaitingUser(
  rows: Reading,
  { id, principal }: OwnedBy & { id?: number } = {},
): Promise<number[]> {
  let query = rows.build.selectFrom('projects').select('id').where(awaitsUser(rows.dialect)).orderBy('id')
  if (id !== undefined) query = query.where('id', '=', id)
  if (principal !== undefined) query = query.where('session_id', 'in', ownSessions(rows.build, principal))
  return (await rows.all(query)).map(({ id }) => id)
}

/** Plans that were made for a turn on the path that ends in this thread. */
export async function plansOnPath(rows: Reading, { turnId }: Pick<Thread, 'turnId'>): Promise<Plan[]> {
  return (await rows.all(madeOnPath({ turnId }))).map(planFrom)
}

/** Unfinished plans that this request made or continues. */
export async function plansOfRequest(rows: Reading, rootRunId: string): Promise<Plan[]> {
  const query = rows.build
    .selectFrom('projects')
    .selectAll()
    .where('root_run_id', '=', rootRunId)
    .where('status', 'in', ['proposed', 'running'])
  return (await rows.all(query)).map(planFrom)
}

/** All plans that a request made or continued, in any status, oldest first. */
export async function allPlansOf(rows: Reading, rootRunId: string): Promise<Plan[]> {
  return (await rows.all(allOf({ rootRunId }))).map(planFrom)
}

/** Number of plans that a request made or continued, and of their versions that it made, tried and replaced. */
export async function countPlannings(rows: Reading, rootRunId: string): Promise<number> {
  const found = await rows.first(plannings({ rootRunId }))
  return Number(found?.plans) + Number(found?.versions)
}

/** Replaces title, goal and revision of a plan. */
export async function revisePlan(
  tx: Tx,
  id: number,
  change: Pick<Plan, 'title' | 'goal' | 'plannedBy' | 'rootRunId' | 'revision' | 'status'>,
): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('projects')
      .set({
        title: change.title,
        goal: change.goal,
        planned_by: change.plannedBy,
        root_run_id: change.rootRunId,
        revision: change.revision,
        status: change.status,
        finished_at: null,
      })
      .where('id', '=', id),
  )
}

/** Starts or continues a plan for a request. */
export async function startPlan(
  tx: Tx,
  id: number,
  { rootRunId, startedBy }: { rootRunId: string; startedBy: string },
): Promise<void> {
  const now = { status: 'running' as const, root_run_id: rootRunId, started_by: startedBy, finished_at: null }
  await tx.run(tx.build.updateTable('projects').set(now).where('id', '=', id))
}

/** Moves a plan that is not running to another session; false when another process has moved or changed it. */
export async function movePlan(tx: Tx, { id, sessionId, status }: Plan, toSessionId: string): Promise<boolean> {
  const moved = await tx.first(
    tx.build
      .updateTable('projects')
      .set({ session_id: toSessionId })
      .where('id', '=', id)
      .where('session_id', '=', sessionId)
      .where('status', '=', status)
      .returning('id'),
  )
  return moved !== undefined
}

/**
 * Stores the current label of a running run, so that tasks it starts inherit it: its row would otherwise get the label
 * only at the end. The run must be locked.
 */
export async function saveRunLabel(tx: Tx, runId: string, { integrity, sources }: Label): Promise<void> {
  const label = { integrity, sources_json: JSON.stringify(sources) }
  await tx.run(tx.build.updateTable('runs').set(label).where('id', '=', runId))
}

export async function endPlan(tx: Tx, id: number, status: PlanStatus, at: Millis): Promise<void> {
  await tx.run(end({ id, status, at }))
}

/** A no counts for the plan as it was then: a replanned one is another question. */
function awaitsUser({ types }: Dialect): RawBuilder<boolean> {
  const refused = sql.raw(types.json('approvals.input_json'))
  return sql<boolean>`(
  projects.status = 'failed'
  OR projects.status = 'running' AND EXISTS (
    SELECT 1 FROM tasks
    WHERE tasks.project_id = projects.id AND tasks.status IN ('failed', 'blocked') AND tasks.dropped_in IS NULL)
  OR projects.status = 'proposed' AND NOT EXISTS (
    SELECT 1 FROM approvals JOIN runs ON runs.id = projects.planned_by
    WHERE approvals.tool = 'run_project' AND approvals.answer = 'no' AND approvals.asked_at >= runs.created_at
      AND CAST(${refused} ->> 'project_id' AS TEXT) = CAST(projects.id AS TEXT))
) AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.session_id = projects.session_id AND runs.finished_at IS NULL)`
}

const byId = statement((db, arg: { id: number }) => db.selectFrom('projects').selectAll().where('id', '=', arg.id))

const allOf = statement((db, arg: { rootRunId: string }) =>
  db.selectFrom('projects').selectAll().where('root_run_id', '=', arg.rootRunId).orderBy('id'),
)

const plannings = statement((db, arg: { rootRunId: string }) =>
  raw<{ plans: number; versions: number }>(
    db,
    sql`SELECT (SELECT count(*) FROM projects WHERE root_run_id = ${arg.rootRunId}) AS plans,
          (SELECT count(*) FROM (
            SELECT DISTINCT tasks.project_id, tasks.dropped_in FROM projects
            JOIN tasks ON tasks.project_id = projects.id JOIN runs ON runs.id = projects.root_run_id
            WHERE projects.root_run_id = ${arg.rootRunId} AND tasks.attempts > 0 AND tasks.dropped_in IS NOT NULL
              AND tasks.created_at >= runs.created_at) AS tried) AS versions`,
  ),
)

// Starts from the plans, which are few, and joins to their turns.
const madeOnPath = statement((db, arg: { turnId: string }) =>
  raw<Selectable<Tables['projects']>>(
    db,
    sql`${lineage(arg.turnId, 0)}
        SELECT DISTINCT projects.* FROM projects
        JOIN runs ON runs.id = projects.planned_by
        JOIN inbox ON inbox.run_id = coalesce(runs.parent_run_id, runs.id)
        JOIN threads ON threads.turn_id = inbox.consumed_by_turn
        JOIN line ON line.segment_id = threads.segment_id
        WHERE threads.depth > line.low AND threads.depth <= line.high`,
  ),
)

const end = statement((db, arg: { id: number; status: PlanStatus; at: number }) =>
  db.updateTable('projects').set({ status: arg.status, finished_at: arg.at }).where('id', '=', arg.id),
)

function planFrom(row: Selectable<Tables['projects']>): Plan {
  return {
    id: row.id,
    title: row.title,
    goal: row.goal,
    status: row.status,
    sessionId: row.session_id,
    rootRunId: row.root_run_id,
    plannedBy: row.planned_by,
    startedBy: row.started_by,
    revision: row.revision,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  }
}
