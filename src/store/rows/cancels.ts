import { sql } from 'kysely'
import type { Run } from '../../domain/run.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import { requeueRun } from './released-runs.ts'
import { runFrom } from './run-rows.ts'

/** Sets the cancel reason of a run: from then on its children wake no session. */
export async function setCancelReason(tx: Tx, id: string, reason: string): Promise<void> {
  await tx.run(tx.build.updateTable('runs').set({ cancel_reason: reason }).where('id', '=', id))
}

/** Requests the end of a locked run: its owner ends it, or the process that claims it next. A waiting run is requeued. */
export async function requestCancel(tx: Tx, run: Pick<Run, 'id' | 'state'>, reason: string): Promise<void> {
  await setCancelReason(tx, run.id, reason)
  if (run.state === 'waiting') await requeueRun(tx, run.id)
  tx.hint(run.state === 'running' ? 'cancel' : 'runs')
}

/**
 * Runs that are active although their parent was cancelled: children without a cancel reason, ended runs that still wait
 * for children, tasks of a cancelled plan. Retried runs are left out: the user wants them.
 */
export async function runsToCancel(rows: Reading): Promise<{ id: string; reason: string }[]> {
  const found = await rows.all(activeAfterCancel({}))
  return found.map(({ id, reason }) => ({ id, reason: reason ?? '' }))
}

/** Unfinished runs of a request, and ended ones that wait for children. */
export async function workOf(rows: Reading, { rootRunId }: Pick<Run, 'rootRunId'>): Promise<Run[]> {
  return (await rows.all(unfinishedOrJoining({ rootRunId }))).map(runFrom)
}

const unfinishedOrJoining = statement((db, arg: { rootRunId: string }) => {
  const runs = db.selectFrom('runs').selectAll('runs').where('runs.root_run_id', '=', arg.rootRunId)
  return runs
    .where('runs.finished_at', 'is', null)
    .unionAll(
      runs
        .innerJoin('joins', 'joins.run_id', 'runs.id')
        .where('joins.fired_at', 'is', null)
        .where('runs.finished_at', 'is not', null),
    )
})

const activeAfterCancel = statement((db, _arg: object) =>
  db
    .selectFrom('runs as child')
    .innerJoin('runs as parent', 'parent.id', 'child.parent_run_id')
    .select(['child.id', 'parent.cancel_reason as reason'])
    // Always true; makes SQLite use the index of unfinished runs.
    .where('child.root_run_id', '>', sql.lit(''))
    .where('child.finished_at', 'is', null)
    .where('child.cancel_reason', 'is', null)
    .where('child.via', '!=', sql.lit('retry'))
    // A task belongs to its plan, which outlives the run that started it.
    .where('child.task_id', 'is', null)
    .where('parent.cancel_reason', 'is not', null)
    .union(
      db
        .selectFrom('joins')
        .innerJoin('runs', 'runs.id', 'joins.run_id')
        .select(['runs.id', 'runs.cancel_reason as reason'])
        .where('joins.fired_at', 'is', null)
        .where('runs.cancel_reason', 'is not', null),
    )
    .union(
      db
        .selectFrom('runs')
        .innerJoin('tasks', 'tasks.id', 'runs.task_id')
        .innerJoin('projects', 'projects.id', 'tasks.project_id')
        .select(['runs.id', sql<string | null>`'its plan was cancelled'`.as('reason')])
        .where('runs.root_run_id', '>', sql.lit(''))
        .where('runs.finished_at', 'is', null)
        .where('runs.cancel_reason', 'is', null)
        .where('projects.status', '=', sql.lit('cancelled')),
    ),
)
