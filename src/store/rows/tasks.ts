import { type Selectable, sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Task, TaskStatus } from '../../domain/plan.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import { type OwnedBy, ownSessions } from './access/own-sessions.ts'

/** Inserts a task. As for every change of a task, its plan's session must be locked. */
export async function insertTask(
  tx: Tx,
  task: Pick<Task, 'planId' | 'key' | 'title' | 'context' | 'skill' | 'priority' | 'revision' | 'createdAt'>,
): Promise<number> {
  const row = await tx.first(insert(task))
  return Number(row?.id)
}

/** Replaces the dependencies of a task. */
export async function setEdges(tx: Tx, taskId: number, needs: readonly number[]): Promise<void> {
  await tx.run(tx.build.deleteFrom('task_edges').where('task_id', '=', taskId))
  for (const needsId of needs) await tx.run(insertEdge({ taskId, needsId }))
  await tx.run(
    tx.build
      .updateTable('tasks')
      .set({ depends_on: JSON.stringify(needs) })
      .where('id', '=', taskId),
  )
}

export async function findTask(rows: Reading, id: number): Promise<Task | undefined> {
  const row = await rows.first(byId({ id }))
  return row && taskFrom(row)
}

/** Tasks of a plan that were not dropped, in planned order. */
export async function tasksOf(rows: Reading, planId: number): Promise<Task[]> {
  return (await rows.all(ofPlan({ planId }))).map(taskFrom)
}

/** Ids of a plan's tasks that were not dropped, in planned order. */
export async function taskIdsOf(rows: Reading, planId: number): Promise<number[]> {
  return (await rows.all(idsOfPlan({ planId }))).map(({ id }) => id)
}

export async function listTasks(
  rows: Reading,
  filter: OwnedBy & { planId?: number; status?: TaskStatus },
): Promise<Task[]> {
  let query = rows.build.selectFrom('tasks').selectAll().where('dropped_in', 'is', null).orderBy('id')
  if (filter.planId !== undefined) query = query.where('project_id', '=', filter.planId)
  if (filter.status !== undefined) query = query.where('status', '=', filter.status)
  if (filter.principal !== undefined) {
    const plans = rows.build.selectFrom('projects').select('projects.id')
    query = query.where('project_id', 'in', plans.where('session_id', 'in', ownSessions(rows.build, filter.principal)))
  }
  return (await rows.all(query)).map(taskFrom)
}

/** Number of a plan's tasks by status, in a fixed order. */
export async function countTasks(rows: Reading, planId: number): Promise<Partial<Record<TaskStatus, number>>> {
  const found = await rows.all(
    rows.build
      .selectFrom('tasks')
      .select(['status', sql<number>`count(*)`.as('count')])
      .where('project_id', '=', planId)
      .where('dropped_in', 'is', null)
      .groupBy('status')
      .orderBy('status'),
  )
  return Object.fromEntries(found.map(({ status, count }) => [status, Number(count)]))
}

/** Whether no task of a plan is running or pending. */
export async function isPlanIdle(rows: Reading, planId: number): Promise<boolean> {
  return (await rows.first(toDo({ planId }))) === undefined
}

/** Pending tasks whose dependencies are done: of the whole plan, or only those that depend on `after`. */
export async function readyTasks(rows: Reading, { planId, after }: { planId: number; after?: number }) {
  const found = await rows.all(after === undefined ? ready({ planId }) : readyAfter({ planId, after }))
  return found.map(taskFrom)
}

export async function setTask(
  tx: Tx,
  id: number,
  change: { status: TaskStatus; reason: string | null; resultId?: number },
): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('tasks')
      .set({
        status: change.status,
        reason: change.reason,
        ...(change.resultId !== undefined && { agent_result_id: change.resultId }),
      })
      .where('id', '=', id),
  )
}

/** Marks a task as running in this run. */
export async function beginTask(tx: Tx, id: number, runId: string): Promise<void> {
  await tx.run(markRunning({ id, runId }))
}

export async function editTask(tx: Tx, id: number, change: { context?: string; skill?: string }): Promise<void> {
  await tx.run(tx.build.updateTable('tasks').set(change).where('id', '=', id))
}

/** Drops a task from its plan and removes the dependencies on it. */
export async function dropTask(tx: Tx, id: number, { revision, reason }: { revision: number; reason: string }) {
  await tx.run(tx.build.deleteFrom('task_edges').where('needs_id', '=', id))
  const dropped = { status: 'cancelled' as const, reason, dropped_in: revision }
  await tx.run(tx.build.updateTable('tasks').set(dropped).where('id', '=', id))
}

/** Blocks all pending tasks that depend on this one, directly or not; returns their ids. */
export async function blockDependents(tx: Tx, taskId: number): Promise<number[]> {
  const found = await tx.all(below({ taskId }))
  for (const { id } of found) await setTask(tx, id, { status: 'blocked', reason: `task:${taskId} was not done` })
  return found.map(({ id }) => id)
}

/** Recomputes which tasks of a plan are blocked, after a decision about one of them. */
export async function recomputeBlocked(tx: Tx, planId: number): Promise<void> {
  for (const { id, status, is_held } of await tx.all(undecided({ planId })))
    if (Boolean(is_held) !== (status === 'blocked'))
      await setTask(
        tx,
        id,
        is_held
          ? { status: 'blocked', reason: 'something it needs was not done' }
          : { status: 'pending', reason: null },
      )
}

/** Whether a replan has dropped the task. */
export async function isDropped(rows: Reading, id: number): Promise<boolean> {
  const query = rows.build.selectFrom('tasks').select('id').where('id', '=', id).where('dropped_in', 'is not', null)
  return (await rows.first(query)) !== undefined
}

/** Cancels all tasks of a plan that have not started. */
export async function cancelUnstarted(tx: Tx, planId: number, reason: string): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('tasks')
      .set({ status: 'cancelled', reason })
      .where('project_id', '=', planId)
      .where('dropped_in', 'is', null)
      .where('status', 'in', ['pending', 'blocked']),
  )
}

type NewTask = Parameters<typeof insertTask>[1]

const insert = statement((db, arg: NewTask) =>
  db
    .insertInto('tasks')
    .values({
      project_id: arg.planId,
      key: arg.key,
      title: arg.title,
      context: arg.context,
      skill: arg.skill,
      depends_on: sql.lit('[]'),
      status: sql.lit('pending'),
      priority: arg.priority,
      attempts: sql.lit(0),
      agent_result_id: null,
      run_id: null,
      reason: null,
      revision: arg.revision,
      dropped_in: null,
      created_at: arg.createdAt,
    })
    .returning('id'),
)

const insertEdge = statement((db, arg: { taskId: number; needsId: number }) =>
  db.insertInto('task_edges').values({ task_id: arg.taskId, needs_id: arg.needsId }),
)

const byId = statement((db, arg: { id: number }) => db.selectFrom('tasks').selectAll().where('id', '=', arg.id))

const ofPlan = statement((db, arg: { planId: number }) =>
  db.selectFrom('tasks').selectAll().where('project_id', '=', arg.planId).where('dropped_in', 'is', null).orderBy('id'),
)

const idsOfPlan = statement((db, arg: { planId: number }) =>
  db
    .selectFrom('tasks')
    .select('id')
    .where('project_id', '=', arg.planId)
    .where('dropped_in', 'is', null)
    .orderBy('id'),
)

// Spelled like the partial index that it must use.
const toDo = statement((db, arg: { planId: number }) =>
  raw<{ id: number }>(
    db,
    sql`SELECT id FROM tasks
        WHERE project_id = ${arg.planId} AND status IN ('pending', 'running') AND dropped_in IS NULL LIMIT 1`,
  ),
)

type TaskRow = Selectable<Tables['tasks']>

const needsNothing = sql`NOT EXISTS (
  SELECT 1 FROM task_edges AS edge JOIN tasks AS needed ON needed.id = edge.needs_id
  WHERE edge.task_id = tasks.id AND needed.status NOT IN ('completed', 'skipped'))`

const ready = statement((db, arg: { planId: number }) =>
  raw<TaskRow>(
    db,
    sql`SELECT * FROM tasks WHERE project_id = ${arg.planId} AND status IN ('pending', 'running')
          AND dropped_in IS NULL AND status = 'pending' AND ${needsNothing} ORDER BY priority DESC, id`,
  ),
)

// CROSS JOIN fixes the order: few tasks depend on one, but SQLite would rather scan the plan.
const readyAfter = statement((db, arg: { planId: number; after: number }) =>
  raw<TaskRow>(
    db,
    sql`SELECT tasks.* FROM task_edges AS next CROSS JOIN tasks
        WHERE next.needs_id = ${arg.after} AND tasks.id = next.task_id AND tasks.project_id = ${arg.planId} AND tasks.status = 'pending'
          AND tasks.dropped_in IS NULL AND ${needsNothing} ORDER BY tasks.priority DESC, tasks.id`,
  ),
)

const markRunning = statement((db, arg: { id: number; runId: string }) =>
  db
    .updateTable('tasks')
    .set({ status: sql.lit('running'), run_id: arg.runId, attempts: sql<number>`attempts + 1`, reason: null })
    .where('id', '=', arg.id),
)

// Follows only undone tasks: a task that depends on a skipped one is not blocked by failures before that.
const below = statement((db, arg: { taskId: number }) =>
  raw<{ id: number }>(
    db,
    sql`WITH RECURSIVE later (id) AS (
          SELECT edge.task_id FROM task_edges AS edge JOIN tasks ON tasks.id = edge.task_id
          WHERE edge.needs_id = ${arg.taskId} AND tasks.status IN ('pending', 'blocked')
          UNION SELECT edge.task_id FROM later
            JOIN task_edges AS edge ON edge.needs_id = later.id JOIN tasks ON tasks.id = edge.task_id
          WHERE tasks.status IN ('pending', 'blocked'))
        SELECT tasks.id FROM later JOIN tasks ON tasks.id = later.id WHERE tasks.status = 'pending' ORDER BY tasks.id`,
  ),
)

/** Tasks that have not started, and whether a dependency failed, was cancelled or is itself blocked. */
const undecided = statement((db, arg: { planId: number }) =>
  raw<{ id: number; status: TaskStatus; is_held: number }>(
    db,
    sql`WITH RECURSIVE held (id) AS (
          SELECT edge.task_id FROM tasks AS needed JOIN task_edges AS edge ON edge.needs_id = needed.id
            JOIN tasks ON tasks.id = edge.task_id
          WHERE needed.project_id = ${arg.planId} AND needed.status IN ('failed', 'cancelled')
            AND tasks.status IN ('pending', 'blocked')
          UNION SELECT edge.task_id FROM held
            JOIN task_edges AS edge ON edge.needs_id = held.id JOIN tasks ON tasks.id = edge.task_id
          WHERE tasks.status IN ('pending', 'blocked'))
        SELECT tasks.id, tasks.status, CASE WHEN held.id IS NULL THEN 0 ELSE 1 END AS is_held
        FROM tasks LEFT JOIN held ON held.id = tasks.id
        WHERE tasks.project_id = ${arg.planId} AND tasks.status IN ('pending', 'blocked')
          AND tasks.dropped_in IS NULL ORDER BY tasks.id`,
  ),
)

function taskFrom(row: TaskRow): Task {
  return {
    id: row.id,
    planId: row.project_id,
    key: row.key,
    title: row.title,
    context: row.context,
    skill: row.skill,
    dependsOn: JSON.parse(row.depends_on),
    status: row.status,
    priority: row.priority,
    attempts: row.attempts,
    resultId: row.agent_result_id,
    runId: row.run_id,
    reason: row.reason,
    revision: row.revision,
    createdAt: row.created_at as Millis,
  }
}
